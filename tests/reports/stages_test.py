#!/usr/bin/env python3
"""The stages of CI: the workflow runs each of them, and its tools are pinned."""

import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def shell(script):
    """Runs a shell script with the functions of tools/ci/common.sh."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(["bash", "-c", f". tools/ci/common.sh; {script}"], cwd=ROOT, capture_output=True,
                              text=True, check=False, stdin=subprocess.DEVNULL, timeout=60,
                              env={"PATH": "/usr/bin:/bin", "FOLDER": folder})


class Stages(unittest.TestCase):
    def test_the_workflow_runs_every_stage(self):
        listed = subprocess.run(["bash", "tools/dev", "ci", "--list"], cwd=ROOT, capture_output=True, text=True,
                                check=True).stdout
        stages = [line.split()[0] for line in listed.splitlines()]
        jobs = re.search(r"stage: \[(.*)\]", (ROOT / ".github/workflows/ci.yml").read_text()).group(1)
        self.assertEqual(jobs.split(", "), stages)

    def test_actions_are_pinned_by_commit(self):
        self.assertTrue(WORKFLOWS)
        for path in WORKFLOWS:
            for action in re.findall(r"uses: *(\S+)", path.read_text()):
                with self.subTest(path.name, action=action):
                    self.assertRegex(action, r"@[0-9a-f]{40}$")

    def test_wheels_are_pinned_by_hash(self):
        lines = [line for line in (ROOT / "tools/ci/wheels.txt").read_text().splitlines() if line[:1] != "#"]
        self.assertTrue(lines)
        for line in lines:
            self.assertRegex(line, r"^[a-z0-9-]+==[0-9.]+( [0-9a-f]{64})+$")
        listed = {line.split()[0] for line in lines}
        scripts = "".join(path.read_text() for path in (ROOT / "tools/ci").glob("*.sh"))
        named = set(re.findall(r"\b((?:nvidia-cuda-[a-z0-9-]+|meson|clang-(?:format|tidy))==[0-9.]+)(?![0-9.*$])", scripts))
        self.assertEqual(named, listed)


class Logged(unittest.TestCase):
    def test_output_begins_with_the_failed_step(self):
        done = shell('LOG=$FOLDER/log; run_logged "$LOG" "build" bash -c '
                     '"echo [1/2] fine; echo FAILED: x; echo why; exit 1"')
        self.assertEqual(done.returncode, 1)
        self.assertIn("build: failed after", done.stdout)
        self.assertIn("FAILED: x\nwhy\n", done.stdout)
        self.assertNotIn("fine", done.stdout)

    def test_successful_command_prints_one_line(self):
        done = shell('LOG=$FOLDER/log; run_logged "$LOG" "build" bash -c "echo [1/2] fine"')
        self.assertRegex(done.stdout, r"^   build: \d+ s\n$")


if __name__ == "__main__":
    unittest.main(verbosity=2)
