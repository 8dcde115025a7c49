#!/usr/bin/env python3
"""Ordinary CUDA programs linked to the drop-in: they start without CUDA, give correct results on the simulator,
and on a GPU behave as when they are linked to NVIDIA's libraries.

usage: samples_test.py absent PROGRAM...
       samples_test.py simulated PROGRAM... --driver SIMULATED --runtime SIMULATED
       samples_test.py right PROGRAM...
       samples_test.py same PROGRAM... --linked PROGRAM... --libraries FOLDER

The programs check their own results and return the exit codes of exit_codes.h. "right" and "same" need a
GPU.
"""

import functools
import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent.parent / 'support'))
import binaries  # noqa: E402
import options  # noqa: E402
from quiet import run  # noqa: E402

NO_DEVICE, CUDA_ERROR = 2, 3
# These do not look for a device: their first launch fails.
CARELESS = {'reduction', 'reduction_per_thread'}
# Relocatable device code supports only the GPUs that device_code/meson.build lists.
FOR_SOME_GPUS = {'nested', 'vector_add_by_nvcc', 'vector_add_relocatable'}
REASONS = ({'CUSHIM_DISABLE': '1'}, 'CUSHIM_DISABLE is set, so no CUDA driver was searched for'), \
    ({'CUSHIM_DRIVER': '/nonexistent/libcuda.so.1'}, 'no CUDA driver: /nonexistent/libcuda.so.1 cannot be used: .+')

# Settings of the simulator: when enqueued work runs.
BY_ITSELF = ['mode=immediate', 'mode=threaded']
WHEN_WAITED_FOR = [f'mode=adversarial;seed={seed}' for seed in range(4)]

arguments = options.of_command_line()
SUITE, *PROGRAMS = arguments.words


def name_of(program):
    return pathlib.Path(program).name.removesuffix('.exe').removesuffix('_linked')


def needed_of_cuda(program):
    needed = binaries.read(program).needed()
    if not needed:
        raise AssertionError(f'{program}: the list of needed libraries is empty')
    return [name for name in needed if re.search('cuda', name, re.IGNORECASE)]


def for_each_program(test):
    """Runs the test as a subtest for each program."""
    @functools.wraps(test)
    def tests(self):
        for program in PROGRAMS:
            with self.subTest(name_of(program)):
                test(self, program)
    return tests


class SamplesTest(unittest.TestCase):
    maxDiff = None


class Absent(SamplesTest):
    @for_each_program
    def test_needs_no_cuda_library(self, program):
        self.assertEqual(needed_of_cuda(program), [])

    @for_each_program
    def test_contains_nothing_of_the_static_runtime(self, program):
        """nvcc names it after the drop-in. Its internal functions have a prefix."""
        binary = binaries.read(program)
        if not isinstance(binary, binaries.Elf):
            self.skipTest('only ELF files are checked')
        names = [name for name, *_ in binary.symbols()]
        self.assertIn('main', names)
        self.assertEqual([name for name in names if name.startswith('libcudart_static')], [])

    @for_each_program
    def test_reports_that_there_is_no_device(self, program):
        for variables, reason in REASONS:
            self.check(name_of(program), run(program, **variables), reason)

    def check(self, name, answer, reason):
        code, printed, complained = answer
        if name in CARELESS:
            self.assertEqual((code, printed), (CUDA_ERROR, ''), complained)
            self.assertRegex(complained, rf'\.cu:\d+: cudaGetLastError\(\): {reason}'
                                         r' \(cudaErrorInsufficientDriver\)\n$')
        else:
            self.assertEqual((code, printed), (NO_DEVICE, ''), complained)
            self.assertRegex(complained, rf'^There is no CUDA device: {reason}\n$')


class Simulated(SamplesTest):
    def simulated(self, program, settings):
        return run(program, CUSHIM_DRIVER=arguments.text('driver'), CUSHIM_RUNTIME=arguments.text('runtime'),
                   CUSHIM_SIM=settings)

    @for_each_program
    def test_correct_and_without_reports_in_every_order(self, program):
        """Leaks and misuse count as failures."""
        # Here another process waits, and the simulator runs enqueued work only when this one does.
        by_itself = name_of(program) == 'two_processes'
        printed = set()
        for order in BY_ITSELF + ([] if by_itself else WHEN_WAITED_FOR):
            code, text, complained = self.simulated(program, f'{order};report=fail')
            self.assertEqual((code, complained), (0, ''), f'{order}\n{text}')
            printed.add(text)
        self.assertEqual(len(printed), 1)
        self.assertNotEqual(printed, {''})

    @for_each_program
    def test_reports_that_the_simulator_has_no_device(self, program):
        code, printed, complained = self.simulated(program, 'devices=0')
        self.assertEqual((code, printed), (NO_DEVICE, ''))
        self.assertRegex(complained, r'^There is no CUDA device: no .*device.*\n$')

    @for_each_program
    def test_prints_the_simulated_devices(self, program):
        if name_of(program) not in ('device_query', 'device_query_driver'):
            return
        code, printed, _ = self.simulated(program, 'devices=2;name=A sample;cc=8.6;memory=4GiB')
        self.assertEqual(code, 0, printed)
        for words in ('2 devices, ', 'Device 1: "A sample"', ' capability: 8.6', ' memory: 4096 MiB'):
            self.assertIn(words, printed)


class Right(SamplesTest):
    @for_each_program
    def test_results_are_correct(self, program):
        code, printed, complained = run(program)
        print(f'--- {name_of(program)}\n{printed}{complained}', end='')
        if name_of(program) in FOR_SOME_GPUS and 'cudaErrorNoKernelImageForDevice' in complained:
            self.skipTest('the program has no code for this GPU')
        self.assertEqual((code, complained), (0, ''), printed)


class Same(SamplesTest):
    """Each program and its twin, which is linked to NVIDIA's libraries. Both find the same libraries."""

    @for_each_program
    def test_output_equals_that_of_the_linked_program(self, program):
        twin = next(twin for twin in arguments.all('linked') if name_of(twin) == name_of(program))
        self.assertEqual(needed_of_cuda(program), [])
        self.assertNotEqual(needed_of_cuda(twin), [])
        paths = [arguments.text('libraries'), os.environ.get('LD_LIBRARY_PATH', '')]
        libraries = {'LD_LIBRARY_PATH': ':'.join(path for path in paths if path)}
        self.assertEqual(run(program, **libraries), run(twin, **libraries))


SUITES = {'absent': Absent, 'simulated': Simulated, 'right': Right, 'same': Same}


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], SUITES[SUITE].__name__], verbosity=2)
