"""Holds the simulator against the recording of a real driver.

usage: recording_test.py RECORD_PROGRAM RECORDING DIFFERENCES [SECTION...]

Runs cushim-record, whose environment names the simulated driver, and compares every answer with the
recorded one. DIFFERENCES lists where the simulator answers something else on purpose, a line each:

    section | question | recorded | simulated | why

A difference that is not listed fails; so does a listed one that is none (any more). With --print the
differences are printed in that form.
"""

import subprocess
import sys


def answers(text):
    """[(section, question, answer)] in order; a question asked again gets a number."""
    found, section, seen = [], "", {}
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line.startswith("== "):
            section, seen = line[3:].strip(), {}
            continue
        question, _, answer = line.rpartition(" = ") if " = " in line else line.rpartition(" ")
        question = question.strip()
        seen[question] = seen.get(question, 0) + 1
        if seen[question] > 1:
            question += f" #{seen[question]}"
        found.append((section, question, answer.strip()))
    return found


def listed_differences(path):
    listed = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                section, question, recorded, simulated, why = (p.strip() for p in line.split("|", 4))
                if not why:
                    sys.exit(f"{path}: no reason: {line.strip()}")
                listed[section, question] = (recorded, simulated)
    return listed


def compare(recorded, simulated, listed):
    """The differences that nobody listed, and the listed ones that are none."""
    theirs = {(s, q): a for s, q, a in recorded}
    ours = {(s, q): a for s, q, a in simulated}
    unexpected = []
    for key in [k[:2] for k in recorded]:
        pair = (theirs[key], ours.get(key, "(no answer)"))
        if pair[0] != pair[1] and listed.get(key) != pair:
            unexpected.append((*key, *pair))
    unexpected += [(*key, "(not asked)", ours[key]) for key in ours if key not in theirs]
    stale = [key for key, pair in listed.items()
             if theirs.get(key) == ours.get(key) or key not in theirs]
    return unexpected, stale


def main():
    arguments = [a for a in sys.argv[1:] if a != "--print"]
    program, recording, differences, *sections = arguments
    text = "".join(subprocess.run([program, *([s] if s else [])], capture_output=True, text=True,
                                  check=True, timeout=120).stdout for s in sections or [""])
    with open(recording, encoding="utf-8") as file:
        recorded = answers(file.read())
    if sections:
        recorded = [r for r in recorded if r[0] in sections]
    listed = {k: v for k, v in listed_differences(differences).items()
              if not sections or k[0] in sections}
    simulated = answers(text)
    unexpected, stale = compare(recorded, simulated, listed)
    for difference in unexpected:
        print(" | ".join(difference) + (" | " if "--print" in sys.argv else ""))
    for section, question in stale:
        print(f"listed, but no difference: {section} | {question}")
    print(f"{len(recorded)} answers, {len(listed)} deliberate differences, "
          f"{len(unexpected)} unexpected ones")
    if len(recorded) < 10 or unexpected or stale:
        sys.exit(1)


if __name__ == "__main__":
    main()
