#!/usr/bin/env python3
"""The reports of the soak if some uses are unavailable, on the simulator, which CUSHIM_DRIVER names."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

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
    def test_the_simulator_supports_all_uses_of_the_headers(self):
        run = Run()
        self.assertEqual((run.status, run.counts.passed), (0, 1), run.said)
        self.assertEqual([skip for skip in run.skips if not OLD_HEADERS.search(skip)], [], run.said)

    def test_an_unsupported_use_is_skipped_with_its_reason(self):
        run = Run(settings=NO_DESCRIPTORS)
        self.assertEqual((run.status, run.counts.passed), (0, 1), run.said)
        self.assertEqual(run.counts.skipped, len(run.skips), run.said)
        partner = [skip for skip in run.skips if skip.startswith(PARTNER + ": ")]
        self.assertEqual(len(partner), 1, run.said)
        self.assertIn("cannot export memory as file descriptors", partner[0])

    def test_a_failure_in_the_other_process_is_reported_with_its_reason(self):
        run = Run("--use", PARTNER, settings="fault=cuMemPoolCreate:1:999")
        self.assertEqual((run.status, run.counts.failed), (1, 1), run.said)
        self.assertRegex(run.said, r"FAILED: the other process: MemoryPool::create: unknown error \(cuMemPoolCreate: ")

    def test_an_unknown_name_is_rejected_with_all_names(self):
        names = Run("--use", "list").said.splitlines()
        self.assertIn(PARTNER, names)
        run = Run("--use", "captuers")
        self.assertEqual((run.status, run.counts.failed), (2, 1), run.said)
        self.assertEqual([name for name in names if name not in run.said.splitlines()], [])

    def test_a_run_that_skips_all_uses_fails(self):
        run = Run("--use", PARTNER, settings=NO_DESCRIPTORS)
        self.assertEqual((run.status, run.counts), (1, (0, 1, 1)), run.said)


if __name__ == "__main__":
    soak = sys.argv.pop()
    unittest.main(verbosity=2)
