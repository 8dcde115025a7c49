"""The cost for a C program that links the loader and never calls it, and for a C++ program with the wrappers."""

import pathlib
import re
import shutil
import statistics
import tempfile

from figures import Figure, skipped
from measure import NO_VALGRIND, have_valgrind, init_array_entries, instructions, needed
from workshop import call

ROUNDS = 1001
LIMIT_PERCENT = 3
# If identical files differ by more, differences mean nothing.
MOST_NOISE_PERCENT = 1
# About 1 %: a start takes half a million nanoseconds, nearly all of them in the kernel.
MORE_INSTRUCTIONS = 15_000
# A tenth above the measured values. If the dynamic linker had to search for the library's own slots, these would be
# 1.5 and 2.3 millions.
MORE_WITH_SHARED_CORE, MORE_WITH_SHARED_WRAPPERS = 36_300, 540_000
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


def added(name, programs, limit, **environment):
    """The additional instructions of the second of two programs."""
    if not have_valgrind():
        return [skipped(f"{name} adds", NO_VALGRIND)]
    without, linked = (instructions(program, [], **environment) for program in programs)
    return [
        Figure(f"instructions, without {name}", without),
        Figure(f"instructions, {name} adds", linked - without, limit=limit),
    ]


def loader_programs(workshop, kit, name):
    """Without and with the loader."""
    flags = ["-s", *kit.flags]
    return [
        workshop.program("startup_without", "g++", "startup.c", flags),
        workshop.program(f"startup_{name}", "g++", "startup.c", [*flags, "-DWITH_LOADER", *kit.link_flags]),
    ]


def shared(workshop):
    """The libraries and programs are in a folder whose path has the same length everywhere, because the dynamic
    linker reads it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        folder = pathlib.Path(folder)
        kit = workshop.kit("g++", "shared").copied_to(folder)

        def program(name, *flags):
            return shutil.move(workshop.program(f"startup_{name}", "g++", *flags), folder / name)

        return added("the shared library", [
            program("without", "startup.c", ["-s"]),
            program("core", "startup.c", ["-s", "-DWITH_LOADER", *kit.flags, *kit.link_flags]),
        ], MORE_WITH_SHARED_CORE) + added("the shared wrappers", [
            program("cpp", "startup.cpp", ["-s"]),
            program("wrappers", "startup.cpp", ["-s", "-DWITH_WRAPPERS", *kit.flags, *kit.wrapper_link_flags()]),
        ], MORE_WITH_SHARED_WRAPPERS, LD_LIBRARY_PATH=str(folder))


def measure(workshop, repeatable):
    without, linked = loader_programs(workshop, workshop.kit("g++", "static"), "static")
    plain_entries = init_array_entries(without)
    figures = facts("C program, static library", linked, plain_entries)
    # The compiler adds one entry to a library, as to the program.
    figures += facts("the shared library", workshop.kit("g++", "shared").library, plain_entries)
    figures += added("the static library", [without, linked], MORE_INSTRUCTIONS)
    both = workshop.kit("g++", "static", "both")
    figures += added("the archive of both kinds", loader_programs(workshop, both, "both"), MORE_INSTRUCTIONS)
    figures += shared(workshop)
    if repeatable:
        return figures
    again = shutil.copy(without, workshop.folder / "startup_again")
    return figures + time(workshop, [without, again, linked])
