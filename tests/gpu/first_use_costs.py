#!/usr/bin/env python3
"""The cost of the first use of the real driver, by cushim and by bare dlopen and dlsym, in one run.

Medians over fresh processes that run by turns. A use that takes more than LIMIT times as long as without cushim,
and more than MORE_US longer, fails.
The peer is cuda.bindings of a Python environment (GPU_TEST_PYTHON names another Python): another loader of the
same driver, imported and used by a Python process. If no Python has it, its test is skipped; if it does not
work, the test fails.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import types

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from options import Options  # noqa: E402

LIMIT = 1.25
MORE_US = 100
PROCESSES = {"version": 201, "all": 101, "init": 15}
STARTS = 501
TITLES = {
    "version": "first call, cuDriverGetVersion",
    "all": "every entry point resolved",
    "init": "first call, cuInit",
}
PEER_IS_THERE = "import cuda.bindings"
PEER = """
import time
begin = time.perf_counter_ns()
from cuda.bindings import driver
status, version = driver.cuDriverGetVersion()
print(time.perf_counter_ns() - begin, version if int(status) == 0 else -1)
"""


def printed_numbers(command):
    # Meson sets this variable to find mistakes; it costs time.
    env = {key: value for key, value in os.environ.items() if key != "MALLOC_PERTURB_"}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return [float(word) for word in done.stdout.split()]


def alternate(rounds, commands):
    """Median nanoseconds and outcome of each command."""
    times, outcomes = {name: [] for name in commands}, {}
    for number in range(rounds):
        names = list(commands)
        for name in names if number % 2 == 0 else reversed(names):
            passed, outcome = printed_numbers(commands[name])
            times[name].append(passed)
            if outcomes.setdefault(name, outcome) != outcome:
                raise SystemExit(f"{name}: {outcome}, before {outcomes[name]}")
    return {name: statistics.median(values) for name, values in times.items()}, outcomes


class Table:
    def __init__(self):
        self.broken = 0

    def compare(self, what, raw_us, cushim_us, note=""):
        ratio = cushim_us / raw_us
        right = ratio <= LIMIT or cushim_us - raw_us <= MORE_US
        verdict = "ok" if right else "BROKEN"
        self.broken += not right
        print(f"{what:34} raw {raw_us:12,.1f} us   cushim {cushim_us:12,.1f} us   "
              f"ratio {ratio:5.2f}   {verdict}{note}")
        print(f"figure: {what}, without cushim = {raw_us:.1f} us")
        print(f"figure: {what}, with cushim = {cushim_us:.1f} us")


def measure_uses(given, table, names_file):
    for use, rounds in PROCESSES.items():
        times, outcomes = alternate(rounds, {
            "raw": [given.raw, use, names_file],
            "cushim": [given.table, use],
        })
        check(use, outcomes)
        counts = f" ({outcomes['raw']:.0f} names, {outcomes['cushim']:.0f} rows)"
        note = counts if use == "all" else ""
        table.compare(TITLES[use], times["raw"] / 1000, times["cushim"] / 1000, note)


def check(use, outcomes):
    """Both succeeded with the same use; other tests check which names are found."""
    raw, cushim = outcomes["raw"], outcomes["cushim"]
    right = {
        "version": raw == cushim > 0,
        "init": raw == cushim == 0,
        "all": raw > 0 and cushim > 0,
    }[use]
    if not right:
        raise SystemExit(f"{TITLES[use]}: raw printed {raw:.0f}, cushim printed {cushim:.0f}")


def measure_start(given, table):
    """Starts of programs that make no CUDA call, without the loader and linked to it."""
    lines = subprocess.run([given.timer, str(STARTS), given.start, given.start_linked], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    columns = [statistics.median(column)
               for column in zip(*(map(float, line.split()) for line in lines))]
    table.compare("process start with no CUDA call", columns[0], columns[2])


def has_peer(python):
    try:
        return subprocess.run([python, "-c", PEER_IS_THERE], capture_output=True).returncode == 0
    except OSError:
        return False


def measure_peer():
    """Returns False if no Python has cuda.bindings."""
    pythons = filter(None, (os.environ.get("GPU_TEST_PYTHON"), "python3", sys.executable))
    python = next(filter(has_peer, pythons), None)
    if python is None:
        print("SKIPPED: no peer loader: no Python here has cuda.bindings")
        return False
    runs = [printed_numbers([python, "-c", PEER]) for _ in range(15)]
    if any(version <= 0 for _, version in runs):
        raise SystemExit("cuda.bindings finds no driver")
    peer_us = statistics.median(run[0] for run in runs) / 1000
    print(f"{'peer: cuda.bindings, in Python':34} {peer_us:,.1f} us to import and first call")
    print(f"figure: first call, cuda.bindings in Python = {peer_us:.1f} us")
    return True


def main():
    options = Options(sys.argv[1:])
    given = types.SimpleNamespace(
        **{name: os.path.abspath(options.text(name.replace("_", "-")))
           for name in ("raw", "table", "start", "start_linked", "timer")})
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        names = pathlib.Path(folder) / "names"
        rows = json.loads(options.path("rows").read_text())["tables"]["driver"]["rows"]
        names.write_text("\n".join(row["export"] for row in rows))
        measure_uses(given, table, str(names))
    measure_start(given, table)
    peer = measure_peer()
    print(f"{len(TITLES) + 1 + peer - table.broken} passed, {table.broken} failed, "
          f"{int(not peer)} skipped")
    return 1 if table.broken else 0


if __name__ == "__main__":
    sys.exit(main())
