#!/usr/bin/env python3
"""The stages of CI: the workflow runs each of them, and its tools are pinned."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))

STAGES = """
. tools/ci/common.sh
STAGES="good x
bad x
skipped x"
WITHOUT_CUDA=" "
case ${1:-} in
good) echo 5 0 1 >build/ci/good.totals ;;
bad) echo the reason; exit 3 ;;
skipped) exit 77 ;;
esac
"""


def shell(script):
    """Runs a shell script with the functions of tools/ci/common.sh."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(["bash", "-c", f". tools/ci/common.sh; {script}"], cwd=ROOT, capture_output=True,
                              text=True, check=False, stdin=subprocess.DEVNULL, timeout=60,
                              env={"PATH": "/usr/bin:/bin", "FOLDER": folder})


class Stages(unittest.TestCase):
    def test_the_workflow_runs_every_stage(self):
        workflow = (ROOT / ".github/workflows/ci.yml").read_text()
        self.assertIn("stage: ${{ fromJSON(needs.list.outputs.stages) }}", workflow)
        (command,) = re.findall(r"run: (tools/dev ci --list .*)", workflow)
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "output"
            subprocess.run(["bash", "-c", command], cwd=ROOT, check=True, env=os.environ | {"GITHUB_OUTPUT": str(output)})
            stages = json.loads(output.read_text().removeprefix("stages="))
        self.assertEqual(stages[0], "test")
        functions = (ROOT / "tools/ci/stages.sh").read_text()
        for stage in stages:
            self.assertIn(f"{stage.removeprefix('matrix-')})" if "matrix-" in stage else f"stage_{stage}() {{", functions)

    def test_results_of_stages_are_added_up(self):
        """Two stages at once, with others in their places."""
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            (tree / "tools").mkdir()
            shutil.copytree(ROOT / "tools/ci", tree / "tools/ci")
            for name, text in (("packages", "ensure_build_tools() { :; }; ensure_catch2() { :; }; try_commands() { :; }"),
                               ("headers", "ensure_cuda_headers() { :; }")):
                (tree / f"tools/ci/{name}.sh").write_text(text)
            (tree / "tools/ci/stages.sh").write_text(STAGES)

            def run(*options):
                done = subprocess.run(["bash", "tools/ci/run_stages.sh", "ci", *options], cwd=tree, check=False,
                                      capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
                return done.returncode, done.stdout + done.stderr

            status, output = run("--only", "good,bad,skipped")
            self.assertEqual(status, 1, output)
            self.assertRegex(output, r"(?m)^good +ok +\d+ s   5 passed, 0 failed, 1 skipped$")
            self.assertRegex(output, r"(?m)^bad +FAILED +\d+ s   no tests$")
            self.assertRegex(output, r"(?m)^skipped +SKIPPED +\d+ s   no tests$")
            self.assertRegex(output, r"stage bad failed outside a test; the end of its output\n(.*\n)*the reason\n")
            self.assertTrue(output.endswith("\n5 passed, 1 failed, 1 skipped\n"), output)

            (tree / "tools/ci/stages.sh").write_text(STAGES.replace("echo 5 0 1", "echo 7 0 0"))
            status, output = run("--only", "good,skipped", "--done", "good")
            self.assertEqual(status, 0, output)
            self.assertNotIn("stage good", output)
            self.assertTrue(output.endswith("\n5 passed, 0 failed, 1 skipped\n"), output)
            for options, error in ((("--done", "bad"), "stage bad has not passed in this tree"),
                                   (("--only", "none"), "unknown stage 'none'")):
                status, output = run(*options)
                self.assertEqual(status, 1, output)
                self.assertIn(f"error: {error}", output)

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
            self.assertRegex(line, r"^[a-z0-9-]+==[0-9.]+( --hash=sha256:[0-9a-f]{64})+$")
        listed = {line.split()[0] for line in lines}
        scripts = "".join(path.read_text() for path in (ROOT / "tools/ci").glob("*.sh"))
        named = set(re.findall(r"\b((?:nvidia-cuda-[a-z0-9-]+|meson|clang-(?:format|tidy))==[0-9.]+)(?![0-9.*$])", scripts))
        self.assertEqual(named, listed)


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Commits(unittest.TestCase):
    def check(self, *subjects, upstream=1):
        """The first `upstream` subjects are those of commits that the upstream branch has, too."""
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder).resolve()
            (tree / "tools/ci").mkdir(parents=True)
            shutil.copy(ROOT / "tools/ci/check_commits.sh", tree / "tools/ci")
            environment = os.environ | {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER")
                                        for what in ("NAME", "EMAIL")}

            def git(*arguments):
                subprocess.run(["git", *arguments], cwd=tree, check=True, env=environment)

            if subjects:
                git("init", "-q", "-b", "work")
            for number, subject in enumerate(subjects, 1):
                git("commit", "-q", "--allow-empty", "-m", subject)
                if number == upstream:
                    git("branch", "-q", "main")
                    git("branch", "-q", "--set-upstream-to", "main")
            return subprocess.run(["bash", "tools/ci/check_commits.sh"], cwd=tree, capture_output=True, text=True,
                                  check=False)

    def test_subjects_that_follow_the_rule_pass(self):
        done = self.check("Begin", "api: " + "a" * 67, "tests, tools: b")
        self.assertEqual((done.returncode, done.stdout), (0, "   subjects of 2 commits follow the rule\n"), done.stderr)

    def test_subjects_that_break_the_rule_are_listed(self):
        for subject in ("api: " + "a" * 68, "graph: a", "Merge it"):
            done = self.check("api: a", subject)
            self.assertEqual(done.returncode, 1, subject)
            self.assertRegex(done.stderr, f"(?m)^[0-9a-f]+ {subject}$")

    def test_what_has_no_upstream_or_is_there_already_passes(self):
        for done in (self.check(), self.check("a" * 100, upstream=0), self.check("a" * 100)):
            self.assertEqual(done.returncode, 0, done.stderr)


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
