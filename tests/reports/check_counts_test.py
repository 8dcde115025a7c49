#!/usr/bin/env python3
"""How the output of a test run is counted."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from ci_scripts import check_counts, record  # noqa: E402

CATCH2_ALL = "All tests passed (1234 assertions in 12 test cases)\n"
CATCH2_SOME = "test cases: 12 | 9 passed | 1 failed | 2 skipped\nassertions: 50 | 49 passed | 1 failed\n"


def counts(*given, **more):
    return check_counts.counts_of(record(*given, **more))


class CountsTest(unittest.TestCase):
    def test_catch2_summary_is_counted(self):
        self.assertEqual(counts(CATCH2_ALL), (12, 0, 0))
        self.assertEqual(counts(CATCH2_SOME, result="FAIL"), (9, 1, 2))

    def test_unittest_summary_is_counted(self):
        text = "Ran 7 tests in 0.1s\n\nOK (skipped=2)\n"
        self.assertEqual(counts("", errors=text), (5, 0, 2))

    def test_summary_line_of_a_script_is_counted(self):
        self.assertEqual(counts("3 passed, 0 failed, 1 skipped\n"), (3, 0, 1))

    def test_program_without_a_summary_counts_as_one_test(self):
        self.assertEqual(counts("hello\n"), (1, 0, 0))
        self.assertEqual(counts("hello\n", result="SKIP"), (0, 0, 1))

    def test_program_that_fails_after_its_summary_has_failed(self):
        for result in ("FAIL", "ERROR", "TIMEOUT"):
            self.assertEqual(counts(CATCH2_ALL, result=result).failed, 1, result)

    def test_reasons_of_skips_are_found(self):
        text = ("x.cpp:3: SKIPPED:\nexplicitly with message:\n  there is one device\n\n"
                "test_a (T.test_a) ... skipped 'no compiler'\nSKIPPED: no launcher\n")
        self.assertEqual(check_counts.skip_reasons(record(text)),
                         ["there is one device", "no compiler", "no launcher"])
        self.assertEqual(check_counts.skip_reasons(record("")), ["no reason given"])


class ProblemsTest(unittest.TestCase):
    def problems(self, suites, expected):
        return list(check_counts.problems_of("gcc", suites, expected))

    def test_enough_tests_are_no_problem(self):
        self.assertEqual(self.problems({"sim": check_counts.Counts(5)}, {"sim": 5}), [])

    def test_missing_and_unexpected_tests_are_problems(self):
        self.assertEqual(len(self.problems({"sim": check_counts.Counts(4)}, {"sim": 5})), 1)
        self.assertEqual(len(self.problems({"sim": check_counts.Counts(5)}, {})), 1)
        self.assertEqual(len(self.problems({}, {"sim": 5})), 2)

    def test_failures_are_problems(self):
        self.assertEqual(len(self.problems({"sim": check_counts.Counts(5, 1)}, {"sim": 5})), 1)


class SuiteTest(unittest.TestCase):
    def test_suite_is_found_in_every_notation_of_meson(self):
        for name in ("cushim:sim / one", "cushim:sim+more / one", "sim+more - cushim:one"):
            self.assertEqual(check_counts.suite_of({"name": name}, {}), ("sim", "one"), name)
        self.assertEqual(check_counts.suite_of({"name": "cushim:one"}, {"one": "sim"}),
                         ("sim", "one"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
