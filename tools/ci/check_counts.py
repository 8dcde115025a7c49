#!/usr/bin/env python3
"""Counts the single tests of a `meson test` run and fails when fewer passed than expected.

A run exits with 0 even if all tests are skipped. This script reads Meson's log in a build folder, counts
test cases (Catch2), test methods (unittest) or whole programs per suite, lists skipped tests with their
reasons, and compares the numbers of passed tests with tools/ci/expected_counts.txt.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

EXPECTED = pathlib.Path(__file__).with_name("expected_counts.txt")
FAILURE_LINES = 25  # of a failed test's output


class Counts(NamedTuple):
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def plus(self, other):
        return Counts(*(a + b for a, b in zip(self, other)))

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def counts_in(output):
    """From the last summary of Catch2 (one line if everything passed, else a table), of unittest, or of our scripts."""

    def number(pattern, text):
        found = re.search(pattern, text)
        return int(found.group(1)) if found else 0

    def last(pattern):
        return next(reversed(re.findall(pattern, output, re.MULTILINE)), "")

    if catch2 := last(r"^(?:All tests passed \(.*\)|test cases: .*)$"):
        if catch2.startswith("All"):
            return Counts(number(r"in (\d+) test case", catch2))
        passed = number(r"(\d+) passed", catch2) + number(r"(\d+) failed as expected", catch2)
        return Counts(passed, number(r"(\d+) failed(?! as expected)", catch2), number(r"(\d+) skipped", catch2))
    if ran := last(r"^Ran (\d+) tests? in"):
        verdict = last(r"^(?:OK|FAILED|NO TESTS RAN)(?: \(.*\))?$")
        failed = number(r"failures=(\d+)", verdict) + number(r"errors=(\d+)", verdict)
        skipped = number(r"skipped=(\d+)", verdict)
        return Counts(max(int(ran) - failed - skipped, 0), failed, skipped)
    return Counts(*map(int, last(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")))


def output_of(record):
    text = record.get("stdout", "") + "\n" + record.get("stderr", "")
    return text.replace("\r", "")


def counts_of(record):
    counts, result = counts_in(output_of(record)), record["result"]
    if result in ("OK", "EXPECTEDFAIL", "SKIP"):
        return counts if any(counts) else Counts(skipped=1) if result == "SKIP" else Counts(passed=1)
    # A crash, a sanitizer report or a timeout is a failure, whatever the summary says.
    return counts if counts.failed else counts._replace(failed=1)


def skip_reasons(record):
    output = output_of(record)
    reasons = re.findall(r"SKIPPED:\nexplicitly with messages?:\n((?:  .*\n?)+)", output)
    reasons += re.findall(r"skipped ['\"](.*)['\"]$", output, re.MULTILINE)
    reasons += re.findall(r"^SKIP(?:PED)?:[ \t]*(\S.*)$", output, re.MULTILINE)
    return [" ".join(reason.split()) for reason in reasons] or ["no reason given"]


def write_failures(path, stage, failures):
    """Appends the last output of failed tests, for one list at the end of a run of many stages."""
    with path.open("a", encoding="utf-8") as file:
        for suite, test, record in failures:
            print(f"-- {stage}: {suite} / {test}: {record['result']}", file=file)
            for line in output_of(record).strip().splitlines()[-FAILURE_LINES:]:
                print(f"   {line}", file=file)


def read_log(build):
    log = build / "meson-logs" / "testlog.json"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def suites_by_test(build):
    """Meson's log contains the suite only if there are several."""
    known = {}
    for kind in ("--tests", "--benchmarks"):
        text = subprocess.run(
            ["meson", "introspect", kind, str(build)], check=True, capture_output=True, text=True
        ).stdout
        for test in json.loads(text):
            suites = [suite.split(":")[-1] for suite in test["suite"]]
            known[test["name"]] = suites[0] if suites else "-"
    return known


def suite_of(record, known):
    """The first suite of a test, and its name. Meson writes "project:suite+suite / name", and since 1.8
    "suite+suite - project:name"."""
    name = record["name"]
    found = re.fullmatch(r"[^:/ ]+:([^/ ]+) / (.+)", name)
    found = found or re.fullmatch(r"([^:/ ]+) - [^:/ ]+:(.+)", name)
    if found:
        return found.group(1).split("+")[0], found.group(2)
    name = name.split(":", 1)[1] if name.split(":")[0] == "cushim" else name
    return known.get(name, "-"), name


def read_expected(stage):
    expected = {}
    for line in EXPECTED.read_text().splitlines():
        words = line.split("#")[0].split()
        if words and words[0] == stage:
            expected[words[1]] = int(words[2])
    return expected


def write_expected(stage, suites):
    lines = EXPECTED.read_text().splitlines()
    comments = [line for line in lines if line.startswith("#")]
    kept = [line for line in lines if line not in comments and line.split()[:1] not in ([stage], [])]
    kept += [f"{stage} {suite} {counts.passed}" for suite, counts in suites.items()]
    EXPECTED.write_text("\n".join(comments + sorted(kept)) + "\n")


def problems_of(stage, suites, expected):
    for suite, least in sorted(expected.items()):
        passed = suites.get(suite, Counts()).passed
        if passed < least:
            yield f"{stage}/{suite}: {passed} tests passed, at least {least} are expected"
    for suite in sorted(set(suites) - set(expected)):
        yield f"{stage}/{suite}: no line in {EXPECTED.name} says how many tests to expect"
    for suite, counts in sorted(suites.items()):
        if counts.failed:
            yield f"{stage}/{suite}: {counts.failed} tests failed"
    if not suites:
        yield f"{stage}: no test ran"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--stage", required=True, help="the stage whose lines in expected_counts.txt apply")
    parser.add_argument("--totals", type=pathlib.Path, help="write 'passed failed skipped' here")
    parser.add_argument("--failures", type=pathlib.Path, help="append the last output of failed tests here")
    parser.add_argument("--update", action="store_true", help="set the expected counts to those of this run")
    arguments = parser.parse_args()

    records, known = read_log(arguments.build), suites_by_test(arguments.build)
    suites, total, failures = {}, Counts(), []
    for record in records:
        suite, test = suite_of(record, known)
        counts = counts_of(record)
        suites[suite] = suites.get(suite, Counts()).plus(counts)
        total = total.plus(counts)
        if counts.failed:
            failures.append((suite, test, record))
        if counts.skipped:
            for reason in skip_reasons(record):
                print(f"   skipped in {suite} / {test}: {reason}")

    if arguments.update:
        write_expected(arguments.stage, suites)
    expected = read_expected(arguments.stage)
    for suite, counts in sorted(suites.items()):
        print(f"   {suite:<10} {counts} (expected: {expected.get(suite, '?')})")
    if arguments.failures:
        write_failures(arguments.failures, arguments.stage, failures)
    if arguments.totals:
        arguments.totals.write_text(f"{total.passed} {total.failed} {total.skipped}\n")
    problems = list(problems_of(arguments.stage, suites, expected))
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
