"""Compares the reasons in the simulator's error log with those that a real driver gave.

usage: reasons.py [--table] RECORDING... -- CUSHIM_CONFORMANCE...
       reasons.py --record RESULTS

RECORDING has a line `ENTRY_POINT STATUS = REASON` for each reason of a refused call, and `= (none)` where the
log has only the line that states the status. Several lines of the log are joined by "; ". Runs
cushim-conformance, whose environment names the simulated driver, and fails if the simulator gives a reason
that the recordings do not have for that entry point and status. Pairs that they lack are counted
but not compared.

--table also prints the recorded reasons of pairs for which the simulator gives none.
--record prints the lines for RECORDING from RESULTS, the output of `cushim-conformance record` with a driver
that has a log (CUDA 12.9 or newer).
"""

import argparse
import re
import sys

import recording

NONE = "(none)"
# The numbers of these texts depend on the device, on its driver, on the state of the process or on the arguments.
NUMBERED = re.compile(r"exceed occupancy limit for this kernel on this device of \d+ blocks"
                      r"|Handle \d+ already in use"
                      r"|Managed allocation specified with incorrect length"
                      r"|location id \(-?\d+\)|Invalid allocation type")


def reasons(lines):
    """{(entry point, status): its reasons}."""
    found = {}
    for line in lines:
        called, _, reason = line.partition(" = ")
        name, status = called.split()
        name = name.removesuffix("_ptsz").removesuffix("_ptds")
        found.setdefault((name, status), set()).add(reason.strip())
    return found


def of_recordings(paths):
    lines = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            lines += [line for line in file if line.strip() and not line.startswith("#")]
    return reasons(lines)


def of_results(text):
    return reasons(line.removeprefix(recording.REASON) for line in text.splitlines()
                   if line.startswith(recording.REASON))


def comparable(reason):
    return re.sub(r"-?\d+", "N", reason) if NUMBERED.search(reason) else reason


def is_recorded(reason, recorded):
    """In a recording, lines of earlier calls that succeeded may come first."""
    known = [comparable(text) for text in recorded]
    reason = comparable(reason)
    return any(text == reason or text.endswith(f"; {reason}") for text in known)


def compare(theirs, ours, table):
    """Whether the simulator gives recorded reasons only. Prints the others, and the figures."""
    different = [(pair, reason) for pair in theirs for reason in sorted(ours.get(pair, ()))
                 if reason != NONE and not is_recorded(reason, theirs[pair])]
    explained = [pair for pair in theirs if theirs[pair] != {NONE}]
    missing = [pair for pair in explained if ours.get(pair) == {NONE}]
    simulated = [pair for pair in explained if ours.get(pair, {NONE}) != {NONE}]
    for (name, status), reason in different:
        print(f"{name} {status} = {reason}\n    recorded: {' | '.join(sorted(theirs[name, status]))}")
    for name, status in missing if table else ():
        print(f"not simulated: {name} {status} = {' | '.join(sorted(theirs[name, status]))}")
    print(f"{len(theirs)} pairs of entry point and status, {len(explained)} with a reason in the recording, "
          f"{len(simulated)} of them simulated, {len(different)} different; "
          f"{len(explained) - len(missing) - len(simulated)} not refused here, "
          f"{sum(pair not in theirs for pair in ours)} not recorded")
    return not different and simulated


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("files", nargs="+")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:at])
    if options.record:
        with open(options.files[0], encoding="utf-8") as file:
            found = of_results(file.read())
        for name, status, reason in sorted((name, int(status), reason)
                                           for (name, status), all_of in found.items()
                                           for reason in all_of):
            print(f"{name} {status} = {reason}")
    elif not compare(of_recordings(options.files), of_results(recording.run(sys.argv[at + 1:])),
                     options.table):
        sys.exit(1)


if __name__ == "__main__":
    main()
