"""Compares the simulator with recordings of real drivers.

usage: compare.py [--print] DIFFERENCES [RECORDING...] [--sections SECTION...] -- CUSHIM_CONFORMANCE...

Runs cushim-conformance, whose environment names the simulated driver, and compares each result with the
recorded one. If several recordings have a section, the last one counts. A section that no recording has is
counted but not compared. With --sections, only those sections run, and they must be able to run here; the
first words of section names select all sections that begin with them. The statuses of all calls of an entry
point in a section are one further result. DIFFERENCES lists deliberate differences, one a line:

    section | question | recorded | simulated | why

Fails for a difference that is not listed, and for a listed one that does not occur, is listed twice, or has
an unknown section. With --print, differences are printed in that form.
"""

import argparse
import re
import sys
from itertools import zip_longest

import recording

NEVER_ASKED = "(not asked)"  # the process had ended before the question
NOT_ASKED = "not asked here"  # reported by a section that needs more devices than the machine has


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
    """Follows cushim-conformance: whole names, or the first words of several names."""
    return not names or any(f"{section} ".startswith(f"{name} ") for name in names)


def is_asked(section):
    return NOT_ASKED not in section.values()


def with_calls(text):
    """{section: {question: result}}; the result of `-- calls cuMemFree_v2` is a list of all statuses. Calls
    with zero arguments have a line each."""
    calls = {section: those for section, those in recording.calls_by_section(text).items()
             if not section.endswith("_zeros")}
    return {section: those | {recording.CALLS + name: statuses for name, statuses in
                              calls.get(section, {}).items()}
            for section, those in recording.answers(text).items()}


def by_question(sections, wanted):
    return {(section, question): answer for section in wanted if section in sections
            for question, answer in sections[section].items()}


def ended(word):
    """Whether a call with this result ended the driver's process, as x11 or 0>x11 did."""
    return re.fullmatch(r"(.*>)?x\d+,?", word) is not None


def same(recorded, simulated):
    """Whether the results agree, word by word where a line has several. After the driver's process ended,
    the simulator may return anything."""
    if recorded == simulated:
        return True
    pairs = list(zip_longest(recorded.split(), simulated.split(), fillvalue=""))
    return all(one == other or ended(one) for one, other in pairs)


def compare(theirs, ours, listed):
    """The differences that are not listed, and the listed ones that do not occur."""
    pairs = {key: (theirs.get(key, NEVER_ASKED), ours.get(key, "(no result)"))
             for key in [*theirs, *(key for key in ours if key not in theirs)]}
    unexpected = [(*key, *pair) for key, pair in pairs.items()
                  if not same(*pair) and listed.get(key) != pair]
    stale = [key for key in listed if key not in pairs or same(*pairs[key])]
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
    # The recording may predate the lines of calls, or its section did not complete.
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
        print(f"did not complete: {section}")
    skipped = [s for s in simulated if options.sections and not is_asked(simulated[s])]
    for section in skipped:
        print(f"not asked here: {section}")
    print(f"{len(theirs)} results, {len(listed)} deliberate differences, {len(unexpected)} unexpected; "
          f"not recorded: {len(unrecorded)} sections with {more} results")
    too_few = len(theirs) < 10 if options.recordings else more < 10
    if too_few or unexpected or stale or unknown or ended or skipped:
        sys.exit(1)


if __name__ == "__main__":
    main()
