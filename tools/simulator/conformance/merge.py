"""Merges new results into the recording of their machine.

usage: merge.py RECORDING RESULTS DRIVER [DATE]

RESULTS is the output of `cushim-conformance record` on a machine whose driver has the version DRIVER. Its
sections replace those of the same names in RECORDING; new ones are appended. Each section has the date of
its recording. Prints how many sections are new, replaced and unchanged.
"""

import datetime
import os
import sys


def sections(text):
    """The lines before the first section, and {section: its lines}."""
    head, found = [], {}
    lines = head
    for line in text.splitlines():
        if line.startswith("== "):
            lines = found.setdefault(line[3:].strip(), [])
        else:
            lines.append(line)
    return head, found


def merge(recording, answers, driver, date):
    """The new text of a recording, which may be empty."""
    head, found = sections(answers)
    merged = sections(recording)[1]
    for section, lines in found.items():
        merged[section] = [f"# recorded on {date}", *lines]
    parts = [f"{head[0]}, driver {driver}"]
    for section, lines in merged.items():
        parts += [f"== {section}", *lines]
    return "\n".join(parts) + "\n"


def main():
    path, answers, driver, *date = sys.argv[1:]
    old = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            old = file.read()
    with open(answers, encoding="utf-8") as file:
        new = file.read()
    text = merge(old, new, driver, date[0] if date else datetime.date.today().isoformat())
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    before, now = sections(old)[1], sections(new)[1]
    replaced = sum(section in before for section in now)
    print(f"{len(now) - replaced} new sections, {replaced} replaced, {len(before) - replaced} unchanged")


if __name__ == "__main__":
    main()
