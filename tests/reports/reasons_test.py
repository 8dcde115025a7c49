"""How the reasons in the simulator's error log are compared with those of a recording."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

REASONS = pathlib.Path(__file__).parents[2] / "tools/simulator/conformance/reasons.py"
RECORDING = """\
# a device
cuMemAlloc_v2 1 = (none)
cuMemAlloc_v2 1 = NULL return value pointer
cuMemAlloc_v2 1 = An earlier call; Requested 0 byte allocation
cuMemFree_v2 1 = (none)
"""


class ReasonsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(text, encoding="utf-8")
        return path

    def run_reasons(self, *arguments):
        done = subprocess.run([sys.executable, REASONS, *arguments], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def compare(self, *lines):
        """The status and the output; a script replaces cushim-conformance."""
        results = self.write("results.txt", "".join(f"-- reason {line}\n" for line in lines))
        program = self.write("program.py", f"print(open({str(results)!r}).read())\n")
        return self.run_reasons(self.write("recording.txt", RECORDING), "--", sys.executable, program)

    def test_recorded_reasons(self):
        status, text = self.compare("cuMemAlloc_v2 1 = NULL return value pointer", "cuMemFree_v2 1 = (none)",
                                    "cuMemAlloc_v2_ptsz 1 = Requested 0 byte allocation")
        self.assertEqual(status, 0, text)
        self.assertIn("2 pairs of entry point and status, 1 with a reason in the recording, "
                      "1 of them simulated, 0 different", text)

    def test_another_reason(self):
        for wrong in ["Requested 1 byte allocation", "byte allocation",
                      "NULL return value pointer; Requested 0 byte allocation"]:
            status, text = self.compare(f"cuMemAlloc_v2 1 = {wrong}")
            self.assertNotEqual(status, 0, text)
            self.assertIn(wrong, text)

    def test_a_reason_where_the_driver_gives_none(self):
        status, text = self.compare("cuMemAlloc_v2 1 = NULL return value pointer",
                                    "cuMemFree_v2 1 = a reason")
        self.assertNotEqual(status, 0, text)
        self.assertIn("cuMemFree_v2 1 = a reason", text)

    def test_no_reasons_at_all(self):
        self.assertNotEqual(self.compare("cuMemAlloc_v2 1 = (none)")[0], 0)

    def test_lines_for_a_recording(self):
        results = self.write("results.txt", "== memory\ncuMemFree 1\n-- reason cuMemFree_v2 201 = b\n"
                                            "-- reason cuMemFree_v2_ptsz 1 = a\n== more\n"
                                            "-- reason cuMemFree_v2 1 = a\n")
        self.assertEqual(self.run_reasons("--record", results),
                         (0, "cuMemFree_v2 1 = a\ncuMemFree_v2 201 = b\n"))


if __name__ == "__main__":
    unittest.main()
