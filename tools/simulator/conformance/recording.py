"""Parses the output of cushim-conformance."""

import subprocess

CALLS = "-- calls "
REASON = "-- reason "


def run(program, sections=()):
    """The output of a program on the driver that its environment names."""
    return subprocess.run([*program, "record", *sections], capture_output=True, text=True, check=True,
                          timeout=600).stdout


def answers(text):
    """{section: {question: result}} in order; a repeated question gets a number."""
    found, section = {}, None
    for line in text.splitlines():
        if line.startswith("== "):
            section = found.setdefault(line[3:].strip(), {})
            continue
        if section is None or line.startswith(("#", CALLS, REASON)) or not line.strip():
            continue
        question, _, answer = line.rpartition(" = ") if " = " in line else line.rpartition(" ")
        question = name = question.strip()
        number = 1
        while name in section:
            number += 1
            name = f"{question} #{number}"
        section[name] = answer.strip()
    return found


def combined(texts, read=answers):
    """The same for several recordings; if several have a section, the last one counts."""
    found = {}
    for text in texts:
        found.update(read(text))
    return found


def calls_by_section(text):
    """{section: {entry point: its statuses as text}}, without sections that have no such lines."""
    found, section = {}, None
    for line in text.splitlines():
        if line.startswith("== "):
            section = line[3:].strip()
        elif section is not None and line.startswith(CALLS):
            name, *statuses = line.removeprefix(CALLS).split()
            found.setdefault(section, {})[name] = " ".join(statuses)
    return found


def calls(text):
    """{entry point: its statuses}; None stands for a call that returns no status."""
    found = {}
    for line in text.splitlines():
        if line.startswith(CALLS):
            name, *statuses = line.removeprefix(CALLS).split()
            found.setdefault(name, set()).update(
                None if status == "called" else int(status) for status in statuses)
    return found
