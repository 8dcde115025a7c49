"""The cost for a C program that links the loader and never calls it."""

import re
import shutil
import statistics

from figures import Figure, skipped
from measure import NO_VALGRIND, have_valgrind, init_array_entries, instructions, needed
from workshop import call

ROUNDS = 1001
LIMIT_PERCENT = 3
# If identical files differ by more, differences mean nothing.
MOST_NOISE_PERCENT = 1
# About 1 %: a start takes half a million nanoseconds, nearly all of them in the kernel.
MORE_INSTRUCTIONS = 15_000
# Files of the C library. With a thread-local variable, the linker also lists the dynamic linker, which every
# process has.
LIBC = re.compile(r"(libc|libdl|libpthread|ld-linux.*|ld-musl.*|ld64|libc\.musl.*)\.so.*")


def facts(name, file, most_init_entries):
    libraries = needed(file)
    entries = init_array_entries(file)
    return [
        Figure(f"{name}: NEEDED", " ".join(libraries), right=all(map(LIBC.fullmatch, libraries)),
               limit_text="libc's own"),
        Figure(f"{name}: functions run before main", entries, limit=most_init_entries),
    ]


def percent(part, whole):
    return (part / whole - 1) * 100


def judge(what, without, again, linked):
    """Medians of two identical files and of the file with the loader."""
    noise = abs(percent(again, without))
    name = f"{what}: the loader adds"
    figures = [
        Figure(f"{what}: without the loader", without, "us"),
        Figure(f"{what}: with the loader", linked, "us"),
        Figure(f"{what}: identical files differ by", noise, "%"),
    ]
    if noise > MOST_NOISE_PERCENT:
        return [*figures, skipped(name, "machine too busy")]
    added = percent(linked, (without + again) / 2)
    return [*figures, Figure(name, added, "%", limit=LIMIT_PERCENT)]


def time(workshop, programs):
    timer = workshop.program("spawn_timer", "g++", "spawn_timer.c", [])
    lines = call([timer, str(ROUNDS), *programs]).splitlines()
    columns = zip(*(map(float, line.split()) for line in lines))
    medians = [statistics.median(column) for column in columns]
    return judge("time", *medians[0::2]) + judge("processor time", *medians[1::2])


def count(programs):
    if not have_valgrind():
        return [skipped("instructions", NO_VALGRIND)]
    without, linked = (instructions(program, []) for program in programs)
    return [
        Figure("instructions: without the loader", without),
        Figure("instructions: the loader adds", linked - without, limit=MORE_INSTRUCTIONS),
    ]


def measure(workshop, repeatable):
    kit = workshop.kit("g++", "static")
    same = ["-s", *kit.flags]
    without = workshop.program("startup_without", "g++", "startup.c", same)
    linked = workshop.program(
        "startup_linked", "g++", "startup.c", [*same, "-DWITH_LOADER", *kit.link_flags])
    plain_entries = init_array_entries(without)
    figures = facts("C program, static library", linked, plain_entries)
    # The compiler adds one entry to a library, as to the program.
    figures += facts("the shared library", workshop.kit("g++", "shared").library, plain_entries)
    figures += count([without, linked])
    if repeatable:
        return figures
    again = shutil.copy(without, workshop.folder / "startup_again")
    return figures + time(workshop, [without, again, linked])
