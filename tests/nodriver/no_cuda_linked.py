#!/usr/bin/env python3
"""Reads every built binary: none may need a CUDA library, and cushim-core may not need a C++ runtime.

usage: no_cuda_linked.py BUILD_FOLDER --core FILE... --cushim FILE... [--instrumented]
"""

import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'support'))
import binaries  # noqa: E402
import options  # noqa: E402

# The libraries of toolkits and drivers: libcuda, libcudart, nvcuda.dll, libnvidia-ml, ...
CUDA = re.compile(r'^(lib)?(nv(cuda|cuvid|idia|jitlink|ml|rtc|toolsext)|nccl|nppi?|'
                  r'cu(da|dnn|blas|fft|file|inj|pti|rand|solver|sparse))[-_.0-9a-z]*$',
                  re.IGNORECASE)
# Linked to CUDA on purpose: a neighbour in the tests of coexistence, and the samples' twins, which are linked to
# NVIDIA's libraries for comparison on a GPU.
LINKED_ON_PURPOSE = re.compile(r'tests/(coexistence/libcoexistence_linked\.so|dropin/samples/(\w+/)?\w+_linked|'
                               r'gpu/libraries/\w+_linked)$')
SYSTEM = re.compile(r'^(libc|libdl|libpthread|ld-linux[-_a-z0-9]*)\.so\.\d+$')
# Operator new and delete, exceptions, personality routines, guards, RTTI: the parts of libstdc++ and libgcc_s.
CXX_RUNTIME = re.compile(r'^(_Zn[wa]|_Zd[la]|__cxa_|__gxx_|_Unwind_|_ZSt|_ZNSt|_ZNKSt|_ZT[IVS])')
# Functions of the C library, which atexit and the start files call.
CXX_ALLOWED = {'__cxa_finalize', '__cxa_atexit'}
# Builds of consumers, which their own tests check; damaged files; programs that are linked with a stand-in for
# the driver to compare with or to test that mistake.
NOT_OURS = {'tests/package/work', 'tests/loader/damaged', 'tests/nodriver/damaged',
            'tests/bench/work', 'tests/dropin/work'}
CONSTRUCTORS = re.compile(r'^\.(init_array|ctors|preinit_array)')

arguments = options.of_command_line()
[BUILD] = arguments.words
CORE, CUSHIM = arguments.all('core'), arguments.all('cushim')


def binary_files(root):
    """Programs and shared libraries below a folder, without the stand-ins for CUDA libraries."""
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in ('meson-private', 'fakes')
                      and not name.endswith('.p')]
        if os.path.relpath(folder, root) in NOT_OURS:
            folders[:] = []
            continue
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path) and binaries.is_binary_start(path):
                yield path


def objects(files):
    """(name, Elf) of every object in these archives."""
    for path in files:
        for name, data in binaries.archive_members(path):
            yield f'{os.path.basename(path)}({name})', binaries.Elf(data)


def archives(files):
    return [path for path in files if path.endswith('.a')]


def shared_libraries(files):
    return [path for path in files if '.so' in os.path.basename(path)]


def is_elf(path):
    if path.endswith('.a'):
        return binaries.archive_members(path)[0][1].startswith(b'\x7fELF')
    return isinstance(binaries.read(path), binaries.Elf)


class EveryBinary(unittest.TestCase):
    def test_cuda_libraries_are_recognized_by_name(self):
        """Otherwise the next test could not fail."""
        for name in ('libcuda.so.1', 'libcudart.so.11.0', 'nvcuda.dll', 'cudart64_13.dll',
                     'libnvidia-ml.so.1', 'libnvidia-ptxjitcompiler.so.1', 'nvml.dll',
                     'libcudnn.so.9', 'libcufft.so.12', 'libcusolver.so.12', 'libcusparse.so.12',
                     'libcurand.so.10', 'libcublasLt.so.13', 'libnvcuvid.so.1', 'libnvJitLink.so.13',
                     'libnccl.so.2', 'nvrtc64_130_0.dll', 'libnvrtc.so.13', 'libcudadevrt.so'):
            self.assertRegex(name, CUDA)
        for name in ('libcushim.so.0', 'libcushim-core.so.0', 'cushim-core-0.dll', 'KERNEL32.dll',
                     'libc.so.6', 'libstdc++.so.6', 'libcurl.so.4', 'libnuma.so.1'):
            self.assertNotRegex(name, CUDA)

    def test_no_binary_needs_a_cuda_library(self):
        seen, others = 0, set()
        for path in binary_files(BUILD):
            binary = binaries.read(path)
            if binary is None or (isinstance(binary, binaries.Elf) and binary.type not in (2, 3)):
                continue
            seen += 1
            needed = binary.needed()
            if LINKED_ON_PURPOSE.search(path.replace(os.sep, '/')):
                self.assertTrue(any(CUDA.match(name) for name in needed), path)
                continue
            bad = [name for name in needed if CUDA.match(name)]
            self.assertEqual(bad, [], f'{path} is linked with a CUDA library')
            others.update(needed)
        print(f'{seen} programs and libraries read; they need {", ".join(sorted(others))}')
        self.assertTrue(others, 'the list of needed libraries is empty')
        # The build of this test has some binaries.
        self.assertGreater(seen, 3, f'no binaries found in {BUILD}')


class Core(unittest.TestCase):
    def setUp(self):
        if 'instrumented' in arguments.named:
            self.skipTest('sanitizers and coverage add their own runtime')
        if not is_elf(CORE[0]):
            self.skipTest('only ELF files are checked')

    def test_shared_core_needs_only_the_c_library(self):
        libraries = shared_libraries(CORE)
        if not libraries:
            self.skipTest('not built as a shared library')
        for path in libraries:
            others = [name for name in binaries.read(path).needed() if not SYSTEM.match(name)]
            self.assertEqual(others, [], path)

    def test_core_needs_no_cxx_runtime(self):
        for where, elf in self.all_of(CORE):
            names = {name.split('@')[0] for name in elf.undefined() | self.imported(elf)}
            bad = {name for name in names if CXX_RUNTIME.match(name)}
            self.assertEqual(bad - CXX_ALLOWED, set(), where)

    def test_libraries_have_no_static_constructors(self):
        for where, elf in objects(archives(CORE + CUSHIM)):
            bad = [name for name, *_ in elf.sections() if CONSTRUCTORS.match(name)]
            self.assertEqual(bad, [], where)
        # The compiler's start files add one entry to every shared library.
        for path in shared_libraries(CORE + CUSHIM):
            sizes = {name: size for name, _, _, size, *_ in binaries.read(path).sections()
                     if CONSTRUCTORS.match(name)}
            self.assertLessEqual(sum(sizes.values()), 8, f'{path}: {sizes}')

    def test_registry_is_a_separate_archive_member(self):
        """Otherwise a program that calls one entry point would contain all of them."""
        if not archives(CORE):
            self.skipTest('not built as an archive')
        registries = 0
        for where, elf in objects(archives(CORE)):
            defined = {name for name, here, _ in elf.symbols() if here}
            rows = {name for name in defined if name.startswith('cushim_slot_')}
            registry = {name for name in defined if re.search(r'visit_(driver|runtime)_rows', name)}
            registries += len(registry)
            self.assertFalse(rows and registry, f'{where} holds rows and the registry of all rows')
        self.assertEqual(registries, 2, 'one registry for the driver and one for the runtime')

    @staticmethod
    def imported(elf):
        return {name for name, defined, _ in elf.symbols(dynamic=True) if not defined}

    @staticmethod
    def all_of(files):
        yield from objects(archives(files))
        for path in shared_libraries(files):
            yield os.path.basename(path), binaries.read(path)


if __name__ == '__main__':
    unittest.main(verbosity=2)
