"""Checks which entry points of the simulator the recordings cover.

usage: coverage.py [options] ROWS_JSON NOT_SIMULATED CANNOT MISSING RECORDING... [-- CUSHIM_CONFORMANCE...]

Each entry point that the simulator implements (those of ROWS_JSON that NOT_SIMULATED does not list) must be
recorded with a success and, if it returns a status, with a failure. CANNOT lists impossible outcomes with a
reason, and MISSING those that are not recorded yet, one a line:

    entry point | success/failure | why
    entry point | success/failure

CUSHIM_CONFORMANCE runs on the simulator. Its results show what the questions would record, and replace
recordings without `-- calls` lines, as older ones are. Fails if an outcome is missing that MISSING does not
list, if MISSING lists one that exists, or if CANNOT lists one that exists.
  --table    print a line for each entry point
  --update   rewrite MISSING
"""

import argparse
import json
import sys

import recording

OUTCOMES = ("success", "failure")
STATUS = ("CUresult", "cudaError_t")


def implemented(rows, not_simulated):
    """{entry point: its outcomes}. An entry point that returns no status has no failure."""
    with open(not_simulated, encoding="utf-8") as file:
        left_out = set(file.read().split())
    with open(rows, encoding="utf-8") as file:
        tables = json.load(file)["tables"]
    return {row["export"]: OUTCOMES if row["result"] in STATUS else OUTCOMES[:1]
            for table in tables.values() for row in table["rows"] if row["export"] not in left_out}


def listed(path, with_reason):
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.strip() or line.startswith("#"):
                continue
            name, outcome, *why = (part.strip() for part in line.split("|", 2))
            if outcome not in OUTCOMES or bool(why and why[0]) != with_reason:
                sys.exit(f"{path}: not understood: {line.strip()}")
            found[name, outcome] = why[0] if why else ""
    return found


def outcomes(calls):
    """The observed (entry point, outcome) pairs."""
    return {(name, "failure" if status else "success")
            for name, statuses in calls.items() for status in statuses}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--update", action="store_true")
    for name in ("rows", "not_simulated", "cannot", "missing"):
        parser.add_argument(name)
    parser.add_argument("recordings", nargs="*")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:at])
    options.program = sys.argv[at + 1:]
    return options


def cell(pair, wanted, seen, asked, reasons):
    if pair not in wanted:
        return "-"
    if pair in seen:
        return "recorded"
    if pair in reasons:
        return "no: " + reasons[pair]
    return "asked" if pair in asked else "MISSING"


def print_table(entries, wanted, recorded, asked, reasons):
    print(f"{'entry point':<52} {'success':<10} failure")
    for name in entries:
        success, failure = (cell((name, o), wanted, recorded, asked, reasons) for o in OUTCOMES)
        print(f"{name:<52} {success:<10} {failure}")


def summary(library, entries, there, reasons, missing):
    """The totals of a library, or of both if its name is empty."""
    def number(pairs):
        return sum(1 for name, _ in pairs
                   if not library or (library == "runtime") == name.startswith("cuda"))
    success, failure = (number(p for p in there if p[1] == o) for o in OUTCOMES)
    return (f"{number((name, None) for name in entries)} entry points, {success} with a success, {failure} "
            f"with a failure, {number(reasons)} with a reason, {number(missing)} missing")


def write_missing(path, missing):
    with open(path, encoding="utf-8") as file:
        head = [line for line in file if line.startswith("#")]
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(head)
        file.writelines(f"{name} | {outcome}\n" for name, outcome in missing)


def main():
    options = arguments()
    entries = implemented(options.rows, options.not_simulated)
    wanted = {(name, outcome) for name, those in entries.items() for outcome in those}
    reasons = listed(options.cannot, True)
    texts = [open(path, encoding="utf-8").read() for path in options.recordings]
    recorded = outcomes(recording.calls("\n".join(texts))) & wanted
    asked = recorded
    if options.program:
        asked = outcomes(recording.calls(recording.run(options.program))) & wanted
    there = recorded or asked
    missing = [(n, o) for n in sorted(entries) for o in entries[n]
               if (n, o) not in there and (n, o) not in reasons]
    if options.table:
        print_table(sorted(entries), wanted, recorded, asked, reasons)
    if options.update:
        write_missing(options.missing, missing)
    opened = listed(options.missing, False)
    mistakes = [f"{n}: {o} is neither recorded nor listed with a reason" for n, o in missing if (n, o) not in opened]
    mistakes += [f"{n}: listed as missing, but the {o} is recorded" for n, o in opened
                 if (n, o) not in missing]
    mistakes += [f"{n}: {o} is listed as impossible, but " + (
        f"one was {'recorded' if (n, o) in recorded else 'seen'}" if (n, o) in wanted else "is not simulated")
                 for n, o in reasons if (n, o) in there or (n, o) not in wanted]
    print("\n".join(mistakes) + "\n" * bool(mistakes), end="")
    print("recorded:" if recorded else "simulated, since no recording lists its calls yet:")
    for library in ("driver", "runtime", ""):
        print(library and library + ": ", end="")
        print(summary(library, entries, there, reasons, missing))
    sys.exit(1 if mistakes else 0)


if __name__ == "__main__":
    main()
