#!/usr/bin/env python3
"""cushim-sim on the command line, and cushim-info on the simulated drivers."""

import argparse
import json
import os
import subprocess
import sys
import unittest

parser = argparse.ArgumentParser()
parser.add_argument('--sim', required=True)
parser.add_argument('--listed', required=True, help='the list of functions that are not simulated, made by the build')
parser.add_argument('--info', help='cushim-info, if it is built')
parser.add_argument('--hello', help='the example hello_gpu, if it is built')
parser.add_argument('wrapper', nargs='*')
OPTIONS = parser.parse_args()

# A program that prints its arguments and variables.
ECHO = [sys.executable, '-c', 'import os, sys; print(sys.argv[1:]);'
        '[print(n, os.environ.get(n)) for n in ("CUSHIM_DRIVER", "CUSHIM_RUNTIME", "CUSHIM_SIM")]']
NATIVE = not OPTIONS.wrapper


def run(*arguments, **variables):
    environment = {**os.environ, **variables}
    return subprocess.run([*OPTIONS.wrapper, *arguments], env=environment, text=True,
                          capture_output=True, check=False)


def sim(*arguments, **variables):
    return run(OPTIONS.sim, *arguments, **variables)


def paths():
    return dict(line.split('=', 1) for line in sim('--paths').stdout.splitlines())


class Tool(unittest.TestCase):
    def test_lists_what_is_not_simulated(self):
        with open(OPTIONS.listed, encoding='utf-8') as file:
            self.assertEqual(sim('--list').stdout.split(), file.read().split())

    def test_says_where_the_libraries_are(self):
        found = paths()
        self.assertEqual(set(found), {'driver', 'runtime', 'includedir'})
        if NATIVE:
            self.assertTrue(os.path.isfile(found['driver']))
            self.assertTrue(os.path.isfile(found['runtime']))
            self.assertTrue(os.path.isfile(os.path.join(found['includedir'], 'cushim_sim.h')))
            self.assertTrue(os.path.samefile(found['driver'], os.environ['CUSHIM_DRIVER']))

    def test_help_and_version(self):
        for option in ('--help', '-h'):
            done = sim(option)
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            self.assertIn('usage: cushim-sim run', done.stdout)
        self.assertRegex(sim('--version').stdout, r'^cushim-sim \d+\.\d+\.\d+, CUDA headers \d+\.\d+$')

    def test_refuses_what_it_does_not_understand(self):
        for arguments in ((), ('--nonsense',), ('walk',), ('run',), ('run', '--set'), ('run', '--set', 'a=b'),
                          ('run', '--sett', 'x', 'true'), ('run', '--'), ('--list', 'more')):
            with self.subTest(arguments):
                done = sim(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ''))
                self.assertIn('--help', done.stderr)


@unittest.skipUnless(NATIVE, 'an emulator cannot run programs of this machine')
class Run(unittest.TestCase):
    def said(self, *arguments, **variables):
        done = sim('run', *arguments, **variables)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return done.stdout

    def test_sets_the_variables(self):
        found = paths()
        said = self.said(*ECHO, 'one', '--two', '-- three', CUSHIM_DRIVER='', CUSHIM_SIM='')
        self.assertIn("['one', '--two', '-- three']", said)
        self.assertIn(f'CUSHIM_DRIVER {found["driver"]}\n', said)
        self.assertIn(f'CUSHIM_RUNTIME {found["runtime"]}\n', said)

    def test_adds_settings(self):
        said = self.said('--set', 'devices=2', '--set', 'memory=1GiB', '--', *ECHO, CUSHIM_SIM='')
        self.assertIn('CUSHIM_SIM devices=2;memory=1GiB\n', said)
        said = self.said('--set', 'devices=2', *ECHO, CUSHIM_SIM='log=1')
        self.assertIn('CUSHIM_SIM log=1;devices=2\n', said)

    def test_refuses_settings_before_the_program_starts(self):
        for wrong in ('mode=adverserial', 'device=2', 'fault=cudaMallocc:1:2', 'kernels=/nonexistent.so'):
            for arguments, inherited in ((('--set', wrong), ''), ((), wrong), (('--set', 'devices=2'), wrong)):
                with self.subTest(wrong, arguments=arguments):
                    done = sim('run', *arguments, *ECHO, CUSHIM_SIM=inherited)
                    self.assertEqual((done.returncode, done.stdout), (2, ''))
                    self.assertIn(wrong, done.stderr)
        done = sim('run', '--set', 'fault=cudaMallocc:1:2', *ECHO, CUSHIM_SIM='')
        self.assertIn('names no entry point', done.stderr)

    def test_takes_the_settings_that_the_header_lists(self):
        for right in ('fault=cuMemAlloc:p=0.1:2', 'fault=cuMemAlloc:3:2:sticky', 'fault=*:p=1:2:after:seed=7'):
            with self.subTest(right):
                self.assertIn(f'CUSHIM_SIM {right}\n', self.said('--set', right, *ECHO, CUSHIM_SIM=''))

    def test_ends_as_the_program_does(self):
        self.assertEqual(sim('run', sys.executable, '-c', 'raise SystemExit(42)').returncode, 42)

    def test_program_that_cannot_be_run(self):
        for settings in '', 'report=fail;fault=cuInit:1:2':
            done = sim('run', '--set', settings, '/nonexistent/program')
            self.assertEqual(done.returncode, 127)
            self.assertIn('/nonexistent/program', done.stderr)
            self.assertEqual(sim('run', '--set', settings, os.path.dirname(__file__)).returncode, 126)

    @unittest.skipUnless(sys.platform == 'linux', 'processes are not found elsewhere')
    def test_reports_faults_that_no_process_made_fire(self):
        call = ('import ctypes, os; d = ctypes.CDLL(os.environ["CUSHIM_DRIVER"]); d.cuInit(0); '
                'n = ctypes.c_int(); [d.cuDeviceGetCount(ctypes.byref(n)) for i in range(int(%s))]')
        def calls(*counts):
            return ('sh', '-c', '; '.join(f"{sys.executable} -c '{call % count}'" for count in counts))
        if sim('run', *calls(0)).returncode != 0:
            self.skipTest('Python cannot load a driver with a sanitizer')
        fault = 'report=fail;fault=cuDeviceGetCount:2:2'
        line = 'error: the planned fault of cuDeviceGetCount never fired in any process\n'
        for counts, fires in (((0, 2), True), ((2, 0), True), ((0, 1), False), ((1,), False)):
            with self.subTest(counts):
                done = sim('run', '--set', fault, *calls(*counts))
                self.assertEqual(done.returncode, 0 if fires else 1, done.stderr)
                self.assertEqual(line in done.stderr, not fires)
        self.assertEqual(sim('run', '--set', fault + ':optional', *calls(0, 1)).returncode, 0)
        self.assertEqual(sim('run', '--set', fault.replace('fail', '1'), *calls(1)).returncode, 0)
        # The key `report` has blanks around it; the last `report=` is part of another value.
        blanks = fault.replace('report=fail', ' report = fail ; name = A report=0 ')
        self.assertIn(line, sim('run', '--set', blanks, *calls(1)).stderr)
        chance = 'report=fail;fault=cuDeviceGetCount:p=0.000000001:2'
        self.assertEqual(sim('run', '--set', chance, *calls(0, 1)).returncode, 0)
        self.assertEqual(sim('run', '--set', chance, *calls(0)).returncode, 1)
        # The tool ends as the program does, by its status or its signal.
        self.assertEqual(sim('run', '--set', fault, sys.executable, '-c', 'raise SystemExit(42)').returncode, 42)
        killed = sim('run', '--set', fault, sys.executable, '-c', 'import os; os.kill(os.getpid(), 15)')
        self.assertEqual(killed.returncode, -15)


@unittest.skipUnless(OPTIONS.info, 'cushim-info is not built')
class Info(unittest.TestCase):
    """cushim-info on a simulated machine."""

    def info(self, driver=None, settings=''):
        variables = {'CUSHIM_DRIVER': driver or os.environ['CUSHIM_DRIVER'], 'CUSHIM_SIM': settings}
        done = run(OPTIONS.info, '--json', **variables)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return json.loads(done.stdout)

    def test_has_a_device_and_every_entry_point(self):
        found = self.info()
        self.assertEqual([d['ordinal'] for d in found['devices']], [0])
        for library in ('driver', 'runtime'):
            self.assertEqual(found[library]['state'], 'loaded')
            self.assertEqual(found[library]['entry_points']['missing'], [])
            self.assertEqual(found[library]['cuda_version'], found['headers']['cuda'])

    def test_plays_the_machine_that_was_asked_for(self):
        found = self.info(settings='devices=3;name=Test GPU;memory=2GiB;cc=8.6')
        self.assertEqual(len(found['devices']), 3)
        for device in found['devices']:
            self.assertEqual(device['name'], 'Test GPU')
            self.assertEqual(device['compute_capability'], '8.6')
            self.assertEqual(device['total_memory'], 2 << 30)

    def test_no_device(self):
        self.assertEqual(self.info(settings='devices=0')['devices'], [])
        done = run(OPTIONS.info, '--check', CUSHIM_SIM='devices=0')
        self.assertEqual(done.returncode, 1)

    def test_check(self):
        self.assertEqual(run(OPTIONS.info, '--check', CUSHIM_SIM='').returncode, 0)

    def test_older_drivers(self):
        for variant, version in (('11_2', '11.2'), ('11_4', '11.4'), ('12_0', '12.0'), ('12_4', '12.4')):
            driver = os.environ.get(f'SIM_DRIVER_{variant}')
            if driver is None:
                continue
            with self.subTest(variant):
                found = self.info(driver)['driver']
                self.assertEqual(found['cuda_version'], version)
                self.assertEqual('cuGetProcAddress' in found['entry_points']['missing'], variant == '11_2')

    def test_drivers_that_are_none(self):
        for variant, outcome in (('STUB', 'stub'), ('NOT_A_DRIVER', 'cuInit')):
            with self.subTest(variant):
                found = self.info(os.environ[f'SIM_DRIVER_{variant}'])
                self.assertEqual(found['driver']['state'], 'absent')
                self.assertIn(outcome, json.dumps(found['driver']))
        found = self.info(os.environ['SIM_DRIVER_MISSING_ONE_NAME'])
        self.assertEqual(found['driver']['entry_points']['missing'], ['cuMemFree_v2'])


@unittest.skipUnless(OPTIONS.hello, 'the example is not built')
class Hello(unittest.TestCase):
    """The example hello_gpu: steps that cannot be simulated are skipped explicitly, or reported."""

    def test_without_kernels(self):
        done = run(OPTIONS.hello, '--without-kernels', CUSHIM_SIM='report=1')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertIn('gave them back', done.stdout)
        self.assertIn('skipped: adding them', done.stdout)

    def test_wrong_sums_are_not_hidden(self):
        done = run(OPTIONS.hello, CUSHIM_SIM='')
        self.assertEqual(done.returncode, 1)
        self.assertNotIn('right', done.stdout)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
