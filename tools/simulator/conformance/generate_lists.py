"""Generates the list of entry points for cushim-conformance from rows.json.

usage: generate_lists.py ROWS_JSON NOT_SIMULATED NO_ZEROS TRACE_INC

Each line has an entry point and the section that calls it with zero arguments. Entry points that are not
simulated or that NO_ZEROS names belong to no section.
"""

import fnmatch
import json
import pathlib
import sys


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def main():
    rows_json, not_simulated, no_zeros, trace = sys.argv[1:]
    with open(rows_json, encoding="utf-8") as file:
        tables = json.load(file)["tables"]
    left_out = lines_of(not_simulated) + lines_of(no_zeros)
    text = ""
    for library in ("driver", "runtime"):
        for row in tables[library]["rows"]:
            asked = not any(fnmatch.fnmatch(row["export"], name) for name in left_out)
            text += f"TRACE({row['member']}, {library if asked else 'none'})\n"
    # A file that stays the same is left alone, so that nothing is recompiled needlessly.
    path = pathlib.Path(trace)
    if not path.exists() or path.read_bytes() != text.encode():
        path.write_bytes(text.encode())


if __name__ == "__main__":
    main()
