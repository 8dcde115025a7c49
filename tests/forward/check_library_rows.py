"""Every function that the headers of further libraries mention has a row.

usage: check_library_rows.py ROWS_JSON...

Searches the text of the headers for names before a parenthesis, without a parser: an independent count.
"""

import json
import pathlib
import re
import sys

# Definitions of the header, and parts of declarations that only other compilers see.
NO_FUNCTIONS = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.M)
COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def mentioned(text, names):
    """The names before a parenthesis that are not called in a body of the header."""
    text = NO_FUNCTIONS.sub("", COMMENTS.sub("", text))
    text = re.sub(r'extern\s+"C"\s*\{', "", text)
    while True:  # bodies of functions and types
        shorter = re.sub(r"\{[^{}]*\}", ";", text)
        if shorter == text:
            break
        text = shorter
    found = set()
    for statement in text.split(";"):
        if re.match(r"\s*typedef\b", statement):
            continue
        plain = re.sub(r"\b__attribute__\s*\(\(.*?\)\)|\b[A-Z_]+\([^()]*\)", "", statement)
        match = re.search(r"\b(\w+)\s*\(", plain)
        if match and names.fullmatch(match[1]) and not re.search(r"\b(static|inline|template)\b", statement):
            found.add(match[1])
    return found


def main():
    faults = []
    for path in sys.argv[1:]:
        described = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        names = re.compile(described["functions"])
        rows = [row["export"] for row in described["rows"]]
        found = set()
        for file in described["files"]:
            found |= mentioned(pathlib.Path(file).read_text(encoding="utf-8", errors="replace"), names)
        print(f"{described['name']}: {len(rows)} rows, {len(found)} names in its headers")
        faults += [f"{described['name']}: no row for {name}" for name in sorted(found - set(rows))]
        faults += [f"{described['name']}: {name} has two rows" for name in set(rows) if rows.count(name) > 1]
        faults += [f"{described['name']}: left out: {text}" for text in described["left_out"]]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
