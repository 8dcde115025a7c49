"""Compiles small files as the build does, for tests of what compiles and what must not."""

import argparse
import os
import re
import subprocess
import sys
import tempfile

C_HEADERS = {'detail/config.h', 'detail/loader.h', 'loader.h'}
# These have nothing to do with CUDA's own headers, and so with the modes of those.
PLAIN_HEADERS = C_HEADERS | {'version.hpp', 'error.hpp', 'exception.hpp', 'result.hpp', 'text.hpp', 'try.hpp',
                             'loader.hpp', 'init.hpp', 'feature.hpp'}


def header_name(path):
    """As programs include it, below cushim/."""
    return re.sub(r'.*/cushim/', '', path.replace('\\', '/'))


def include(name):
    return f'#include <cushim/{name}>\n'


class Compiler:
    """The build's compilers with its include folders. Looks at the code only: makes no objects."""

    def __init__(self, arguments):
        self.cxx = arguments.cxx.split('\x1f')
        self.c = arguments.c.split('\x1f')
        self.includes = [f'-I{folder}' for folder in arguments.include]
        for folder in arguments.system_include:
            self.includes += ['-isystem', folder]
        self.arguments = arguments

    def run(self, code, *options, language='c++20'):
        """The finished process, with the compiler's words in stderr."""
        compiler, kind = (self.c, 'c') if language.startswith('c1') else (self.cxx, 'c++')
        # Not by way of stdin: some compilers give other warnings for a file without a name.
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, 'source.c' if kind == 'c' else 'source.cpp')
            with open(source, 'w', encoding='utf-8') as file:
                file.write(code)
            command = [*compiler, f'-std={language}', '-fsyntax-only', *self.includes, *options, source]
            return subprocess.run(command, capture_output=True, text=True, check=False,
                                  env={**os.environ, 'LC_ALL': 'C'})

    def dependencies(self, code):
        """Every file that the code includes."""
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, 'source.cpp')
            with open(source, 'w', encoding='utf-8') as file:
                file.write(code)
            command = [*self.cxx, '-std=c++20', '-M', *self.includes, source]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return text.replace('\\\n', ' ').split()[1:]


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument('--cxx', required=True, help='words separated by the unit separator (0x1f)')
    parser.add_argument('--c', required=True)
    parser.add_argument('--include', action='append', default=[])
    parser.add_argument('--system-include', action='append', default=[])
    parser.add_argument('files', nargs='*')
    arguments = parser.parse_args()
    arguments.compiler = Compiler(arguments)
    del sys.argv[1:]
    return arguments
