#!/usr/bin/env python3
"""Programs and libraries linked to the drop-in in every usual way, by every linker on this machine: they need
no CUDA library, start without one, and work with one."""

import platform
import shutil
import unittest

import answers
import machine_code
import toolbox
from toolbox import (
    CORE_IS_SHARED, EXPORTED, HIDDEN, arguments, link, link_command, must_run, run)

folder = toolbox.fresh_folder(__file__)
# The functions that plain.c calls, with the names that the headers give them.
CALLED = {
    'cuInit', 'cuGetErrorName', 'cuGetErrorString', 'cuDeviceGet', 'cuDevicePrimaryCtxRetain',
    'cuDevicePrimaryCtxRelease_v2', 'cuCtxSetCurrent', 'cuMemAlloc_v2', 'cuMemFree_v2',
    'cuMemcpyHtoD_v2', 'cuMemcpyDtoH_v2', 'cudaGetDeviceCount', 'cudaGetErrorName',
    'cudaGetErrorString', 'cudaDriverGetVersion', 'cudaPeekAtLastError', 'cudaGetLastError',
    'cudaMalloc', 'cudaMemset', 'cudaMemcpy', 'cudaFree',
}
PER_STREAM = {'cuMemcpyHtoD_v2', 'cuMemcpyDtoH_v2', 'cudaMemset', 'cudaMemcpy'}
ARCHIVES = {'hidden': HIDDEN, 'exported': EXPORTED}
LTO = ['-flto=auto'] if 'clang' not in arguments.cc[-1] else ['-flto']


class LinkTest(unittest.TestCase):
    maxDiff = None

    def check_plain(self, program, simulated=True):
        self.assertEqual(toolbox.needed_of_cuda(program), [])
        self.assertEqual(run(program, env=toolbox.absent()),
                         (answers.ABSENT_STATUS, answers.ABSENT))
        if simulated and toolbox.has_simulator():
            self.assertEqual(run(program, env=toolbox.present()), (0, answers.PRESENT))

    def link_in_each_way(self, *options, source='plain.c', libraries=HIDDEN, kind='hidden'):
        """(linker, program) for each linker that supports the options. A linker that cannot link even an
        empty program is left out."""
        made = []
        for linker in toolbox.linkers():
            flags = [f'-fuse-ld={linker}', *options]
            name = '-'.join(word.strip('-').replace('/', '_') for word in (kind, source, *flags))
            program = folder / name
            command = link_command(program, source, *flags, libraries=libraries)
            status, output = run(*command)
            if status == 0:
                made.append((linker, program))
            else:
                self.assertFalse(self.links_nothing(flags), f'{linker} {options}:\n{output}')
                print(f'{linker} {" ".join(options)}: not on this machine')
        if not made:
            self.skipTest(f'no linker on this machine supports {options}')
        return made

    @staticmethod
    def links_nothing(flags):
        return run(*link_command(folder / 'nothing', 'nothing.c', *flags))[0] == 0

    def of_both_archives(self, *options):
        """(kind, linker, program) for the hidden and the exported archive."""
        for kind, libraries in ARCHIVES.items():
            for linker, program in self.link_in_each_way(*options, libraries=libraries, kind=kind):
                yield kind, linker, program


class Linkers(unittest.TestCase):
    def test_at_least_one_linker_is_found(self):
        self.assertTrue(any(toolbox.has_linker(name) for name in toolbox.LINKERS))
        for name in toolbox.LINKERS:
            with self.subTest(linker=name):
                if not toolbox.has_linker(name):
                    self.skipTest(f'{name}: not on this machine')


class Programs(LinkTest):
    def check(self, *options, **more):
        for kind, linker, program in self.of_both_archives(*options):
            with self.subTest(kind=kind, linker=linker):
                self.check_plain(program, **more)

    def test_default_options(self):
        self.check()

    def test_needs_the_c_library_only(self):
        allowed = r'(libc|libdl|libpthread|ld-linux[-_a-z0-9]*|libcushim-core)\.so\.\d+'
        program = link(folder / 'plain', 'plain.c', libraries=HIDDEN)
        for name in toolbox.needed(program):
            self.assertRegex(name, allowed)

    def test_as_needed(self):
        self.check('-Wl,--as-needed')

    def test_eager_binding(self):
        self.check('-Wl,-z,now', '-Wl,-z,relro')

    def test_position_independent(self):
        self.check('-fPIE', '-pie')

    def test_at_a_fixed_address(self):
        self.check('-fno-PIE', '-no-pie')

    def test_without_plt(self):
        self.check('-fno-plt')

    def test_rdynamic(self):
        """Exports the program's own functions; the hidden archive's stay hidden."""
        for kind, linker, program in self.of_both_archives('-rdynamic'):
            with self.subTest(kind=kind, linker=linker):
                self.check_plain(program)
                self.assertEqual(toolbox.of_cuda(toolbox.exported(program)) >= CALLED,
                                 kind == 'exported')
                if kind == 'hidden':
                    self.assertEqual(toolbox.of_cuda(toolbox.exported(program)), set())

    def test_whole_archive(self):
        """Keeps every function and its slot."""
        for kind, (archive, *rest) in ARCHIVES.items():
            whole = ['-Wl,--whole-archive', archive, '-Wl,--no-whole-archive', *rest]
            for linker, program in self.link_in_each_way('-DWHOLE', libraries=whole, kind=kind):
                with self.subTest(kind=kind, linker=linker):
                    self.check_plain(program)
                    self.assertGreater(len(toolbox.of_cuda(toolbox.defined(program))), 800)

    def test_landing_pads(self):
        flags = {'x86_64': '-fcf-protection=full', 'aarch64': '-mbranch-protection=standard'}
        if platform.machine() not in flags:
            self.skipTest('no compiler flag is known for this machine')
        flag = flags[platform.machine()]
        for linker, program in self.link_in_each_way(flag):
            with self.subTest(linker=linker):
                self.check_plain(program)
                self.check_protections(program, link(folder / f'nothing-{linker}', 'nothing.c',
                                                     f'-fuse-ld={linker}', flag))

    def check_protections(self, program, nothing):
        """The program has the same protections as an empty program, which has those of the start files."""
        readelf = shutil.which('readelf')
        if readelf is not None:
            found = machine_code.protections(readelf, program)
            print(f'{program.name}: {", ".join(sorted(*found)) or "no protection on this system"}')
            self.assertEqual(found, machine_code.protections(readelf, nothing))

    @unittest.skipIf(CORE_IS_SHARED, 'the core is a shared library')
    def test_static_program(self):
        """A static program may load libraries only with the C library that it was linked to, and not all of
        them; glibc's linker warning says so. Without CUDA it starts like any other."""
        for options in (['-static'], ['-static-pie', '-fPIE']):
            for kind, linker, program in self.of_both_archives(*options):
                with self.subTest(kind=kind, linker=linker):
                    self.assertEqual(toolbox.needed(program), [])
                    self.check_plain(program, simulated=False)

    def test_link_time_optimisation(self):
        self.check(*LTO, '-O2')

    def test_garbage_collected(self):
        for kind, linker, program in self.of_both_archives('-Wl,--gc-sections'):
            with self.subTest(kind=kind, linker=linker):
                self.check_plain(program)
                self.assertEqual(toolbox.of_cuda(toolbox.defined(program)), CALLED)
                stripped = folder / f'stripped-{kind}-{linker}'
                must_run('strip', '-o', stripped, program)
                size = stripped.stat().st_size
                print(f'{linker}, {kind}: {size} bytes with the loader, stripped')
                self.assertLess(size, 160_000)

    def test_identical_code_folding(self):
        """No two functions are identical, even with equal parameters: each has its own slot."""
        self.check('-Wl,--icf=all', '-Wl,--gc-sections')

    def test_per_thread_streams(self):
        """The same source compiled for per-thread default streams calls other functions."""
        suffixed = {name + '_ptds' for name in PER_STREAM}
        for _, program in self.link_in_each_way('-Wl,--gc-sections',
                                                '-DCUDA_API_PER_THREAD_DEFAULT_STREAM'):
            self.check_plain(program)
            self.assertEqual(toolbox.of_cuda(toolbox.defined(program)), CALLED - PER_STREAM | suffixed)


class Libraries(LinkTest):
    def test_shared_library(self):
        for linker, library in self.link_in_each_way('-shared', '-fPIC', '-Wl,-z,defs',
                                                     source='library.c'):
            self.assertEqual(toolbox.of_cuda(toolbox.exported(library)), set(),
                             'the library exports its copy')
            program = link(folder / f'library-user-{linker}', 'library_user.c',
                           f'-fuse-ld={linker}', libraries=[library])
            self.assertEqual(toolbox.needed_of_cuda(library), [])
            self.assertEqual(run(program, env=toolbox.absent()),
                             (0, 'library: 303, 35, 0 devices\n'))
            if toolbox.has_simulator():
                self.assertEqual(run(program, env=toolbox.present()),
                                 (0, 'library: 0, 0, 1 devices\n'))


if __name__ == '__main__':
    unittest.main(argv=[__file__], verbosity=2)
