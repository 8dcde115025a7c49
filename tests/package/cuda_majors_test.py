#!/usr/bin/env python3
"""Installed programs, after an upgrade of libcushim-core.so that was built with the headers of another major version of
CUDA. Its rows have other signatures, so a program that calls them must not start."""

import pathlib
import re

import consumer
from consumer import CONSUMERS, arguments, run

install = consumer.Install(__file__)
MAJOR = arguments.cuda_version // 1000


def folder_of_headers():
    source = install.folder / 'cuda.cpp'
    source.write_text('#include <cuda.h>\n', encoding='ascii')
    expanded = run(*arguments.cxx, *consumer.cuda_includes(), '-E', source)
    return pathlib.Path(re.search(r'^# \d+ "(.*)/cuda\.h"', expanded, re.MULTILINE).group(1))


def headers_of_next_major():
    """This build's CUDA headers, under another version number."""
    folder = install.folder / 'headers'
    folder.mkdir()
    for file in folder_of_headers().iterdir():
        if file.name in ('cuda.h', 'cuda_runtime_api.h'):
            text = re.sub(r'(#define (CUDA|CUDART)_VERSION +)\d+', rf'\g<1>{MAJOR + 1}000',
                          file.read_text(encoding='utf-8'))
            (folder / file.name).write_text(text, encoding='utf-8')
        else:
            (folder / file.name).symlink_to(file)
    return folder


class CudaMajors(consumer.ConsumerTest):
    @classmethod
    def setUpClass(cls):
        build = install.folder / 'next'
        run('meson', 'setup', build, arguments.source, '-Ddefault_library=shared', '-Doptimization=0',
            '-Ddebug=false', '-Dtests=disabled', '-Dtools=disabled', '-Dexamples=disabled',
            f'-Dheaders_dir={headers_of_next_major()}')
        run('meson', 'compile', '-C', build, 'cushim-core:shared_library')
        cls.next = build / 'src/loader'

    def check(self, source, *libraries, printed, is_rejected):
        program = install.folder / 'program'
        compiler = [*arguments.cxx, '-std=c++20'] if source.suffix == '.cpp' else arguments.cc
        run(*compiler, source, '-o', program, f'-I{install.include}', *consumer.cuda_includes(),
            *map(install.library, (*libraries, 'libcushim-core.so')))
        self.assertIn(printed, run(program, LD_LIBRARY_PATH=str(install.libdir), CUSHIM_DISABLE='1'))
        message = run(program, fails=is_rejected, LD_LIBRARY_PATH=str(self.next), CUSHIM_DISABLE='1')
        missing = f"libcushim-core.so.0: version `CUSHIM_CUDA_{MAJOR}' not found"
        self.assertIn(missing if is_rejected else printed, message)

    def test_program_with_a_table_does_not_start(self):
        source = install.folder / 'table.cpp'
        source.write_text('#include <cstdio>\n#include <cushim/table.hpp>\n'
                          'int main() { std::printf("cuInit %d\\n", int(cushim::driver().cuInit(0))); }\n',
                          encoding='ascii')
        self.check(source, printed='cuInit 303', is_rejected=True)

    def test_program_with_the_drop_in_does_not_start(self):
        self.check(CONSUMERS / 'existing.c', 'libcushim-dropin.a', printed='cuInit 303', is_rejected=True)

    def test_program_without_cuda_functions_runs(self):
        self.check(CONSUMERS / 'hello.c', printed='absent status 303', is_rejected=False)


if __name__ == '__main__':
    consumer.main()
