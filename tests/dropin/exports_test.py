#!/usr/bin/env python3
"""What NVIDIA's libcudart exports and code can call, the drop-in defines: what is compiled for the one can be
linked to the other.

usage: exports_test.py ARCHIVE... --rows ROWS_JSON

The libcudart is that which CUSHIM_RUNTIME_REAL names, or that of the toolkit that the headers are of.
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

# Of headers that are no part of the tables.
INTEROP = (r'cuda(Graphics)?(EGL|GL|VDPAU).*|cudaEventCreateFromEGLSync|'
           r'cudaGraphicsResourceGetMappedEglFrame')
# No compiler calls these.
NOT_CALLED = {'__cudaGetProcAddress'}  # of CUDA 13: answers 0 whatever it is asked

arguments = options.of_command_line()


@functools.cache
def headers():
    with open(arguments.text('rows'), encoding='utf-8') as file:
        return pathlib.Path(json.load(file)['headers_folder'])


def runtime():
    """CUSHIM_RUNTIME_REAL, or the one of the toolkit that the headers are of; None where there is none."""
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
    """What no header declares is there for CUDA's own libraries."""
    return re.sub('_pt(ds|sz)$', '', name) in words_of_headers() and not re.fullmatch(INTEROP, name)


class Exports(unittest.TestCase):
    def setUp(self):
        path = runtime()
        if path is None:
            self.skipTest('there is no libcudart beside the headers, and CUSHIM_RUNTIME_REAL names none')
        library = binaries.read(path)
        self.names = {name for name, here, binding in library.symbols(dynamic=True)
                      if here and binding != library.LOCAL and re.match('(__)?cuda[A-Z]', name)}

    def check(self, names):
        for archive in arguments.words:
            self.assertEqual(names - binaries.defined_by_archive(archive), set(), archive)

    def test_what_compilers_call(self):
        names = {name for name in self.names if name.startswith('__')}
        self.assertIn('__cudaRegisterFatBinary', names)
        self.check(names - NOT_CALLED)

    def test_what_programs_call(self):
        names = {name for name in self.names if can_be_called(name)}
        self.assertGreater(len(names), 300)
        self.check(names)


if __name__ == '__main__':
    unittest.main(verbosity=2)
