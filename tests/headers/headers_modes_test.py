#!/usr/bin/env python3
"""The public headers compile without a warning in every mode of a user: all of them together, because the build
compiles each alone (alone.in)."""

import concurrent.futures
import os
import unittest

import compiler as compiler_module
from compiler import C_HEADERS, header_name, include

WARNINGS = ['-Werror', '-Wall', '-Wextra', '-Wpedantic']
MODES = {
    'plain': [],
    'per thread': ['-DCUDA_API_PER_THREAD_DEFAULT_STREAM'],
    'internal': ['-D__CUDA_API_VERSION_INTERNAL'],
    'per thread and internal': ['-DCUDA_API_PER_THREAD_DEFAULT_STREAM', '-D__CUDA_API_VERSION_INTERNAL'],
    'static': ['-DCUSHIM_STATIC'],
    'without exceptions and RTTI': ['-fno-exceptions', '-fno-rtti'],
}

arguments = compiler_module.Arguments()
compiler = arguments.compiler
headers = {header_name(path): path for path in arguments.files}


class Modes(unittest.TestCase):
    def compile_all(self, jobs):
        """jobs: name, code, options, language."""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = pool.map(lambda job: compiler.run(job[1], *job[2], language=job[3]), jobs)
            for (what, *_), result in zip(jobs, results):
                with self.subTest(what):
                    self.assertEqual(result.returncode, 0, result.stderr[:4000])

    def test_headers_compile_in_every_mode(self):
        # Each twice, to check the include guards.
        code = ''.join(include(name) * 2 for name in headers)
        self.compile_all([(mode, code, WARNINGS + options, 'c++20') for mode, options in MODES.items()])

    def test_headers_compile_with_a_newer_language(self):
        if compiler.run('', language='c++2b').returncode != 0:
            self.skipTest('the compiler does not support a newer language')
        self.compile_all([('all', include('cushim.hpp'), WARNINGS, 'c++2b')])

    def test_c_headers_compile_as_c(self):
        self.compile_all([(name, include(name) * 2 + 'typedef int not_empty;\n', WARNINGS, 'c11')
                          for name in C_HEADERS])

    def test_headers_compile_after_the_cuda_headers(self):
        code = '#include <cuda_runtime_api.h>\n#include <cuda.h>\n' + include('cushim.hpp')
        self.compile_all([('all', code, WARNINGS, 'c++20')])


if __name__ == '__main__':
    unittest.main(verbosity=2)
