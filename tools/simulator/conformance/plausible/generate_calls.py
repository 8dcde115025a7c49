"""Generates the plausible calls of cushim-conformance: one for each entry point of rows.json.

usage: generate_calls.py ROWS_JSON NOT_SIMULATED NOT_ASKED ARGUMENTS CALLS_INC

Each line of CALLS_INC is CALL(entry point, library, names of its parameters, arguments...). Variants for the
per-thread default stream are left out.
"""

import fnmatch
import json
import pathlib
import sys


def rows_of(path, columns):
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                row = [part.strip() for part in line.split(" | ", columns - 1)]
                if len(row) != columns:
                    sys.exit(f"{path}: not understood: {line.strip()}")
                yield row


def names_fit(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern.strip()) for pattern in patterns.split(","))


def argument_of(entry, parameter, rules):
    declared = parameter["type"]
    found = "default"
    for entries, types, names, value in rules:
        if names_fit(entry, entries) and names_fit(parameter["name"], names) and (
                types == "*" or declared in [t.strip() for t in types.split(",")]):
            found = value
    if found != "default":
        return found
    return "room()" if "*" in declared else "0"


def main():
    rows_json, not_simulated, not_asked, arguments, output = sys.argv[1:]
    with open(rows_json, encoding="utf-8") as file:
        tables = json.load(file)["tables"]
    with open(not_simulated, encoding="utf-8") as file:
        left_out = file.read().split()
    left_out += [names for names, _ in rows_of(not_asked, 2)]
    rules = list(rows_of(arguments, 4))
    text = ""
    for library in ("driver", "runtime"):
        for row in tables[library]["rows"]:
            name = row["export"]
            if name.endswith(("_ptsz", "_ptds")) or any(fnmatch.fnmatchcase(name, other) for other in left_out):
                continue
            values = "".join(", " + argument_of(name, parameter, rules) for parameter in row["parameters"])
            names = " ".join(parameter["name"] for parameter in row["parameters"])
            text += f'CALL({row["member"]}, {library}, "{names}"{values})\n'
    path = pathlib.Path(output)
    if not path.exists() or path.read_bytes() != text.encode():
        path.write_bytes(text.encode())


if __name__ == "__main__":
    main()
