#!/usr/bin/env python3
"""Programs that are linked both to the drop-in and to NVIDIA's libraries, by mistake or for functions that the
drop-in does not have. The first one on the command line serves the program, as with any two libraries."""

import unittest

import answers
import toolbox
from toolbox import HIDDEN, arguments, link, run

folder = toolbox.fresh_folder(__file__)


def link_by_each(name, libraries):
    for linker in toolbox.linkers():
        yield linker, link(folder / f'{name}-{linker}', 'plain.c', f'-fuse-ld={linker}', libraries=libraries)


class Both(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        if not toolbox.has_simulator():
            raise unittest.SkipTest('the simulator was not built')
        real = toolbox.real_libraries(folder, arguments.sim_driver, arguments.sim_runtime)
        cls.cuda = [f'-L{real}', '-lcuda', '-lcudart']
        cls.found = {'LD_LIBRARY_PATH': str(real)}

    def check_absent(self, program, **variables):
        self.assertEqual(run(program, env=toolbox.absent(**variables)),
                         (answers.ABSENT_STATUS, answers.ABSENT))

    def check_present(self, program, env):
        self.assertEqual(run(program, env=env), (0, answers.PRESENT))

    def check_does_not_start(self, program):
        if 'not found' not in toolbox.must_run('ldd', program):
            return  # this machine has the libraries
        status, output = run(program, env=toolbox.present())
        self.assertEqual(status, 127)
        self.assertIn('error while loading shared libraries: libcud', output)

    def test_dropin_first_and_libraries_as_needed(self):
        """Many compilers pass --as-needed by default. The program then needs only the drop-in."""
        for linker, program in link_by_each('as-needed', ['-Wl,--as-needed', *HIDDEN, *self.cuda]):
            with self.subTest(linker=linker):
                self.assertEqual(toolbox.needed_of_cuda(program), [])
                self.check_absent(program)
                self.check_present(program, toolbox.present())

    def test_dropin_first(self):
        """The libraries must exist at start-up, but the program calls the drop-in."""
        for linker, program in link_by_each('first', ['-Wl,--no-as-needed', *HIDDEN, *self.cuda]):
            with self.subTest(linker=linker):
                self.assertEqual(len(toolbox.needed_of_cuda(program)), 2)
                self.check_does_not_start(program)
                self.check_absent(program, **self.found)
                # The drop-in uses the copies that are already loaded; no variable is needed.
                self.check_present(program, toolbox.environment(**self.found))

    def test_libraries_first(self):
        """The drop-in has no effect."""
        for linker, program in link_by_each('last', [*self.cuda, *HIDDEN]):
            with self.subTest(linker=linker):
                self.assertEqual(len(toolbox.needed_of_cuda(program)), 2)
                self.assertEqual(toolbox.of_cuda(toolbox.defined(program)), set())
                self.check_does_not_start(program)
                self.check_present(program, toolbox.absent(**self.found))

    def test_driver_first_and_runtime_by_the_dropin(self):
        for linker, program in link_by_each('half', [*self.cuda[:2], *HIDDEN]):
            with self.subTest(linker=linker):
                self.assertEqual(toolbox.needed_of_cuda(program), ['libcuda.so.1'])
                mine = toolbox.of_cuda(toolbox.defined(program))
                self.assertIn('cudaMalloc', mine)
                self.assertNotIn('cuMemAlloc_v2', mine)
                self.check_does_not_start(program)
                self.check_present(program, toolbox.present(**self.found))


class StaticRuntime(unittest.TestCase):
    def setUp(self):
        archive = toolbox.static_runtime()
        if archive is None:
            self.skipTest('libcudart_static.a was not found')
        self.archive = [archive, '-lrt', '-ldl', '-pthread']

    def test_dropin_first(self):
        """nvcc adds the static runtime to every program after the user's libraries; none of it is used."""
        for linker, program in link_by_each('before-static', [*HIDDEN, *self.archive]):
            with self.subTest(linker=linker):
                self.assertFalse([name for name in toolbox.defined(program)
                                  if name.startswith('libcudart_static')])
                self.assertEqual(run(program, env=toolbox.absent()),
                                 (answers.ABSENT_STATUS, answers.ABSENT))

    def test_static_runtime_first(self):
        """NVIDIA's runtime API and the drop-in's driver API; no name is defined twice."""
        for linker, program in link_by_each('after-static', [*self.archive, *HIDDEN]):
            with self.subTest(linker=linker):
                self.assertTrue([name for name in toolbox.defined(program)
                                 if name.startswith('libcudart_static')])
                self.assertEqual(toolbox.needed_of_cuda(program), [])
                _, output = run(program, env=toolbox.absent())
                self.assertIn('cuInit: 303', output)


class Interop(unittest.TestCase):
    """The drop-in does not have the functions for OpenGL, EGL and VDPAU. Programs that call them also need
    -lcuda or -lcudart."""

    @classmethod
    def setUpClass(cls):
        cls.place = folder / 'interop'
        cls.place.mkdir()
        for library, options in (('libcuda.so.1', []), ('libcudart.so.99', ['-DRUNTIME'])):
            link(cls.place / library, 'interop.c', '-DLIBRARY', '-shared', '-fPIC', f'-Wl,-soname,{library}',
                 *options)
            (cls.place / f'{library.partition(".")[0]}.so').symlink_to(library)

    def check_needs_the_library(self, missing, option, library, *options):
        """With every linker: the drop-in alone fails to link, and the linker names the missing function. The
        program that is also linked to the library."""
        for linker in toolbox.linkers():
            with self.subTest(linker=linker):
                program = folder / f'{missing}-{linker}'
                flags = f'-fuse-ld={linker}', *options
                status, output = run(*toolbox.link_command(program, 'interop.c', *flags, libraries=HIDDEN))
                self.assertNotEqual(status, 0)
                self.assertRegex(output, f'undefined (reference to|symbol:).*{missing}')
                self.assertNotIn('cuInit', output)
                link(program, 'interop.c', *flags, '-Wl,--as-needed',
                     libraries=[*HIDDEN, f'-L{self.place}', option])
                self.assertEqual(toolbox.needed_of_cuda(program), [library])
                yield program

    def test_functions_of_the_driver(self):
        """Needs libcuda at start-up. The drop-in forwards to that copy."""
        found = {'LD_LIBRARY_PATH': str(self.place)}
        for program in self.check_needs_the_library('cuGraphicsGLRegisterBuffer', '-lcuda', 'libcuda.so.1'):
            self.assertIn('cuInit', toolbox.defined(program))
            self.assertEqual(run(program, env=toolbox.environment(**found)),
                             (0, 'cuInit: 771, cuGraphicsGLRegisterBuffer: 772\n'))
            self.assertEqual(run(program, env=toolbox.absent(**found)),
                             (0, 'cuInit: 303, cuGraphicsGLRegisterBuffer: 772\n'))

    def test_functions_of_the_runtime(self):
        """The runtime's functions come from a shared libcudart, as the driver's come from libcuda."""
        for program in self.check_needs_the_library('cudaGraphicsGLRegisterBuffer', '-lcudart', 'libcudart.so.99',
                                                    '-DRUNTIME'):
            self.assertEqual(run(program, env=toolbox.absent(LD_LIBRARY_PATH=str(self.place))),
                             (0, 'cudaGetDeviceCount: 35, cudaGraphicsGLRegisterBuffer: 772\n'))

    def test_functions_of_the_static_runtime(self):
        """The static runtime cannot be used: functions that the drop-in also has are defined twice."""
        archive = toolbox.static_runtime()
        if archive is None:
            self.skipTest('libcudart_static.a was not found')
        status, output = run(*toolbox.link_command(
            folder / 'interop-static', 'interop.c', '-DRUNTIME',
            libraries=[*HIDDEN, archive, '-lrt', '-ldl', '-pthread']))
        self.assertNotEqual(status, 0)
        self.assertRegex(output, 'multiple definition of|duplicate symbol')


if __name__ == '__main__':
    unittest.main(argv=[__file__], verbosity=2)
