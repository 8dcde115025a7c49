#!/usr/bin/env python3
"""The simulator's report at exit is empty for programs that destroy their objects. CUSHIM_DRIVER is the simulator;
CUSHIM_TEST_RUNS is the number of runs of each program."""

import os
import subprocess
import sys
import time
import unittest

RUNS = int(os.environ.get('CUSHIM_TEST_RUNS', '8'))
MODES = ('mode=immediate', 'mode=threaded', 'mode=adversarial')
PROGRAMS = ('graph_keeps_buffer', 'host_function_owns_buffer',
            'captured_function_owns_buffer', 'launch_is_not_awaited', 'host_function_is_not_awaited')


def run(program, settings):
    environment = {**os.environ, 'CUSHIM_SIM': f'{settings};report=fail'}
    return subprocess.run([PROGRAM, program], env=environment, text=True, capture_output=True,
                          timeout=60, check=False)


class ExitReport(unittest.TestCase):
    def test_correct_programs_have_an_empty_report(self):
        for program in PROGRAMS:
            for mode in MODES:
                with self.subTest(program=program, mode=mode):
                    failed = []
                    for number in range(RUNS):
                        seed = f';seed={number}' if mode == 'mode=adversarial' else ''
                        done = run(program, mode + seed)
                        if (done.returncode, done.stderr) != (0, ''):
                            failed.append(done.stdout + done.stderr)
                    print(f'{program}, {mode}: {len(failed)} of {RUNS} runs have a report',
                          flush=True)
                    self.assertEqual(failed, [])

    def test_what_a_failed_context_keeps_is_lost_and_no_leak(self):
        for call in ('cuMemsetD32Async:1', 'cuGraphLaunch:1', 'cuGraphLaunch:2', 'cuLaunchHostFunc:1'):
            for mode in MODES:
                with self.subTest(call=call, mode=mode):
                    done = run('context_fails', f'{mode};fault={call}:719:async')
                    self.assertEqual((done.returncode, done.stdout), (0, ''), done.stderr)
                    self.assertIn('cushim-sim: lost: ', done.stderr)
                    self.assertNotIn('leak: ', done.stderr)
        self.assertEqual(run('context_fails', 'mode=immediate').stderr, '')

    def test_exit_waits_for_closures(self):
        for program in ('slow_closure', 'slow_runtime_graph'):
            done = run(program, 'mode=immediate')
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, '', ''), program)

    def test_wait_is_bounded_and_reported(self):
        begin = time.monotonic()
        done = run('endless_closure', 'mode=immediate')
        self.assertEqual((done.returncode, done.stdout),
                         (0, 'teardown: wait_for_released_closures 909\n'))
        self.assertLess(time.monotonic() - begin, 30)

    def test_wait_for_enqueued_work_is_bounded_and_noted(self):
        for mode in ('mode=threaded', 'mode=adversarial'):
            with self.subTest(mode=mode):
                begin = time.monotonic()
                self.assertIn('note: enqueued work was not done 2 seconds after exit began',
                              run('endless_host_function', mode).stderr)
                self.assertLess(time.monotonic() - begin, 30)

    def test_closure_may_exit(self):
        begin = time.monotonic()
        self.assertEqual(run('exiting_closure', 'mode=immediate').returncode, 0)
        self.assertLess(time.monotonic() - begin, 30)


if __name__ == '__main__':
    PROGRAM = sys.argv[1]
    unittest.main(argv=sys.argv[:1], verbosity=2)
