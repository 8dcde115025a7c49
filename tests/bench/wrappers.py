"""What wrappers add to raw calls, on a driver and a runtime that do nothing: instructions and driver calls of an operation.

Callgrind writes the instructions of each call of one function of the program, measured(), which repeats an operation.
The result is the slope between a short and a long repetition, so it does not depend on the rest of the program.
"""

import re

from figures import Figure, skipped
from measure import NO_VALGRIND, have_valgrind
from workshop import call, clean_environment

SHORT, LONG = 100, 2100

# Instructions and driver calls in addition to the raw ones. Only what programs do a million times a second has a limit of
# instructions, above the measured numbers, since compilers differ; the time of the others is compared with the
# driver's on a GPU (tests/gpu/wrapper_cost_test.cpp, graph_cost_test.cpp).
LIMITS = {
    "event, create and destroy": (None, 1),
    "event, record": (40, 0),
    "event, wait": (40, 0),
    "stream, create and destroy": (None, 1),
    "device memory, allocate and free": (None, 3),
    "the same in stream order": (None, 2),
    "mapped range, map and unmap": (None, 0),
    "copy, enqueued": (81, 1),
    "fill, enqueued": (60, 0),
    "launch, four arguments": (140, 0),
    "graph, create and destroy": (None, 0),
    "graph, instantiate and destroy": (None, 3),
    "graph, launch": (95, 0),
    "graph, empty node": (None, 0),
    "graph, memset node": (None, 0),
    "graph, memcpy node": (None, 0),
    "graph, host node": (None, 0),
    "graph, kernel node": (None, 1),
    "executable graph, memset node": (None, 0),
    "executable graph, kernel node": (None, 1),
    "runtime graph, empty node": (None, 1),
    "runtime graph, memset node": (None, 1),
    "runtime graph, memcpy node": (None, 1),
    "runtime graph, host node": (None, 1),
}

# Nanoseconds in addition. Programs set nodes of executable graphs before each launch.
MORE_NS = {"executable graph, memset node": 40, "executable graph, kernel node": 100}


def build(workshop):
    """The program, and the library that is driver and runtime, without and with a count of calls."""
    kit = workshop.kit("g++", "static")
    others = workshop.folder / "idle_rows.c"
    names = [name for name in kit.row_names() if name.startswith("cu")]
    others.write_text("".join(
        ["extern unsigned long idle_driver_calls;\n"] +
        [f'__attribute__((weak, visibility("default"))) int {name}(void) {{\n'
         f"#ifdef COUNT_CALLS\n++idle_driver_calls;\n#endif\nreturn 0; }}\n" for name in names]))
    drivers = []
    for folder, flags in (("idle", []), ("idle_counting", ["-DCOUNT_CALLS"])):
        (workshop.folder / folder).mkdir(exist_ok=True)
        drivers.append(workshop.program(
            f"{folder}/libcuda.so.1", "g++", "idle_driver.c",
            [*flags, *kit.include_flags, others, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]))
    program = workshop.program(
        "wrappers", "g++", "wrappers.cpp", [*kit.flags, *kit.wrapper_link_flags()])
    return program, *drivers


def instructions(workshop, program, environment):
    """Names, and instructions of SHORT and LONG operations, raw and wrapped."""
    profile = workshop.folder / "wrappers.callgrind"
    output = call([
        "valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={profile}", "--combine-dumps=yes",
        "--toggle-collect=measured", "--dump-after=measured", program, SHORT, LONG,
    ], env=environment)
    names = [line.split(" ", 2)[2] for line in output.splitlines()]
    totals = [int(total) for total in re.findall(r"^totals: (\d+)", profile.read_text(), re.MULTILINE)]
    profile.unlink()
    return {name: totals[4 * i:4 * i + 4] for i, name in enumerate(names)}


def by_name(program, arguments, environment):
    """Names, and what the program prints for an operation: raw and wrapped."""
    rows = [line.split(" ", 2) for line in call([program, *arguments], env=environment).splitlines()]
    return {name: (float(raw), float(wrapped)) for raw, wrapped, name in rows}


def measure(workshop, repeatable):
    if not have_valgrind():
        return [skipped("instructions above the raw calls", NO_VALGRIND)]
    program, idle, counting = build(workshop)
    environment = {driver: clean_environment() | {"CUSHIM_DRIVER": str(driver), "CUSHIM_RUNTIME": str(driver)}
                   for driver in (idle, counting)}
    counts = instructions(workshop, program, environment[idle])
    calls = by_name(program, ("10", "1000"), environment[counting])
    times = {} if repeatable else by_name(program, ("time",), environment[idle])
    if set(counts) != set(LIMITS):
        raise SystemExit(f"operations without limits, or limits without operations: {set(counts) ^ set(LIMITS)}")
    figures = []
    for name, (raw_short, raw_long, short, long) in counts.items():
        raw, wrapped = ((ends[1] - ends[0]) / (LONG - SHORT) for ends in ((raw_short, raw_long), (short, long)))
        more_instructions, more_calls = LIMITS[name]
        figures += [
            Figure(f"{name} (raw: {raw:.0f})", round(wrapped - raw, 1), "instructions", limit=more_instructions),
            Figure(f"  (raw: {calls[name][0]:.0f})", calls[name][1] - calls[name][0], "driver calls",
                   limit=more_calls),
        ]
        if times:
            raw, wrapped = times[name]
            figures.append(Figure(f"  (raw: {raw:.1f})", round(wrapped - raw, 1), "ns", limit=MORE_NS.get(name)))
    return figures
