#!/usr/bin/env python3
"""Reports the results of the tests on a GPU, as Markdown for tests/gpu/RESULTS.md, or as JSON.

Reads Meson's log in a build folder, and the machine's properties from cushim-info. Fails without a GPU or
with a simulated one. Tests print each figure in a line: "figure: NAME = VALUE UNIT"
(tests/gpu/figure.hpp), and the cost of a wrapper in the form of print() in tests/gpu/cost.hpp.

The Markdown contains the machine, the verdict, the figures and the skips of one run, and no test output.
A figure that is printed twice is a problem, and so is a bandwidth on a machine with one GPU.
"""

import argparse
import collections
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

import check_counts

FIGURE = re.compile(r"^figure: (?P<name>.+) = (?P<value>[-+0-9.eE]+) ?(?P<unit>.*)$")
PEERS = re.compile(r"^peers: (.+)$", re.MULTILINE)  # tests/gpu/peers_test.cpp
COST = re.compile(
    r"^(?P<name>.+?) +raw +(?P<raw>[0-9.]+) ns +wrapper +(?P<added>[-+0-9.]+) ns, .*"
    r"\(half of the pairs: (?P<low>[-+0-9.]+) to (?P<high>[-+0-9.]+) ns\)$")


def output_of(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def line_of(path, pattern):
    """The first group of a pattern in a file; None if the file or the line is missing."""
    try:
        found = re.search(pattern, pathlib.Path(path).read_text(), re.MULTILINE)
    except OSError:
        return None
    return found and found.group(1)


def driver_release():
    """NVIDIA's release number: 580.159.04. It is more precise than CUDA's version."""
    lines = output_of(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]).splitlines()
    return lines[0].strip() if lines else line_of("/proc/driver/nvidia/version", r"(\d+\.\d+(?:\.\d+)?)") or "unknown"


def why_no_gpu(info):
    """None if a GPU is usable."""
    if not info["usable"]:
        return f"no GPU is usable: {info['why_not_usable']}"
    if any(device["name"].startswith("cushim simulated") for device in info["devices"]):
        return ("no GPU is usable: the driver is cushim's simulator"
                + (", which CUSHIM_DRIVER names" if os.environ.get("CUSHIM_DRIVER") else ""))
    return None


def describe(info, peers):
    gpus = collections.Counter(device["name"] for device in info["devices"])
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "date": now.strftime("%Y-%m-%d %H:%M UTC"),
        "GPUs": ", ".join(f"{count} x {name}" for name, count in gpus.items()),
        **({"peer access": peers} if len(info["devices"]) > 1 else {}),
        "driver": f"{driver_release()} (CUDA {info['driver']['cuda_version']})",
        "CUDA headers": info["headers"]["cuda"],
        "cushim": info["cushim"],
        "processor": line_of("/proc/cpuinfo", r"^model name\s*:\s*(.*)$") or platform.machine(),
        "system": f"{platform.system()} {platform.release().split('-')[0]}, {' '.join(platform.libc_ver())}",
    }


def figures_of(lines):
    return [{"name": figure["name"], "value": float(figure["value"]), "unit": figure["unit"]}
            for figure in filter(None, map(FIGURE.match, lines))]


def costs_of(lines):
    """The time that wrappers add to raw calls, in nanoseconds. A test measures a cost beyond its limit
    again; the last measurement counts."""
    costs = {}
    for found in filter(None, map(COST.match, lines)):
        name = found["name"]
        costs[name] = {"name": name, "measurements": 1 + costs.get(name, {}).get("measurements", 0)}
        costs[name] |= {key + "_ns": float(found[key]) for key in ("raw", "added", "low", "high")}
    return list(costs.values())


def assertions_of(output):
    """From Catch2's summary; None for other tests."""
    found = re.findall(r"(?:\((\d+) assertions? in|^assertions:\s+(\d+))", output, re.MULTILINE)
    return int(found[-1][0] or found[-1][1]) if found else None


def entry_of(record, known):
    suite, name = check_counts.suite_of(record, known)
    counts = check_counts.counts_of(record)
    lines = record.get("stdout", "").replace("\r", "").splitlines()
    result = "failed" if counts.failed else "passed" if counts.passed else "skipped"
    reasons = collections.Counter(check_counts.skip_reasons(record) if counts.skipped else [])
    return {
        "suite": suite,
        "name": name,
        "result": result,
        "duration_s": round(record["duration"], 2),
        **counts._asdict(),
        "assertions": assertions_of(check_counts.output_of(record)),
        "skip_reasons": [{"reason": reason, "times": times} for reason, times in reasons.items()],
        "peers": next(iter(PEERS.findall("\n".join(lines))), None),
        "figures": figures_of(lines),
        "costs": costs_of(lines),
    }


def read_tests(build):
    known = check_counts.suites_by_test(build)
    entries = [entry_of(record, known) for record in check_counts.read_log(build)]
    return sorted((entry for entry in entries if entry["suite"] == "gpu"), key=lambda entry: entry["name"])


def problems_of(tests, only=""):
    """Why the run failed: the problems that check_counts reports for a stage; with `only`, for any number of tests."""
    suites = {}
    for test in tests:
        counts = check_counts.Counts(test["passed"], test["failed"], test["skipped"])
        suites[test["suite"]] = suites.get(test["suite"], check_counts.Counts()).plus(counts)
    expected = {suite: 1 for suite in suites} if only else check_counts.read_expected("gpu")
    return list(check_counts.problems_of("gpu", suites, expected))


def is_bandwidth(figure):
    """One between GPUs: tests measure no other."""
    return figure["unit"].endswith("B/s")


def figure_problems(devices, tests):
    """Figures that would mislead a reader."""
    figures = [figure for test in tests for figure in test["figures"]]
    names = [figure["name"] for figure in figures + [cost for test in tests for cost in test["costs"]]]
    for name, times in collections.Counter(names).items():
        if times > 1:
            yield f"gpu: the figure '{name}' was printed {times} times"
    for figure in figures:
        if devices == 1 and is_bandwidth(figure):
            yield f"gpu: the figure '{figure['name']}' is a bandwidth, but the machine has one GPU"


def totals_of(tests):
    passed, failed, skipped, assertions = (sum(test[key] or 0 for test in tests)
                                           for key in ("passed", "failed", "skipped", "assertions"))
    return f"{passed} passed, {failed} failed, {skipped} skipped; {assertions:,} assertions"


def number(value):
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def added(nanoseconds):
    """A number with its sign."""
    return ("-" if nanoseconds < 0 else "+") + number(abs(nanoseconds))


def markdown_table(head, rows):
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in (head, *rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return [lines[0], "|" + "---|" * len(head), *lines[1:]]


def section(title, explanation, head, rows):
    """A section; empty without rows."""
    return ["", f"## {title}", "", explanation, "", *markdown_table(head, rows)] if rows else []


def verdict_lines(report):
    found = [f"- failed: `{test['name']}`" for test in report["tests"] if test["result"] == "failed"]
    found += [f"- {problem}" for problem in report["problems"]]
    return ["", "## Verdict", "",
            f"{'Failed' if found else 'Passed'}. Tests: {report['totals']}.",
            *([""] + found if found else [])]


def cost_rows(tests):
    def name_of(cost):
        several = cost["measurements"] > 1
        return cost["name"] + (f", the last of {cost['measurements']} measurements" if several else "")

    return [(name_of(cost), f"{number(cost['raw_ns'])} ns", f"{added(cost['added_ns'])} ns",
             f"{added(cost['low_ns'])} to {added(cost['high_ns'])} ns")
            for test in tests for cost in test["costs"]]


def figure_rows(tests, is_wanted):
    return [(figure["name"], f"{number(figure['value'])} {figure['unit']}".rstrip(), test["name"])
            for test in tests for figure in test["figures"] if is_wanted(figure)]


def skip_rows(tests):
    """One row per reason, with its tests."""
    by_reason = {}
    for test in tests:
        for skip in test["skip_reasons"]:
            times = f" ({skip['times']} times)" if skip["times"] > 1 else ""
            by_reason.setdefault(skip["reason"], []).append(test["name"] + times)
    return [(reason, ", ".join(names)) for reason, names in sorted(by_reason.items())]


def markdown(report):
    tests = report["tests"]
    only = f" --only {report['only']}" if report["only"] else ""
    lines = ["# Results on " + report["machine"]["GPUs"], "",
             f"`tools/dev test-gpu{only} --results FILE` wrote this file from one run.", ""]
    lines += markdown_table(["", ""], report["machine"].items())
    lines += verdict_lines(report)
    lines += section(
        "Cost of wrappers",
        "Raw calls and wrappers run in turns, in pairs; raw calls go through the function table.\n"
        "A row has the median time of the raw calls, the median of the time that the wrapper adds in\n"
        "a pair, and the range of that added time over the middle half of the pairs.",
        ["operation", "raw calls", "wrapper adds", "middle half of the pairs"], cost_rows(tests))
    the_test = "The last column is the test that measured the figure."
    lines += section(f"Between the {report['devices']} GPUs", the_test,
                     ["bandwidth", "value", "test"], figure_rows(tests, is_bandwidth))
    lines += section("Other figures", the_test, ["figure", "value", "test"],
                     figure_rows(tests, lambda figure: not is_bandwidth(figure)))
    lines += section("Skips", "A test gives a reason once for each test case or section that it skips.",
                     ["reason", "tests"], skip_rows(tests))
    return "\n".join(lines) + "\n"


def report_of(info, tests, only=""):
    peers, devices = next((test["peers"] for test in tests if test["peers"]), "unknown"), len(info["devices"])
    return {"machine": describe(info, peers), "devices": devices, "only": only,
            "problems": problems_of(tests, only) + list(figure_problems(devices, tests)),
            "totals": totals_of(tests), "tests": tests}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--info", required=True, help="the program cushim-info")
    parser.add_argument("--only-look", action="store_true", help="check only whether a GPU is usable")
    parser.add_argument("--json", type=pathlib.Path, help="write the report there")
    parser.add_argument("--results", type=pathlib.Path, help="write it there as Markdown")
    parser.add_argument("--only", default="", help="the names that selected the tests, for the report")
    given = parser.parse_args()
    info = json.loads(subprocess.run([given.info, "--json"], capture_output=True, text=True).stdout)
    if why_not := why_no_gpu(info):
        print(f"error: {why_not}", file=sys.stderr)
        return 1
    if given.only_look:
        return 0
    report = report_of(info, read_tests(given.build), given.only)
    print(markdown(report))
    print(report["totals"])
    for problem in report["problems"]:
        print(f"error: {problem}", file=sys.stderr)
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n")
    if given.results:
        given.results.write_text(markdown(report))
    return 1 if report["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
