#!/usr/bin/env python3
"""A consumer with other CUDA headers than those of the build: rejected with a reason, unless they are newer ones
of the same major version, or lack only the profiler's."""

import re

import consumer
from consumer import CONSUMERS, arguments, run

install = consumer.Install(__file__)
MAJOR = arguments.cuda_version // 1000
NEWER = arguments.cuda_version + 10


def text_of(version):
    return f'{version // 1000}.{version % 1000 // 10}'


def headers_of(version):
    """A folder with the real headers under another version number."""
    folder = install.folder / f'cuda-{version}'
    folder.mkdir(exist_ok=True)
    for name, macro in (('cuda.h', 'CUDA_VERSION'), ('cuda_runtime_api.h', 'CUDART_VERSION')):
        (folder / name).write_text(f'#pragma GCC system_header\n#include_next <{name}>\n'
                                   f'#undef {macro}\n#define {macro} {version}\n', encoding='ascii')
    return folder


class UnfitHeaders(consumer.ConsumerTest):
    def compile(self, header, cuda, tables=None, **more):
        source = install.folder / 'source.cpp'
        source.write_text(f'#include <cushim/{header}>\n', encoding='ascii')
        includes = [f'-I{tables}'] if tables else []
        return run(*arguments.cxx, '-std=c++20', '-fsyntax-only', *includes, f'-I{install.include}',
                   '-isystem', cuda, *consumer.cuda_includes(), '-DCUSHIM_STATIC', source, **more)

    def newer_tables(self):
        """The tables that the generator would make from headers of the next version."""
        folder = install.folder / 'newer'
        if not folder.exists():
            includes = ['--include', headers_of(NEWER)]
            if arguments.headers:
                includes += ['--include', arguments.headers]
            run('python3', arguments.source / 'tools/generate_tables.py', *includes,
                '--output', folder / 'cushim/detail', '--', *arguments.cxx)
        return folder

    def test_headers_of_another_major_version_are_rejected(self):
        for header in ('driver_table.hpp', 'runtime_table.hpp', 'cushim.hpp'):
            for major in (MAJOR - 1, MAJOR + 1):
                with self.subTest(header=header, major=major):
                    text = self.compile(header, headers_of(major * 1000), fails=True)
                    self.assertIn(f'cushim was built with CUDA {text_of(arguments.cuda_version)} '
                                  'headers, and this program is compiled with headers of another '
                                  'major version: build both with the same CUDA headers.', text)

    def test_older_headers_are_rejected(self):
        for header in ('driver_table.hpp', 'runtime_table.hpp'):
            with self.subTest(header):
                text = self.compile(header, headers_of(arguments.cuda_version),
                                    tables=self.newer_tables(), fails=True)
                self.assertIn(f'cushim was built with CUDA {text_of(NEWER)} headers, and this '
                              'program is compiled with older ones: build both with the same CUDA '
                              'headers.', text)
                # The first error, and only one.
                errors = re.findall(r'error: .*', text)
                self.assertIn('cushim was built with', errors[0])

    def test_newer_headers_of_the_same_major_version_are_accepted(self):
        self.compile('cushim.hpp', headers_of(NEWER))

    def test_no_profiler_header_is_needed(self):
        folder = install.folder / 'no-profiler'
        folder.mkdir()
        for name in ('cudaProfiler.h', 'cuda_profiler_api.h'):
            (folder / name).write_text('#error "included"\n', encoding='ascii')
        self.compile('cushim.hpp', folder)

    def test_same_headers_are_accepted(self):
        self.compile('cushim.hpp', headers_of(arguments.cuda_version))
        self.compile('driver_table.hpp', headers_of(NEWER), tables=self.newer_tables())


if __name__ == '__main__':
    consumer.main()
