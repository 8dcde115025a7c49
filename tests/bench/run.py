#!/usr/bin/env python3
"""Runs the benchmarks and prints one table: each figure, its limit, and whether the limit is kept.

Status 1 if a limit is exceeded, 77 if no figure could be measured. `tools/dev bench` calls this.
"""

import argparse
import pathlib
import sys

import absent_library
import call_cost
import drop_in
import first_call
import libraries
import machine
import parsing
import simulator
import size
import startup
import topics
import wrappers
from figures import table, write_json
from measure import stay_on_one_core
from workshop import Workshop

GROUPS = {
    "call": ("a call", call_cost.measure),
    "first": ("first call of a process", first_call.measure),
    "absent": ("a call without a library, after the first", absent_library.measure),
    "startup": ("a C program that never calls the loader", startup.measure),
    "size-gcc": ("size, g++", size.measure_gcc),
    "size-clang": ("size, clang++", size.measure_clang),
    "topics": ("size of programs that use one topic of the wrappers", topics.measure),
    "wrappers": ("wrappers, in addition to the raw calls", wrappers.measure),
    "drop-in": ("the drop-in", drop_in.measure),
    "libraries": ("further libraries", libraries.measure),
    "parsing": ("parsing", parsing.measure),
    "simulator": ("the simulator", simulator.measure),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path, metavar="DIR",
                        help="a build folder, for the CUDA headers and for the builds")
    parser.add_argument("--only", metavar="A,B", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--repeatable", action="store_true",
                        help="only figures that do not depend on the load of the machine")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    given = parser.parse_args()
    given.groups = given.only.split(",") if given.only else list(GROUPS)
    for group in given.groups:
        if group not in GROUPS:
            parser.error(f"unknown group {group}")
    return given


def main():
    given = arguments()
    workshop = Workshop(given.build)
    where = machine.describe(workshop)
    busy = machine.is_busy() and not given.repeatable
    stay_on_one_core()
    figures = []
    for key in given.groups:
        title, measure = GROUPS[key]
        print(f"measuring {title} ...", file=sys.stderr, flush=True)
        for figure in measure(workshop, given.repeatable):
            figure.group = title
            figures.append(figure)
    for name, text in where.items():
        print(f"{name + ':':14}{text}")
    print()
    print(table(figures))
    if busy:
        print("\nThis machine is busy with other work: times are longer than they would be.")
    if given.json:
        write_json(given.json, where, figures)
    broken = [figure for figure in figures if figure.passed is False]
    left_out = [figure for figure in figures if figure.skipped]
    held = sum(figure.passed is True for figure in figures)
    print(f"\n{held} limits held, {len(broken)} broken, {len(left_out)} measurements skipped")
    if broken:
        return 1
    return 77 if len(left_out) == len(figures) else 0


if __name__ == "__main__":
    sys.exit(main())
