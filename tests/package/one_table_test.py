#!/usr/bin/env python3
"""A program and a library that are linked to the shared libraries, compiled in the ways in which compilers address
the data of other libraries.

A linker can give a program its own copy of a slot, which the library does not fill: every call would resolve the
function again.
"""

import subprocess

import consumer
from consumer import CONSUMERS, arguments, run

install = consumer.Install(__file__)

MODES = {
    'default': [],
    'optimized': ['-O2'],
    'position-independent executable': ['-O2', '-fPIE', '-pie'],
    'fixed address': ['-O2', '-fno-pie', '-no-pie'],
    'fixed address, unoptimized': ['-O0', '-fno-pie', '-no-pie'],
    'as for a library': ['-O2', '-fPIC', '-pie'],
    'without a PLT': ['-O2', '-fno-plt'],
    'link-time optimization': ['-O2', '-flto', '-fPIC', '-pie'],
    "Intel's assembly": ['-O2', '-masm=intel'],
}


class OneTable(consumer.ConsumerTest):
    def build(self, source, output, *options):
        run(*arguments.cxx, '-std=c++20', *options, CONSUMERS / 'one_table' / source, '-o', output,
            f'-I{install.include}', *consumer.cuda_includes(), '-Wl,--as-needed',
            *(install.library(f'lib{name}.so') for name in ('cushim', 'cushim-core')),
            *[install.folder / 'libone.so'] * (source == 'main.cpp'),
            f'-Wl,-rpath,{install.libdir}:{install.folder}')
        return output

    def accepts(self, options):
        source = install.folder / 'empty.cpp'
        source.write_text('int main() {}\n')
        return subprocess.run([*arguments.cxx, '-Werror', *options, source, '-o', install.folder / 'empty'],
                              capture_output=True, check=False).returncode == 0

    def test_program_and_library_have_one_table(self):
        self.build('library.cpp', install.folder / 'libone.so', '-shared', '-fPIC')
        for name, options in MODES.items():
            if not self.accepts(options):
                continue
            with self.subTest(name):
                program = self.build('main.cpp', install.folder / 'one_table', *options)
                printed = run(program, CUSHIM_DRIVER=arguments.fake_driver)
                self.assertRegex(printed, r'^one table, cuInit (?!303|0\b)\d+\n$')
                self.assertEqual(consumer.exported_names(program, '^cushim_'), set(),
                                 'the program has copies of slots')

    def test_library_needs_no_search_for_its_own_symbols(self):
        """At its start. Each search costs a program about 500 instructions."""
        searched = list(consumer.binaries.read(install.library('libcushim-core.so')).searched_at_start())
        self.assertIn('__cxa_finalize', searched)
        self.assertEqual([name for name in searched if name.startswith('cushim_')], [])


if __name__ == '__main__':
    consumer.main()
