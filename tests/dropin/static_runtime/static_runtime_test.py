#!/usr/bin/env python3
"""Programs of nvcc that link NVIDIA's static libcudart and cushim-dropin-driver.

usage: static_runtime_test.py dropin|real|gpu, and what toolbox.py names; "real" needs CUSHIM_REAL_LIBS, a folder
with drivers/<version>/libcuda.so.1, and "gpu" a GPU.
"""

import ctypes
import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import toolbox  # noqa: E402
from toolbox import CORE, arguments, binaries, given, run  # noqa: E402

SUITE, = given.words
OBJECT, PROGRAM = given.path('object'), given.path('program')
DROPIN_DRIVER = given.path('dropin-driver')
STATIC_RUNTIME = [given.path('static-runtime'), '-lrt', '-ldl', '-pthread']
ORDERS = {'dropin-first': [DROPIN_DRIVER, *CORE, *STATIC_RUNTIME],
          'runtime-first': [*STATIC_RUNTIME, DROPIN_DRIVER, *CORE]}
NO_DEVICE = 2
OF_THE_RUNTIME_API = '(__)?cuda[A-Z]'
DRIVER_FIRST, RUNTIME_FIRST = (), ('runtime-first',)
DRIVERS = sorted(pathlib.Path(os.environ.get('CUSHIM_REAL_LIBS', '/nonexistent')).glob('drivers/*/libcuda.so.1'))

folder = toolbox.fresh_folder(__file__)


def link_command(program, *libraries):
    return [*given.command('cxx'), OBJECT, '-o', program, *libraries]


def has_driver():
    try:
        ctypes.CDLL('libcuda.so.1')
        return True
    except OSError:
        return False


def answers(*calls):
    return ''.join(f'{call}: {status}\n' for call, status in calls)


class Archive(unittest.TestCase):
    def test_has_the_driver_api_of_the_dropin_and_nothing_of_the_runtime_api(self):
        both, driver = (binaries.defined_by_archive(path) for path in (arguments.dropin, DROPIN_DRIVER))
        runtime = {name for name in both if re.match(OF_THE_RUNTIME_API, name)}
        self.assertGreater(len(runtime), 300)
        self.assertEqual(toolbox.of_cuda(driver), toolbox.of_cuda(both) - runtime)
        self.assertFalse(driver & runtime)


class Linked(unittest.TestCase):
    def check(self, program):
        """Each API is whole, and from one library."""
        self.assertEqual(toolbox.needed_of_cuda(program), [])
        symbols = [name.split('@')[0] for name, *_ in binaries.read(program).symbols()]  # without versions
        for name in ('cuInit', 'cuMemcpyDtoH_v2', 'cushim_slot_cuInit', 'cudaMalloc', '__cudaRegisterFatBinary'):
            self.assertIn(name, symbols)
        self.assertTrue([name for name in symbols if name.startswith('libcudart_static')])
        self.assertEqual([name for name in symbols if name.startswith(('cushim_slot_cuda', 'cushim_register_'))], [])
        if not has_driver():
            for first in (DRIVER_FIRST, RUNTIME_FIRST):
                status, output = run(program, *first)
                self.assertEqual(status, NO_DEVICE, output)
                self.assertEqual(set(output.splitlines()), {'cuInit: 303', 'cudaGetDeviceCount: 35'})

    def test_by_meson(self):
        self.check(PROGRAM)

    @toolbox.with_each_linker
    def test_in_each_order(self, linker):
        for order, libraries in ORDERS.items():
            with self.subTest(order=order):
                program = folder / f'{order}-{linker}'
                toolbox.must_run(*link_command(program, f'-fuse-ld={linker}', *libraries))
                self.check(program)

    def test_by_nvcc(self):
        """nvcc names its static libcudart itself."""
        program = folder / 'by-nvcc'
        core = [word for word in CORE if word != '-pthread' and not str(word).startswith('-Wl,')]
        if toolbox.CORE_IS_SHARED:
            place = arguments.core.parent
            core = [f'-L{place}', '-lcushim-core', '-Xlinker', f'-rpath={place}', '-ldl']
        toolbox.must_run(*given.command('nvcc'), OBJECT, '-o', program, DROPIN_DRIVER, *core)
        self.check(program)

    @toolbox.with_each_linker
    def test_without_a_libcudart_no_function_of_the_runtime_api_is_found(self, linker):
        status, output = run(*link_command(folder / 'without', f'-fuse-ld={linker}', DROPIN_DRIVER, *CORE))
        self.assertNotEqual(status, 0)
        for name in ('cudaMalloc', '__cudaRegisterFatBinary'):
            self.assertRegex(output, f'undefined (reference to|symbol:).*{name}')
        self.assertNotIn('cuInit', output)


@unittest.skipIf(has_driver(), 'this machine has a driver')
class Simulator(unittest.TestCase):
    """The driver API alone works on it: it has none of the export tables that a libcudart asks a driver for."""

    def setUp(self):
        if not toolbox.has_simulator():
            self.skipTest('the simulator was not built')

    def check(self, first, env, *calls):
        self.assertEqual(run(PROGRAM, *first, env=env), (NO_DEVICE, answers(*calls)))

    def test_on_the_library_path(self):
        """Both find it."""
        self.check(DRIVER_FIRST, toolbox.environment(LD_LIBRARY_PATH=str(arguments.sim_driver.parent)),
                   ('cuInit', 0), ('cudaGetDeviceCount', 801))

    def test_named_by_a_variable(self):
        """The static libcudart reads no variable. It finds the driver that the drop-in has loaded."""
        self.check(DRIVER_FIRST, toolbox.present(), ('cuInit', 0), ('cudaGetDeviceCount', 801))
        self.check(RUNTIME_FIRST, toolbox.present(), ('cudaGetDeviceCount', 35), ('cuInit', 0))

    def test_disabled(self):
        """The driver API alone."""
        self.check(DRIVER_FIRST, toolbox.absent(LD_LIBRARY_PATH=str(arguments.sim_driver.parent)),
                   ('cuInit', 303), ('cudaGetDeviceCount', 801))


class RealDrivers(unittest.TestCase):
    """Without a device."""

    def test_both_find_the_driver(self):
        if not DRIVERS:
            self.skipTest('CUSHIM_REAL_LIBS names no folder with real driver libraries')
        if pathlib.Path('/proc/driver/nvidia').exists():
            self.skipTest('this machine has a driver of another version')
        for driver in DRIVERS:
            for first in (DRIVER_FIRST, RUNTIME_FIRST):
                with self.subTest(driver=driver.parent.name, first=first):
                    _, output = run(PROGRAM, *first, env=toolbox.environment(LD_LIBRARY_PATH=str(driver.parent)))
                    # 100: no device; 35: the driver is older than the runtime.
                    self.assertIn('cuInit: 100\n', output)
                    self.assertRegex(output, 'cudaGetDeviceCount: (35|100)\n')


class Gpu(unittest.TestCase):
    def test_kernel(self):
        """Whichever API comes first."""
        started, counted = ('cuInit', 0), ('cudaGetDeviceCount', 0)
        for first, calls in ((DRIVER_FIRST, (started, counted)), (RUNTIME_FIRST, (counted, started))):
            with self.subTest(first=first):
                self.assertEqual(run(PROGRAM, *first), (0, answers(*calls) + 'kernel: right\n'))


SUITES = {'dropin': ['Archive', 'Linked', 'Simulator'], 'real': ['RealDrivers'], 'gpu': ['Gpu']}


if __name__ == '__main__':
    unittest.main(argv=[__file__, *SUITES[SUITE]], verbosity=2)
