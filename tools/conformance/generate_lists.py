"""Writes the lists of entry points that cushim-conformance includes, from rows.json.

usage: generate_lists.py ROWS_JSON NOT_SIMULATED NO_ZEROS TRACE_INC DRIVER_ZEROS_INC RUNTIME_ZEROS_INC

A line of the first stands for each entry point, one of the others for each that the simulator implements and
that NO_ZEROS does not name.
"""

import fnmatch
import json
import sys


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def write(path, macro, rows):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{macro}({row['member']})\n" for row in rows)


def main():
    rows_json, not_simulated, no_zeros, trace, *zeros = sys.argv[1:]
    with open(rows_json, encoding="utf-8") as file:
        tables = json.load(file)["tables"]
    left_out = lines_of(not_simulated) + lines_of(no_zeros)
    write(trace, "TRACE", [row for table in tables.values() for row in table["rows"]])
    for path, library in zip(zeros, ("driver", "runtime")):
        write(path, "ZEROS", [row for row in tables[library]["rows"]
                              if not any(fnmatch.fnmatch(row["export"], name) for name in left_out)])


if __name__ == "__main__":
    main()
