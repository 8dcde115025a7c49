#!/usr/bin/env python3
"""Reports the results of the tests on a GPU: a summary, JSON, and Markdown for tests/gpu/RESULTS.md.

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

LAST_LINES = 40  # of a failed test's output
# Folders do not matter on other machines: /a/b/c.so becomes c.so.
FOLDERS = re.compile(r"(?<![\w./:-])/(?:[^\s/'\"(),:;]+/)+(?=[^\s/'\"(),:;])")
FIGURE = re.compile(r"^figure: (?P<name>.+) = (?P<value>[-+0-9.eE]+) ?(?P<unit>.*)$")
PEERS = re.compile(r"^peers: (.+)$", re.MULTILINE)  # tests/gpu/peers_test.cpp
COST = re.compile(
    r"^(?P<name>.+?) +raw +(?P<raw>[0-9.]+) ns +wrapper +(?P<added>[-+0-9.]+) ns, .*"
    r"\(half of the pairs: (?P<low>[-+0-9.]+) to (?P<high>[-+0-9.]+) ns\)$")


# --- the machine


def output_of(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def driver_release():
    """NVIDIA's release number: 580.159.04. It is more precise than CUDA's version."""
    lines = output_of(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]).splitlines()
    if lines:
        return lines[0].strip()
    try:
        text = pathlib.Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return "unknown"
    found = re.search(r"(\d+\.\d+(?:\.\d+)?)", text)
    return found.group(1) if found else "unknown"


def processor():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine()
    found = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return found.group(1) if found else platform.machine()


def why_no_gpu(info):
    """None if a GPU is usable."""
    if not info["usable"]:
        return f"no GPU is usable: {info['why_not_usable']}"
    if any(device["name"].startswith("cushim simulated") for device in info["devices"]):
        return ("no GPU is usable: the driver is cushim's simulator"
                + (", which CUSHIM_DRIVER names" if os.environ.get("CUSHIM_DRIVER") else ""))
    return None


def ask_machine(info_tool):
    return json.loads(subprocess.run([info_tool, "--json"], capture_output=True, text=True).stdout)


def describe(info):
    gpus = [{"name": device["name"], "compute_capability": device["compute_capability"],
             "memory_bytes": device["total_memory"]} for device in info["devices"]]
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "cushim": info["cushim"],
        "headers": info["headers"]["cuda"],
        "driver": {"release": driver_release(), "cuda": info["driver"]["cuda_version"]},
        "gpus": gpus,
        "processor": processor(),
        "system": f"{platform.system()} {platform.release().split('-')[0]}, {' '.join(platform.libc_ver())}",
    }


# --- the tests


def figures_of(lines):
    found = filter(None, map(FIGURE.match, lines))
    return [{"name": figure["name"], "value": float(figure["value"]), "unit": figure["unit"]}
            for figure in found]


def costs_of(lines):
    """The time that wrappers add to raw calls, in nanoseconds. A test measures a cost beyond its limit
    again; the last measurement counts."""
    costs = {}
    for found in filter(None, map(COST.match, lines)):
        name = found["name"]
        costs[name] = {"name": name, "measurements": 1 + costs.get(name, {}).get("measurements", 0)}
        costs[name] |= {key + "_ns": float(found[key]) for key in ("raw", "added", "low", "high")}
    return list(costs.values())


def without_folders(line):
    return FOLDERS.sub("", line)


def last_lines(output):
    """The last lines, which describe a failure."""
    return [without_folders(line) for line in output.strip().splitlines()[-LAST_LINES:]]


def assertions_of(output):
    """From Catch2's summary; None for other tests."""
    found = re.findall(r"(?:\((\d+) assertions? in|^assertions:\s+(\d+))", output, re.MULTILINE)
    return int(found[-1][0] or found[-1][1]) if found else None


def skip_reasons(record):
    """Each reason once, with its number of occurrences."""
    counted = collections.Counter(check_counts.skip_reasons(record))
    return [{"reason": reason, "times": times} for reason, times in counted.items()]


def entry_of(record, known):
    suite, name = check_counts.suite_of(record, known)
    counts = check_counts.counts_of(record)
    lines = record.get("stdout", "").replace("\r", "").splitlines()
    result = "failed" if counts.failed else "passed" if counts.passed else "skipped"
    return {
        "suite": suite,
        "name": name,
        "result": result,
        "duration_s": round(record["duration"], 2),
        "passed": counts.passed,
        "failed": counts.failed,
        "skipped": counts.skipped,
        "assertions": assertions_of(check_counts.output_of(record)),
        "skip_reasons": skip_reasons(record) if counts.skipped else [],
        "peers": next(iter(PEERS.findall("\n".join(lines))), None),
        "figures": figures_of(lines),
        "costs": costs_of(lines),
        "said_last": last_lines(check_counts.output_of(record)) if result == "failed" else [],
    }


def read_tests(build):
    log = build / "meson-logs" / "testlog.json"
    known = check_counts.suites_by_test(build)
    records = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    entries = [entry_of(record, known) for record in records]
    return sorted((entry for entry in entries if entry["suite"] == "gpu"),
                  key=lambda entry: entry["name"])


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


def figure_problems(machine, tests):
    """Figures that would mislead a reader."""
    figures = [figure for test in tests for figure in test["figures"]]
    names = [figure["name"] for figure in figures]
    names += [cost["name"] for test in tests for cost in test["costs"]]
    for name, times in collections.Counter(names).items():
        if times > 1:
            yield f"gpu: the figure '{name}' was printed {times} times"
    if len(machine["gpus"]) == 1:
        for figure in figures:
            if is_bandwidth(figure):
                yield f"gpu: the figure '{figure['name']}' is a bandwidth, but the machine has one GPU"


def totals_of(tests):
    sums = {key: sum(test[key] for test in tests) for key in ("passed", "failed", "skipped")}
    sums["assertions"] = sum(test["assertions"] or 0 for test in tests)
    sums["duration_s"] = round(sum(test["duration_s"] for test in tests), 1)
    return sums


# --- what is written


def machine_lines(machine):
    gpus = {}
    for gpu in machine["gpus"]:
        gpus[gpu["name"]] = gpus.get(gpu["name"], 0) + 1
    several = {"peer access": machine["peers"]} if len(machine["gpus"]) > 1 else {}
    return {
        "date": machine["date"],
        "GPUs": ", ".join(f"{count} x {name}" for name, count in gpus.items()),
        **several,
        "driver": f"{machine['driver']['release']} (CUDA {machine['driver']['cuda']})",
        "CUDA headers": machine["headers"],
        "cushim": machine["cushim"],
        "processor": machine["processor"],
        "system": machine["system"],
    }


def repeated(text, times):
    return f"{text} ({times} times)" if times > 1 else text


def figure_text(figure):
    return f"{number(figure['value'])} {figure['unit']}".rstrip()


def outcome(test):
    return test["result"] + (f", {test['skipped']} skipped"
                             if test["skipped"] and test["result"] != "skipped" else "")


def number(value):
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def added(nanoseconds):
    """A number with its sign."""
    return ("-" if nanoseconds < 0 else "+") + number(abs(nanoseconds))


def totals_text(totals):
    return (f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped; "
            f"{totals['assertions']:,} assertions")


def failures(tests):
    return [test for test in tests if test["result"] == "failed"]


def summary(report):
    lines = [f"{name + ':':14}{text}" for name, text in machine_lines(report["machine"]).items()]
    lines.append("")
    width = max((len(test["name"]) for test in report["tests"]), default=0)
    for test in report["tests"]:
        assertions = f"{test['assertions']:,} assertions" if test["assertions"] else ""
        lines.append(f"{test['name']:{width}}  {outcome(test):20} {test['duration_s']:8.1f} s  "
                     f"{assertions}".rstrip())
        lines += [f"    skipped: {repeated(skip['reason'], skip['times'])}"
                  for skip in test["skip_reasons"]]
        lines += [f"    {figure['name']}: {figure_text(figure)}" for figure in test["figures"]]
        lines += [f"    {cost['name']}: raw {number(cost['raw_ns'])} ns, "
                  f"wrapper {added(cost['added_ns'])} ns" for cost in test["costs"]]
    for test in failures(report["tests"]):
        lines += ["", f"FAILED: {test['name']}. Last output:"]
        lines += ["    " + line for line in test["said_last"]]
    lines += ["", totals_text(report["totals"])]
    return "\n".join(lines + [f"error: {problem}" for problem in report["problems"]])


def cell(text):
    return str(text).replace("|", "\\|")


def markdown_table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(map(cell, row)) + " |" for row in rows]


def section(title, explanation, head, rows):
    """A section; empty without rows."""
    return ["", f"## {title}", "", explanation, "", *markdown_table(head, rows)] if rows else []


def verdict_lines(report):
    failed = [f"- failed: `{test['name']}`" for test in failures(report["tests"])]
    found = failed + [f"- {problem}" for problem in report["problems"]]
    return ["", "## Verdict", "",
            f"{'Failed' if found else 'Passed'}. Tests: {totals_text(report['totals'])}.",
            *([""] + found if found else [])]


def cost_name(cost):
    several = cost["measurements"] > 1
    return cost["name"] + (f", the last of {cost['measurements']} measurements" if several else "")


def cost_rows(tests):
    return [(cost_name(cost), f"{number(cost['raw_ns'])} ns", f"{added(cost['added_ns'])} ns",
             f"{added(cost['low_ns'])} to {added(cost['high_ns'])} ns")
            for test in tests for cost in test["costs"]]


def figure_rows(tests, is_wanted):
    return [(figure["name"], figure_text(figure), test["name"])
            for test in tests for figure in test["figures"] if is_wanted(figure)]


def skip_rows(tests):
    """One row per reason, with its tests."""
    by_reason = {}
    for test in tests:
        for skip in test["skip_reasons"]:
            by_reason.setdefault(skip["reason"], []).append(repeated(test["name"], skip["times"]))
    return [(reason, ", ".join(names)) for reason, names in sorted(by_reason.items())]


def markdown(report):
    tests = report["tests"]
    only = f" --only {report['only']}" if report["only"] else ""
    lines = ["# Results on " + machine_lines(report["machine"])["GPUs"], "",
             f"`tools/dev test-gpu{only} --results FILE` wrote this file from one run.", ""]
    lines += markdown_table(["", ""], machine_lines(report["machine"]).items())
    lines += verdict_lines(report)
    lines += section(
        "Cost of wrappers",
        "Raw calls and wrappers run in turns, in pairs; raw calls go through the function table.\n"
        "A row has the median time of the raw calls, the median of the time that the wrapper adds in\n"
        "a pair, and the range of that added time over the middle half of the pairs.",
        ["operation", "raw calls", "wrapper adds", "middle half of the pairs"], cost_rows(tests))
    the_test = "The last column is the test that measured the figure."
    lines += section(f"Between the {len(report['machine']['gpus'])} GPUs", the_test,
                     ["bandwidth", "value", "test"], figure_rows(tests, is_bandwidth))
    lines += section("Other figures", the_test, ["figure", "value", "test"],
                     figure_rows(tests, lambda figure: not is_bandwidth(figure)))
    lines += section(
        "Skips", "A test gives a reason once for each test case or section that it skips.",
        ["reason", "tests"], skip_rows(tests))
    return "\n".join(lines) + "\n"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--info", required=True, help="the program cushim-info")
    parser.add_argument("--only-look", action="store_true", help="check only whether a GPU is usable")
    parser.add_argument("--json", type=pathlib.Path, help="write the report there")
    parser.add_argument("--results", type=pathlib.Path, help="write it there as Markdown")
    parser.add_argument("--only", default="", help="the names that selected the tests, for the report")
    return parser.parse_args()


def report_of(machine, tests, only=""):
    peers = next((test["peers"] for test in tests if test["peers"]), "unknown")
    return {"machine": machine | {"peers": peers}, "only": only,
            "problems": problems_of(tests, only) + list(figure_problems(machine, tests)),
            "totals": totals_of(tests), "tests": tests}


def main():
    given = arguments()
    info = ask_machine(given.info)
    if why_not := why_no_gpu(info):
        print(f"error: {why_not}", file=sys.stderr)
        return 1
    if given.only_look:
        return 0
    report = report_of(describe(info), read_tests(given.build), given.only)
    print(summary(report))
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n")
    if given.results:
        given.results.write_text(markdown(report))
    return 1 if report["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
