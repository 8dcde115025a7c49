#!/usr/bin/env python3
"""Each public header compiles alone, without a warning, in every mode that a user may be in; and the
ones that many files include bring no heavy header of the standard library along."""

import concurrent.futures
import os
import re
import unittest

import compiler as compiler_module

WARNINGS = ['-Werror', '-Wall', '-Wextra', '-Wpedantic']
MODES = {
    'plain': [],
    'per thread': ['-DCUDA_API_PER_THREAD_DEFAULT_STREAM'],
    'internal': ['-D__CUDA_API_VERSION_INTERNAL'],
    'per thread and internal': ['-DCUDA_API_PER_THREAD_DEFAULT_STREAM', '-D__CUDA_API_VERSION_INTERNAL'],
    'static': ['-DCUSHIM_STATIC'],
    'without exceptions and RTTI': ['-fno-exceptions', '-fno-rtti'],
}
C_HEADERS = {'config.h', 'loader.h'}
# These have nothing to do with CUDA's own headers, and so with the modes of those.
PLAIN_HEADERS = C_HEADERS | {'version.hpp', 'error.hpp', 'exception.hpp', 'result.hpp', 'loader.hpp',
                             'init.hpp', 'feature.hpp'}
CUDA_MODES = {'per thread', 'internal', 'per thread and internal'}
HEAVY = {
    'algorithm', 'array', 'atomic', 'chrono', 'compare', 'concepts', 'deque', 'expected', 'format',
    'functional', 'iostream', 'istream', 'iterator', 'list', 'locale', 'map', 'memory', 'mutex',
    'optional', 'ostream', 'ranges', 'set', 'span', 'sstream', 'stdexcept', 'string', 'string_view',
    'thread', 'tuple', 'unordered_map', 'utility', 'variant', 'vector',
}
LIGHT_HEADERS = {'loader.h', 'loader.hpp', 'table.hpp', 'entry.hpp', 'override.hpp', 'result.hpp',
                 'error.hpp', 'version.hpp', 'init.hpp', 'driver_table.hpp', 'runtime_table.hpp',
                 'driver_entries.hpp', 'runtime_entries.hpp'}

arguments = compiler_module.parse_arguments()
compiler = arguments.compiler
headers = {os.path.basename(path): path for path in arguments.files}


def include(name):
    return f'#include <cushim/{name}>\n'


class EachHeader(unittest.TestCase):
    def compile_all(self, jobs):
        """jobs: what it is, code, options, language."""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = pool.map(lambda job: compiler.run(job[1], *job[2], language=job[3]), jobs)
            for (what, *_), result in zip(jobs, results):
                with self.subTest(what):
                    self.assertEqual(result.returncode, 0, result.stderr[:4000])

    def test_compiles_alone_in_every_mode(self):
        # Twice, which a header without a guard does not survive.
        self.compile_all([(f'{name}, {mode}', include(name) * 2, WARNINGS + options, 'c++20')
                          for name in headers for mode, options in MODES.items()
                          if name not in PLAIN_HEADERS or mode not in CUDA_MODES])

    def test_compiles_with_newer_language(self):
        if compiler.run('', language='c++2b').returncode != 0:
            self.skipTest('the compiler knows no later language')
        self.compile_all([('all', include('cushim.hpp'), WARNINGS, 'c++2b')])

    def test_c_headers_compile_as_c(self):
        self.compile_all([(name, include(name) * 2 + 'typedef int not_empty;\n', WARNINGS, 'c11')
                          for name in C_HEADERS])

    def test_compiles_after_the_cuda_headers(self):
        code = '#include <cuda_runtime_api.h>\n#include <cuda.h>\n' + include('cushim.hpp')
        self.compile_all([('all', code, WARNINGS, 'c++20')])

    def test_has_an_include_guard(self):
        """One of its own, named after the file: two headers that share one would hide each other."""
        for name, path in headers.items():
            with self.subTest(name):
                with open(path, encoding='utf-8') as file:
                    text = file.read()
                guard = 'CUSHIM_' + re.sub(r'[^a-z0-9]', '_', name).upper()
                if '#pragma once' not in text:
                    self.assertIn(f'#ifndef {guard}\n#define {guard}\n', text)

    def test_says_first_what_it_is_for(self):
        for name, path in headers.items():
            with self.subTest(name):
                with open(path, encoding='utf-8') as file:
                    first = file.readline()
                self.assertRegex(first, r'^(/\*|//) \S.{20,}')

    def test_older_language_is_refused_in_words(self):
        # A version alone works there, too.
        for name in headers.keys() - {'version.hpp'}:
            with self.subTest(name):
                # The plain words come before anything else that the compiler has to say.
                result = compiler.run(include(name), '-Wfatal-errors', language='c++17')
                self.assertNotEqual(result.returncode, 0)
                self.assertIn('cushim needs C++20', result.stderr)


class Weight(unittest.TestCase):
    def standard_headers(self, code):
        """Names of the C++ library's own headers that the code includes."""
        return {os.path.basename(path) for path in compiler.dependencies(code)
                if re.search(r'/c\+\+/', path.replace('\\', '/')) and '.' not in os.path.basename(path)}

    def test_the_instrument_sees_heavy_headers(self):
        self.assertIn('string', self.standard_headers('#include <string>\n'))

    def test_includes_no_heavy_standard_header(self):
        # What NVIDIA's own headers bring is theirs.
        cuda = self.standard_headers('#include <cuda.h>\n#include <cuda_runtime_api.h>\n')
        for name in LIGHT_HEADERS:
            with self.subTest(name):
                self.assertIn(name, headers)
                self.assertEqual((self.standard_headers(include(name)) - cuda) & HEAVY, set())

    def test_needs_no_cuda_header_without_tables(self):
        for name in PLAIN_HEADERS:
            with self.subTest(name):
                included = {os.path.basename(path) for path in compiler.dependencies(include(name))}
                self.assertFalse(included & {'cuda.h', 'cuda_runtime_api.h'})


if __name__ == '__main__':
    unittest.main(verbosity=2)
