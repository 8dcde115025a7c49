"""Holds the simulator against what real drivers answered.

usage: compare.py [--print] DIFFERENCES [RECORDING...] [--sections SECTION...] -- CUSHIM_CONFORMANCE...

Runs cushim-conformance, whose environment names the simulated driver, and compares every answer with
the recorded one; of several recordings a section is that of the last one that has it.
A section that none has is not recorded yet: it is counted, and compared with nothing. With --sections only
those are asked, which must be possible here; the words that names begin with stand for all of these. What a
section's calls answered that it tells no line of is compared, too: the statuses of an entry point are one
answer. DIFFERENCES lists where the simulator answers something else on purpose, a line each:

    section | question | recorded | simulated | why

A difference that is not listed fails; so does a listed one that is none (any more), that is listed twice, or
whose section is neither asked nor recorded. With --print the differences are printed in that form.
"""

import argparse
import sys

import recording

NEVER_ASKED = "(not asked)"  # since the process had ended by then
NOT_ASKED = "not asked here"  # what a section says that takes more devices than there are


def listed_differences(path):
    listed = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                section, question, recorded, simulated, why = (p.strip() for p in line.split("|", 4))
                if not why:
                    sys.exit(f"{path}: no reason: {line.strip()}")
                if (section, question) in listed:
                    sys.exit(f"{path}: listed twice: {section} | {question}")
                listed[section, question] = (recorded, simulated)
    return listed


def is_named(section, names):
    """As cushim-conformance takes names: whole ones, or the words that some begin with."""
    return not names or any(f"{section} ".startswith(f"{name} ") for name in names)


def is_asked(section):
    return NOT_ASKED not in section.values()


def with_calls(text):
    """{section: {question: answer}}; `-- calls cuMemFree_v2` is a question whose answer is all statuses.
    Each call with zeros for arguments has its own line."""
    calls = {section: those for section, those in recording.calls_by_section(text).items()
             if not section.endswith("_zeros")}
    return {section: those | {recording.CALLS + name: statuses for name, statuses in
                              calls.get(section, {}).items()}
            for section, those in recording.answers(text).items()}


def by_question(sections, wanted):
    return {(section, question): answer for section in wanted if section in sections
            for question, answer in sections[section].items()}


def compare(theirs, ours, listed):
    """The differences that nobody listed, and the listed ones that are none."""
    pairs = {key: (theirs.get(key, NEVER_ASKED), ours.get(key, "(no answer)"))
             for key in [*theirs, *(key for key in ours if key not in theirs)]}
    unexpected = [(*key, *pair) for key, pair in pairs.items()
                  if pair[0] != pair[1] and listed.get(key) != pair]
    stale = [key for key in listed if key not in pairs or pairs[key][0] == pairs[key][1]]
    return unexpected, stale


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--print", action="store_true", dest="to_list")
    parser.add_argument("differences")
    parser.add_argument("recordings", nargs="*")
    parser.add_argument("--sections", nargs="*", default=[])
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:at])
    options.program = sys.argv[at + 1:]
    return options


def main():
    options = arguments()
    texts = [open(path, encoding="utf-8").read() for path in options.recordings]
    recorded = recording.combined(texts, with_calls)
    simulated = with_calls(recording.run(options.program, options.sections))
    # A recording may be older than the lines of calls, or its section did not come to its end.
    for section in simulated:
        if not any(question.startswith(recording.CALLS) for question in recorded.get(section, {})):
            simulated[section] = {q: a for q, a in simulated[section].items()
                                  if not q.startswith(recording.CALLS)}
    wanted = [s for s in {**recorded, **simulated}
              if is_named(s, options.sections) and (options.sections or is_asked(simulated.get(s, {})))]
    unrecorded = [s for s in wanted if s not in recorded]
    wanted = [s for s in wanted if s in recorded]
    all_listed = listed_differences(options.differences)
    listed = {k: v for k, v in all_listed.items() if k[0] in wanted}
    unknown = [] if options.sections else [k for k in all_listed if k[0] not in {**recorded, **simulated}]
    for section, question in unknown:
        print(f"listed, but no such section: {section} | {question}")
    theirs = by_question(recorded, wanted)
    unexpected, stale = compare(theirs, by_question(simulated, wanted), listed)
    for difference in unexpected:
        print(" | ".join(difference) + (" | " if options.to_list else ""))
    for section, question in stale:
        print(f"listed, but no difference: {section} | {question}")
    more = sum(len(simulated[s]) for s in unrecorded)
    ended = [s for s in unrecorded if "-- the section ended with status" in simulated[s]]
    for section in ended:
        print(f"did not come to its end: {section}")
    skipped = [s for s in simulated if options.sections and not is_asked(simulated[s])]
    for section in skipped:
        print(f"not asked here: {section}")
    print(f"{len(theirs)} answers, {len(listed)} deliberate differences, {len(unexpected)} unexpected ones; "
          f"not recorded: {len(unrecorded)} sections with {more} answers")
    too_few = len(theirs) < 10 if options.recordings else more < 10
    if too_few or unexpected or stale or unknown or ended or skipped:
        sys.exit(1)


if __name__ == "__main__":
    main()
