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
# A tenth above the measured values. If the dynamic linker had to search for the slots by name, these would be 1.5 and
# 2.3 millions; half of the second is that its other searches also look in these two libraries.
MORE_WITH_SHARED_CORE, MORE_WITH_SHARED_WRAPPERS = 37_300, 194_400
# The same for a program with the drop-in that is linked as README.md shows, without --gc-sections.
MORE_WITH_DROP_IN = 66_900
# In addition to a program with as many libraries that are empty: the kernel takes most of the time to load one.
SHARED_US = {"core": 30, "drop-in": 50, "wrappers": 150}
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


def medians(workshop, programs):
    """For each program, microseconds from start to end and of the processor."""
    timer = workshop.program("spawn_timer", "g++", "spawn_timer.c", [])
    lines = call([timer, str(ROUNDS), *programs]).splitlines()
    columns = zip(*(map(float, line.split()) for line in lines))
    return [statistics.median(column) for column in columns]


def time(workshop, programs):
    values = medians(workshop, programs)
    return judge("time", *values[0::2]) + judge("processor time", *values[1::2])


def added(name, programs, limit):
    """The additional instructions of the second of two programs."""
    if not have_valgrind():
        return [skipped(f"{name} adds", NO_VALGRIND)]
    without, linked = (instructions(program, []) for program in programs)
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


def shared(workshop, repeatable):
    """The libraries and programs are in a folder whose path has the same length everywhere, because the dynamic
    linker reads it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        folder = pathlib.Path(folder)
        kit = workshop.kit("g++", "shared").copied_to(folder)

        def program(name, source, *flags):
            return shutil.move(workshop.program(f"shared_{name}", "g++", source, ["-s", *flags]), folder / name)

        without, cpp = program("without", "startup.c"), program("cpp", "startup.cpp")
        programs = {
            "core": program("core", "startup.c", "-DWITH_LOADER", *kit.flags, *kit.link_flags),
            "drop-in": program("drop-in", "runtime_api.c", *kit.include_flags, *kit.drop_in_link_flags()),
            "wrappers": program("wrappers", "startup.cpp", "-DWITH_WRAPPERS", *kit.flags, *kit.wrapper_link_flags()),
        }
        figures = added("the shared library", [without, programs["core"]], MORE_WITH_SHARED_CORE)
        figures += added("the shared library with the drop-in", [without, programs["drop-in"]], MORE_WITH_DROP_IN)
        figures += added("the shared wrappers", [cpp, programs["wrappers"]], MORE_WITH_SHARED_WRAPPERS)
        if repeatable:
            return figures
        one, two = (program(name, "empty.c", "-shared", "-fPIC", f"-Wl,-soname,{name}") for name in ("one", "two"))
        bare = ["-Wl,--no-as-needed", f"-Wl,-rpath,{folder}"]
        empty = program("with_one", "startup.c", *bare, one)
        of_cpp = program("with_two", "startup.cpp", *bare, one, two)
        return figures + shared_times(workshop, folder, programs, {"core": empty, "drop-in": empty, "wrappers": of_cpp})


def shared_times(workshop, folder, programs, bases):
    again = shutil.copy(bases["core"], folder / "again")
    timed = {"again": again, **{f"base of {name}": base for name, base in bases.items()}, **programs}
    values = dict(zip(timed, medians(workshop, timed.values())[0::2]))
    noise = abs(percent(values["again"], values["base of core"]))
    figures = [Figure("shared libraries: identical files differ by", noise, "%")]
    for name, limit in SHARED_US.items():
        text = f"start, {name}: above a program with empty libraries"
        more = values[name] - values[f"base of {name}"]
        figures.append(Figure(text, more, "us", limit=limit) if noise <= MOST_NOISE_PERCENT else
                       skipped(text, "machine too busy"))
    return figures


def measure(workshop, repeatable):
    without, linked = loader_programs(workshop, workshop.kit("g++", "static"), "static")
    plain_entries = init_array_entries(without)
    figures = facts("C program, static library", linked, plain_entries)
    # The compiler adds one entry to a library, as to the program.
    figures += facts("the shared library", workshop.kit("g++", "shared").library, plain_entries)
    figures += added("the static library", [without, linked], MORE_INSTRUCTIONS)
    both = workshop.kit("g++", "static", "both")
    figures += added("the archive of both kinds", loader_programs(workshop, both, "both"), MORE_INSTRUCTIONS)
    figures += shared(workshop, repeatable)
    if repeatable:
        return figures
    again = shutil.copy(without, workshop.folder / "startup_again")
    return figures + time(workshop, [without, again, linked])
