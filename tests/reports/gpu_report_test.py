#!/usr/bin/env python3
"""What is told of a run on a GPU, and that no simulated one is."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from ci_scripts import FOLDER, gpu_report, record

GPU = {"name": "NVIDIA H200", "compute_capability": "9.0", "total_memory": 1 << 37}
PASSED = """Filters: [x]
Randomness seeded to: 1
NCCL 2.28.3
library: /opt/some/where/libnccl.so.2
figure: launch, wrapper = 3128.5 ns
figure: ratio, to the raw call = 1.01
All tests passed (1234 assertions in 12 test cases)
"""
FAILED = """/home/somebody/tests/one_test.cpp:17: FAILED:
  CHECK( 1 == 2 )
test cases: 1 | 1 failed
"""


def info(usable=True, devices=(GPU,)):
    return {"cushim": "1.0", "usable": usable, "why_not_usable": "no driver", "devices": devices,
            "headers": {"cuda": "13.0"}, "driver": {"cuda_version": "13.0"}}


def report(*records):
    tests = [gpu_report.entry_of(one, {}) for one in records]
    return {"machine": gpu_report.describe(info()), "problems": gpu_report.problems_of(tests),
            "totals": gpu_report.totals_of(tests), "tests": tests}


class EntryTest(unittest.TestCase):
    def test_figures_and_notes(self):
        entry = gpu_report.entry_of(record(PASSED), {})
        self.assertEqual((entry["suite"], entry["name"], entry["result"]),
                         ("gpu", "gpu-one", "passed"))
        self.assertEqual(entry["figures"], [
            {"name": "launch, wrapper", "value": 3128.5, "unit": "ns"},
            {"name": "ratio, to the raw call", "value": 1.01, "unit": ""}])
        self.assertEqual(entry["notes"], ["NCCL 2.28.3", "library: libnccl.so.2"])

    def test_folders_are_left_out_and_nothing_else(self):
        for line, expected in (
            ("run: /usr/bin/mpirun -n 2 /build/gpu/rank", "run: mpirun -n 2 rank"),
            ("50 us/frame, 3 / 4, and/or", "50 us/frame, 3 / 4, and/or"),
            ("see https://a.example/b/c", "see https://a.example/b/c"),
            ("file '/a/b/c.txt' is /tmp/x", "file 'c.txt' is x"),
        ):
            self.assertEqual(gpu_report.without_folders(line), expected)

    def test_a_failure_says_why(self):
        entry = gpu_report.entry_of(record(FAILED, result="FAIL"), {})
        self.assertEqual((entry["result"], entry["failed"]), ("failed", 1))
        self.assertEqual(entry["said_last"][:2], ["one_test.cpp:17: FAILED:", "  CHECK( 1 == 2 )"])


class TextsTest(unittest.TestCase):
    def setUp(self):
        self.report = report(record(PASSED), record(FAILED, result="FAIL", name="cushim:gpu / two"),
                             record("SKIPPED: no | NCCL\n", result="SKIP", name="cushim:gpu / three"))

    def test_summary(self):
        text = gpu_report.summary(self.report)
        for wanted in ("1 x NVIDIA H200", "launch, wrapper: 3,128 ns", "skipped: no | NCCL",
                       "FAILED: two. It said last:\n    one_test.cpp:17: FAILED:",
                       "12 passed, 1 failed, 1 skipped; 1,234 assertions"):
            self.assertIn(wanted, text)

    def test_markdown(self):
        text = gpu_report.markdown(self.report)
        for wanted in ("| GPUs | 1 x NVIDIA H200 |", "| launch, wrapper | 3,128 ns | gpu-one |",
                       "| three | no \\| NCCL |", "## What failed\n\ntwo:\n\n```\none_test.cpp:17",
                       "## What tests printed\n\ngpu-one:\n\n```\nNCCL 2.28.3\n"):
            self.assertIn(wanted, text)

    def test_problems(self):
        for text in (gpu_report.summary(self.report), gpu_report.markdown(self.report)):
            self.assertRegex(text, r"gpu/gpu: 12 tests passed, at least \d+ are expected")
            self.assertIn("gpu/gpu: 1 tests failed", text)
        self.assertEqual(report()["problems"][-1], "gpu: no test ran")
        enough = {"suite": "gpu", "passed": 100000, "failed": 0, "skipped": 1}
        self.assertEqual(gpu_report.problems_of([enough]), [])

    def test_nothing_failed(self):
        self.assertNotIn("What failed", gpu_report.markdown(report(record(PASSED))))


@unittest.skipIf(os.name == "nt", "the program that answers is a script")
class MachineTest(unittest.TestCase):
    def look(self, answer, **env):
        with tempfile.TemporaryDirectory() as folder:
            tool = pathlib.Path(folder) / "info"
            tool.write_text(f"#!{sys.executable}\nprint({json.dumps(json.dumps(answer))})\n")
            tool.chmod(0o755)
            return subprocess.run([sys.executable, FOLDER / "gpu_report.py", folder, "--info", tool,
                                   "--only-look"], env=os.environ | env, capture_output=True, text=True)

    def test_a_gpu(self):
        self.assertEqual(self.look(info()).returncode, 0)

    def test_none(self):
        done = self.look(info(usable=False, devices=[]))
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no GPU to test on: no driver", done.stderr)

    def test_a_simulated_one_is_none(self):
        done = self.look(info(devices=[GPU | {"name": "cushim simulated GPU"}]), CUSHIM_DRIVER="/x")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cushim's simulator, which CUSHIM_DRIVER names", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
