"""Compiles small files as the build does, for tests of code that must or must not compile."""

import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../support'))
import options  # noqa: E402

C_HEADERS = {'detail/config.h', 'detail/forward.h', 'detail/library.h', 'detail/loader.h', 'detail/marker.h',
             'detail/rows.h', 'loader.h'}
# Independent of the CUDA headers and of their modes.
PLAIN_HEADERS = C_HEADERS | {'version.hpp', 'error.hpp', 'exception.hpp', 'result.hpp', 'text.hpp', 'try.hpp',
                             'loader.hpp', 'init.hpp', 'feature.hpp'}


def header_name(path):
    """The name that programs include, below cushim/."""
    return re.sub(r'.*/cushim/', '', path.replace('\\', '/'))


def include(name):
    return f'#include <cushim/{name}>\n'


class Compiler:
    """The build's compilers with its include folders. Only checks code and makes no objects."""

    def __init__(self, cxx, c, include, system_include):
        self.cxx, self.c = cxx, c
        self.includes = [f'-I{folder}' for folder in include]
        self.includes += [word for folder in system_include for word in ('-isystem', folder)]

    def run(self, code, *options, language='c++20'):
        """The finished process; stderr has the compiler's messages."""
        compiler, kind = (self.c, 'c') if language.startswith('c1') else (self.cxx, 'c++')
        # Not from stdin, because some compilers print other warnings for code without a file name.
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


class Arguments:
    def __init__(self):
        given = options.of_command_line()
        self.cxx, self.files, self.include = given.command('cxx'), given.words, given.all('include')
        self.system_include = given.all('system-include')
        self.compiler = Compiler(self.cxx, given.command('c'), self.include, self.system_include)

    def other(self, cxx):
        """Another C++ compiler, with the same include folders."""
        return Compiler([cxx], self.compiler.c, self.include, self.system_include)
