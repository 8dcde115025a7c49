#!/usr/bin/env python3
"""What the soak says where it cannot do all that it is to do. On the simulator: CUSHIM_DRIVER names it."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "reports"))

from ci_scripts import check_counts, record  # noqa: E402

PARTNER = "what another process makes"
OLD_HEADERS = re.compile("headers|before CUDA 12")
NO_DESCRIPTORS = "attribute.103=0"  # CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED


class Run:
    def __init__(self, *arguments, settings=""):
        done = subprocess.run([soak, "--seconds", "0.5", *arguments], capture_output=True, text=True,
                              env={**os.environ, "CUSHIM_SIM": settings}, timeout=100, check=False)
        self.status, self.said = done.returncode, done.stdout + done.stderr
        told = record(done.stdout, "FAIL" if done.returncode else "OK", errors=done.stderr)
        self.counts = check_counts.counts_of(told)
        self.skips = check_counts.skip_reasons(told) if self.counts.skipped else []


class SoakTest(unittest.TestCase):
    def test_the_simulator_can_do_all_that_the_headers_know(self):
        run = Run()
        self.assertEqual((run.status, run.counts.passed), (0, 1), run.said)
        self.assertEqual([skip for skip in run.skips if not OLD_HEADERS.search(skip)], [], run.said)

    def test_what_the_device_cannot_is_a_skip_with_its_reason(self):
        run = Run(settings=NO_DESCRIPTORS)
        self.assertEqual((run.status, run.counts.passed), (0, 1), run.said)
        self.assertEqual(run.counts.skipped, len(run.skips), run.said)
        partner = [skip for skip in run.skips if skip.startswith(PARTNER + ": ")]
        self.assertEqual(len(partner), 1, run.said)
        self.assertIn("export of memory as file descriptors", partner[0])

    def test_what_fails_in_the_other_process_is_a_failure_with_its_reason(self):
        run = Run("--use", PARTNER, settings="fault=cuMemPoolCreate:1:999")
        self.assertEqual((run.status, run.counts.failed), (1, 1), run.said)
        self.assertRegex(run.said, "FAILED: .*the other process: cuMemPoolCreate")

    def test_a_name_that_no_use_has_is_refused_with_all_names(self):
        names = Run("--use", "list").said.splitlines()
        self.assertIn(PARTNER, names)
        run = Run("--use", "captuers")
        self.assertEqual((run.status, run.counts.failed), (2, 1), run.said)
        self.assertEqual([name for name in names if name not in run.said.splitlines()], [])

    def test_where_all_is_skipped_nothing_was_shown(self):
        run = Run("--use", PARTNER, settings=NO_DESCRIPTORS)
        self.assertEqual((run.status, run.counts), (1, (0, 1, 1)), run.said)


if __name__ == "__main__":
    soak = sys.argv.pop()
    unittest.main(verbosity=2)
