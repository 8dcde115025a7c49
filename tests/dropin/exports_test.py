#!/usr/bin/env python3
"""The drop-in defines every function that NVIDIA's libcudart exports and that code can call: objects compiled
for libcudart can be linked to the drop-in.

usage: exports_test.py ARCHIVE... --rows ROWS_JSON

The libcudart is the one that CUSHIM_RUNTIME_REAL names, or the one of the toolkit that has the headers.
"""

import functools
import json
import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'support'))
import binaries  # noqa: E402
import options  # noqa: E402

# Functions of headers that the tables leave out.
INTEROP = (r'cuda(Graphics)?(EGL|GL|VDPAU).*|cudaEventCreateFromEGLSync|'
           r'cudaGraphicsResourceGetMappedEglFrame')
# Compilers never call these. CUDA 13 has __cudaGetProcAddress, which always returns 0.
NOT_CALLED = {'__cudaGetProcAddress'}

arguments = options.of_command_line()


@functools.cache
def headers():
    with open(arguments.text('rows'), encoding='utf-8') as file:
        return pathlib.Path(json.load(file)['headers_folder'])


def runtime():
    """The file that CUSHIM_RUNTIME_REAL names, or the one beside the headers; None if neither exists."""
    if named := os.environ.get('CUSHIM_RUNTIME_REAL'):
        return pathlib.Path(named)
    return next((library for name in ('lib64', 'lib')
                 for library in sorted((headers().parent / name).glob('libcudart.so.[0-9]*'))
                 if library.exists()), None)


@functools.cache
def words_of_headers():
    texts = (path.read_text(encoding='utf-8', errors='replace') for path in headers().glob('cuda*.h'))
    return set(re.findall(r'\w+', ' '.join(texts)))


def can_be_called(name):
    """Whether a header declares it. Functions that no header declares serve NVIDIA's own libraries."""
    return re.sub('_pt(ds|sz)$', '', name) in words_of_headers() and not re.fullmatch(INTEROP, name)


class Exports(unittest.TestCase):
    def setUp(self):
        path = runtime()
        if path is None:
            self.skipTest('CUSHIM_RUNTIME_REAL is not set, and there is no libcudart beside the headers')
        library = binaries.read(path)
        self.names = {name for name, here, binding in library.symbols(dynamic=True)
                      if here and binding != library.LOCAL and re.match('(__)?cuda[A-Z]', name)}

    def check(self, names):
        for archive in arguments.words:
            self.assertEqual(names - binaries.defined_by_archive(archive), set(), archive)

    def test_functions_that_compilers_call_are_defined(self):
        names = {name for name in self.names if name.startswith('__')}
        self.assertIn('__cudaRegisterFatBinary', names)
        self.check(names - NOT_CALLED)

    def test_functions_that_programs_call_are_defined(self):
        names = {name for name in self.names if can_be_called(name)}
        self.assertGreater(len(names), 300)
        self.check(names)


if __name__ == '__main__':
    unittest.main(verbosity=2)
