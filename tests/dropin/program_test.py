#!/usr/bin/env python3
"""A C program that calls CUDA and knows nothing of cushim, linked to the drop-in. It starts everywhere, and its
own checks get the statuses that they get from a static libcudart.

usage: program_test.py PROGRAM LAST_ERROR SMALL_PROGRAM [--driver SIMULATED --runtime SIMULATED]
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'support'))
import answers  # noqa: E402
import binaries  # noqa: E402
import marks  # noqa: E402
import options  # noqa: E402
from quiet import run  # noqa: E402

arguments = options.of_command_line()
PROGRAM, LAST_ERROR, SMALL = arguments.words


class Program(unittest.TestCase):
    maxDiff = None

    def test_needs_no_cuda_library(self):
        needed = binaries.read(PROGRAM).needed()
        self.assertTrue(needed, 'the list of needed libraries is empty')
        self.assertFalse([name for name in needed if 'cuda' in name.lower() or 'stdc++' in name], needed)

    def test_linkers_keep_the_mark(self):
        """cushim-audit recognizes the drop-in by the mark, which no code refers to."""
        for program in (PROGRAM, SMALL):
            self.assertIn(marks.DROPIN, marks.of(program))

    def test_program_reports_that_cuda_is_missing(self):
        for variables in ({'CUSHIM_DISABLE': '1'}, {'CUSHIM_DRIVER': '/nonexistent/libcuda.so.1'}):
            with self.subTest(**variables):
                self.assertEqual(run(PROGRAM, **variables),
                                 (answers.ABSENT_STATUS, answers.ABSENT, ''))

    def test_last_error_is_kept_per_thread(self):
        self.assertEqual(run(LAST_ERROR, CUSHIM_DISABLE='1'), (0, '', ''))

    def test_program_runs_on_the_simulator(self):
        if not arguments.text('driver'):
            self.skipTest('the simulator was not built')
        self.assertEqual(run(PROGRAM, CUSHIM_DRIVER=arguments.text('driver'),
                             CUSHIM_RUNTIME=arguments.text('runtime')), (0, answers.PRESENT, ''))


if __name__ == '__main__':
    unittest.main(verbosity=2)
