"""How the simulator is compared with recordings: every difference is reported unless it is listed correctly."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

COMPARE = pathlib.Path(__file__).parents[2] / "tools/simulator/conformance/compare.py"
QUESTIONS = [f"cuCall{number}" for number in range(12)]
ENDED = "-- the section ended with status 11"


def section(name, **changed):
    lines = [f"{question} {changed.get(question, 0)}" for question in QUESTIONS]
    return "\n".join([f"== {name}", *lines, ""])


class CompareTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(text, encoding="utf-8")
        return path

    def compare(self, recorded, simulated, listed="", more=()):
        """Exit status and output; a script replaces cushim-conformance."""
        answers = self.write("answers.txt", simulated)
        program = self.write("program.py", f"print(open({str(answers)!r}).read())\n")
        done = subprocess.run(
            [sys.executable, COMPARE, self.write("differences.txt", listed),
             self.write("recording.txt", recorded), *more, "--", sys.executable, program],
            capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def assert_refused(self, said, *given, **more):
        status, text = self.compare(*given, **more)
        self.assertNotEqual(status, 0, text)
        self.assertIn(said, text)

    def test_equal_results_pass(self):
        self.assertEqual(self.compare(section("memory"), section("memory"))[0], 0)

    def test_different_result_is_reported(self):
        self.assert_refused("memory | cuCall3 | 0 | 1", section("memory"), section("memory", cuCall3=1))

    def test_listed_difference_passes(self):
        listed = "memory | cuCall3 | 0 | 1 | a reason\n"
        self.assertEqual(self.compare(section("memory"), section("memory", cuCall3=1), listed)[0], 0)
        self.assert_refused("memory | cuCall3 | 0 | 2", section("memory"), section("memory", cuCall3=2),
                            listed)
        self.assert_refused("listed, but no difference: memory | cuCall3", section("memory"),
                            section("memory"), listed)

    def test_anything_may_stand_for_the_end_of_the_process(self):
        recorded = section("calls") + "  cuLast = own 0>x11 900!, other x14 0\n"
        for simulated in ("own 0 900!, other 1 0", "own 400>700 900!, other x6 0"):
            self.assertEqual(self.compare(recorded, section("calls") + f"  cuLast = {simulated}\n")[0], 0)
        for simulated in ("own 0 900, other 1 0", "own 0 900!, other 1", "own 0 900!, other 1 0 0"):
            self.assert_refused("calls | cuLast", recorded, section("calls") + f"  cuLast = {simulated}\n")

    def test_listed_difference_needs_a_reason(self):
        self.assert_refused("no reason", section("memory"), section("memory", cuCall3=1),
                            "memory | cuCall3 | 0 | 1 | \n")

    def test_difference_listed_twice_is_rejected(self):
        self.assert_refused("listed twice: memory | cuCall3", section("memory"),
                            section("memory", cuCall3=1), "memory | cuCall3 | 0 | 1 | a reason\n" * 2)

    def test_listed_difference_in_an_unknown_section_is_rejected(self):
        self.assert_refused("listed, but no such section: memmory | cuCall3", section("memory"),
                            section("memory"), "memmory | cuCall3 | 0 | 1 | a reason\n")

    def test_missing_and_additional_results_are_reported(self):
        shorter = section("memory").replace("cuCall11 0\n", "")
        self.assert_refused("memory | cuCall11 | 0 | (no result)", section("memory"), shorter)
        self.assert_refused("memory | cuCall11 | (not asked) | 0", shorter, section("memory"))

    def test_statuses_of_calls_are_compared(self):
        free, refused = "-- calls cuMemFree_v2 0\n", "-- calls cuMemFree_v2 0 900\n"
        self.assert_refused("memory | -- calls cuMemFree_v2 | 0 | 0 900", section("memory") + free,
                            section("memory") + refused)
        self.assert_refused("memory | -- calls cuMemFree_v2 | 0 | (no result)", section("memory") + free,
                            section("memory") + "-- calls cuInit 0\n")
        self.assertEqual(self.compare(section("memory") + free, section("memory") + free)[0], 0)
        # An older recording has no lines about calls.
        self.assertEqual(self.compare(section("memory"), section("memory") + free)[0], 0)

    def test_missing_section_is_reported(self):
        self.assert_refused("streams | cuCall0 | 0 | (no result)", section("memory") + section("streams"),
                            section("memory"))

    def test_section_that_ends_early_is_reported(self):
        self.assert_refused("-- the section ended with status", section("memory"),
                            section("memory") + ENDED)
        self.assert_refused("did not complete: streams", section("memory"),
                            section("memory") + section("streams") + ENDED)


if __name__ == "__main__":
    unittest.main()
