#!/usr/bin/env python3
"""The report of a test run on a GPU; a run on the simulator is rejected."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from ci_scripts import FOLDER, gpu_report, record  # noqa: E402

GPU = {"name": "NVIDIA H200", "compute_capability": "9.0", "total_memory": 1 << 37}
PASSED = """Filters: [x]
Randomness seeded to: 1
NCCL 2.28.3
library: /opt/some/where/libnccl.so.2
figure: launch, wrapper = 3128.5 ns
figure: ratio, to the raw call = 1.01
event, create          raw      177.7 ns   wrapper    +39.2 ns, +22.04 %   (half of the pairs: +36.9 to +43.1 ns)
stream, create         raw     1478.6 ns   wrapper    +60.0 ns, +4.06 %   (half of the pairs: -1425.7 to +1538.7 ns)
All tests passed (1234 assertions in 12 test cases)
"""
FAILED = """/home/user/tests/one_test.cpp:17: FAILED:
  CHECK( 1 == 2 )
test cases: 1 | 1 failed
"""


def info(usable=True, devices=(GPU,)):
    return {"cushim": "1.0", "usable": usable, "why_not_usable": "no driver", "devices": devices,
            "headers": {"cuda": "13.0"}, "driver": {"cuda_version": "13.0"}}


def report(*records, gpus=1):
    tests = [gpu_report.entry_of(one, {}) for one in records]
    return gpu_report.report_of(info(devices=(GPU,) * gpus), tests)


def printing(*lines, name="gpu-one"):
    return record("\n".join(lines) + "\n", name=f"cushim:gpu / {name}")


class EntryTest(unittest.TestCase):
    def test_figures_are_read(self):
        entry = gpu_report.entry_of(record(PASSED), {})
        self.assertEqual((entry["suite"], entry["name"], entry["result"]),
                         ("gpu", "gpu-one", "passed"))
        self.assertEqual(entry["figures"], [
            {"name": "launch, wrapper", "value": 3128.5, "unit": "ns"},
            {"name": "ratio, to the raw call", "value": 1.01, "unit": ""}])

    def test_costs_are_read(self):
        entry = gpu_report.entry_of(record(PASSED), {})
        self.assertEqual([cost["name"] for cost in entry["costs"]],
                         ["event, create", "stream, create"])
        self.assertEqual(entry["costs"][0], {
            "name": "event, create", "measurements": 1, "raw_ns": 177.7, "added_ns": 39.2,
            "low_ns": 36.9, "high_ns": 43.1})

    def test_the_last_measurement_of_a_cost_counts(self):
        line = ("launch   raw 2990.3 ns   wrapper {} ns, +0.24 %   "
                "(half of the pairs: -190.6 to +214.6 ns)")
        whole = report(printing(line.format("+900.0"), "an operation exceeds the limit; measuring again:",
                                line.format("+7.0")))
        (cost,) = whole["tests"][0]["costs"]
        self.assertEqual((cost["measurements"], cost["added_ns"]), (2, 7.0))
        self.assertIn("| launch, the last of 2 measurements | 2,990 ns | +7 ns | "
                      "-190.6 to +214.6 ns |", gpu_report.markdown(whole))

    def test_failure_is_counted(self):
        entry = gpu_report.entry_of(record(FAILED, result="FAIL"), {})
        self.assertEqual((entry["result"], entry["failed"]), ("failed", 1))


class TextsTest(unittest.TestCase):
    def setUp(self):
        self.report = report(record(PASSED), record(FAILED, result="FAIL", name="cushim:gpu / two"),
                             record("SKIPPED: no | NCCL\n", result="SKIP", name="cushim:gpu / three"))

    def test_markdown_has_all_tables(self):
        text = gpu_report.markdown(self.report)
        for wanted in ("# Results on 1 x NVIDIA H200\n", "| GPUs | 1 x NVIDIA H200 |",
                       "\nFailed. Tests: 12 passed, 1 failed, 1 skipped; 1,234 assertions.\n",
                       "\n- failed: `two`\n",
                       "| event, create | 177.7 ns | +39.2 ns | +36.9 to +43.1 ns |",
                       "| stream, create | 1,479 ns | +60 ns | -1,426 to +1,539 ns |",
                       "| launch, wrapper | 3,128 ns | gpu-one |", "| no \\| NCCL | three |"):
            self.assertIn(wanted, text)

    def test_markdown_has_no_output_of_tests(self):
        text = gpu_report.markdown(self.report)
        for unwanted in ("```", "Randomness", "libnccl", "CHECK", "one_test.cpp"):
            self.assertNotIn(unwanted, text)

    def test_tests_with_one_reason_share_a_row(self):
        skip = "SKIPPED: needs 2 devices"
        text = gpu_report.markdown(report(
            record(f"{skip}\n{skip}\n", result="SKIP", name="cushim:gpu / a"),
            record(f"{skip}\n", result="SKIP", name="cushim:gpu / b")))
        self.assertEqual(text.count("needs 2 devices"), 1)
        self.assertIn("| needs 2 devices | a (2 times), b |", text)

    def test_problems_are_listed(self):
        text = gpu_report.markdown(self.report)
        self.assertRegex(text, r"gpu/gpu: 12 tests passed, at least \d+ are expected")
        self.assertIn("gpu/gpu: 1 tests failed", text)
        self.assertEqual(report()["problems"][-1], "gpu: no test ran")
        enough = {"suite": "gpu", "passed": 100000, "failed": 0, "skipped": 1}
        self.assertEqual(gpu_report.problems_of([enough]), [])

    def test_a_run_of_selected_tests_says_so_and_may_be_small(self):
        entries = [gpu_report.entry_of(record(PASSED), {})]
        selected = gpu_report.report_of(info(), entries, "gpu-one")
        self.assertEqual(selected["problems"], [])
        self.assertIn("`tools/dev test-gpu --only gpu-one --results FILE` wrote", gpu_report.markdown(selected))
        none = gpu_report.report_of(info(), [], "gpu-one")
        self.assertNotEqual(none["problems"], [])

    def test_a_figure_that_is_printed_twice_is_a_problem(self):
        once, again = "figure: a, b = 1 us", "figure: a, b = 2 us"
        problem = "gpu: the figure 'a, b' was printed 2 times"
        self.assertIn(problem, report(printing(once, again))["problems"])
        self.assertIn(problem, report(printing(once), printing(again, name="gpu-two"))["problems"])
        self.assertNotIn(problem, report(printing(once))["problems"])

    def test_a_bandwidth_of_one_gpu_is_a_problem(self):
        line = "figure: all-reduce = 65456 GB/s"
        problem = "gpu: the figure 'all-reduce' is a bandwidth, but the machine has one GPU"
        self.assertIn(problem, report(printing(line))["problems"])
        self.assertNotIn(problem, report(printing(line), gpus=2)["problems"])

    def test_several_gpus_have_peers_and_figures_of_their_own(self):
        peers, figures = printing("peers: all 12 pairs"), printing(
            "figure: all-reduce = 264 GB/s", "figure: launch = 3 us", name="gpu-two")
        text = gpu_report.markdown(report(peers, figures, gpus=4))
        between, other = text.split("## Between the 4 GPUs")[1].split("## Other figures")
        self.assertIn("| GPUs | 4 x NVIDIA H200 |\n| peer access | all 12 pairs |", text)
        self.assertIn("| all-reduce | 264 GB/s | gpu-two |", between)
        self.assertNotIn("launch", between)
        self.assertIn("| launch | 3 us | gpu-two |", other)
        self.assertIn("| peer access | unknown |", gpu_report.markdown(report(figures, gpus=2)))
        self.assertNotIn("peer access", gpu_report.markdown(report(record(PASSED))))

    def test_markdown_of_a_passed_run_lists_no_failures(self):
        whole = report(record(PASSED))
        whole["problems"] = []
        text = gpu_report.markdown(whole)
        self.assertIn("\nPassed. Tests: 12 passed, 0 failed, 0 skipped; 1,234 assertions.\n", text)
        self.assertNotIn("- failed", text)
        self.assertNotIn("## Skips", text)


class RecordedResultsTest(unittest.TestCase):
    """The recorded files in tests/gpu are short and consistent."""

    def test_recorded_results_are_short(self):
        for file in (FOLDER.parents[1] / "tests/gpu").glob("RESULTS*.md"):
            with self.subTest(file.name):
                text = file.read_text()
                self.assertLess(len(text.splitlines()), 170)
                self.assertNotIn("```", text)
                first = [line.split(" | ")[0] for line in text.splitlines() if " | " in line]
                self.assertEqual(sorted(set(first)), sorted(first))
                self.assertFalse("# Results on 1 x" in text and "B/s |" in text)


@unittest.skipIf(os.name == "nt", "the replacement of cushim-info is a script")
class MachineTest(unittest.TestCase):
    def look(self, answer, **env):
        with tempfile.TemporaryDirectory() as folder:
            tool = pathlib.Path(folder) / "info"
            tool.write_text(f"#!{sys.executable}\nprint({json.dumps(json.dumps(answer))})\n")
            tool.chmod(0o755)
            return subprocess.run([sys.executable, FOLDER / "gpu_report.py", folder, "--info", tool,
                                   "--only-look"], env=os.environ | env, capture_output=True, text=True)

    def test_gpu_is_accepted(self):
        self.assertEqual(self.look(info()).returncode, 0)

    def test_missing_gpu_is_rejected(self):
        done = self.look(info(usable=False, devices=[]))
        self.assertEqual(done.returncode, 1)
        self.assertIn("no GPU is usable: no driver", done.stderr)

    def test_simulated_gpu_is_rejected(self):
        done = self.look(info(devices=[GPU | {"name": "cushim simulated GPU"}]), CUSHIM_DRIVER="/x")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cushim's simulator, which CUSHIM_DRIVER names", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
