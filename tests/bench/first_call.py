"""The cost of the first call in addition to bare dlopen and dlsym, each in a fresh process."""

from figures import Figure, skipped
from measure import NO_VALGRIND, alternate, have_valgrind, instructions, medians, printed_number

PROCESSES = 201
ABOVE_BARE_US = {"static": 20, "shared": 25}
# A tenth above the measured values. The shared library looks up its own references to the C library.
MORE_INSTRUCTIONS = {"static": 27_200, "shared": 30_500}


def programs(workshop, suffix="", *flags):
    """The bare program, and one with each kind of the library."""
    built = {"bare": workshop.program(f"first_raw{suffix}", "g++", "first_use_raw.cpp", flags)}
    for kind in ABOVE_BARE_US:
        kit = workshop.kit("g++", kind)
        built[kind] = workshop.program(f"first_{kind}{suffix}", "g++", "first_use_table.cpp",
                                       [*kit.flags, *flags, *kit.link_flags])
    return built


def count(plain, environment):
    if not have_valgrind():
        return [skipped("instructions of the first call", NO_VALGRIND)]
    counts = {name: instructions(program, ["init"], "first_init(Arguments const&)", **environment)
              for name, program in plain.items()}
    return [Figure("instructions: bare dlopen + dlsym", counts["bare"])] + [
        Figure(f"instructions, the {kind} library adds", counts[kind] - counts["bare"], limit=limit)
        for kind, limit in MORE_INSTRUCTIONS.items()]


def measure(workshop, repeatable):
    driver, runtime = workshop.fake_driver(), workshop.fake_runtime()
    plain = programs(workshop)
    in_path = {"FIRST_USE_DRIVER": driver.name, "LD_LIBRARY_PATH": str(driver.parent)}
    figures = count(plain, in_path)
    if repeatable:
        return figures
    # Like an installed driver, found by name. The search of the shared library does not use the program's run path.
    found = programs(workshop, "_found", f"-Wl,-rpath,{driver.parent}")
    del found["shared"]
    names = {"FIRST_USE_DRIVER": driver.name, "FIRST_USE_RUNTIME": runtime.name}
    cases = {
        "driver, by name": ("init", found, names),
        "driver, LD_LIBRARY_PATH": ("init", plain, in_path),
        "driver, CUSHIM_DRIVER": (
            "init", plain, {"CUSHIM_DRIVER": str(driver), "FIRST_USE_DRIVER": str(driver)}),
        "driver and runtime, by name": ("runtime", found, names),
    }
    for name, (which, built, environment) in cases.items():
        figures += compare(name, which, built, environment)
    return figures


def compare(name, which, built, environment):
    def run(program):
        return lambda: printed_number(program, which, **environment) / 1000

    results = medians(alternate(PROCESSES, {key: run(p) for key, p in built.items()}))
    bare = results.pop("bare")
    figures = [Figure(f"{name}: bare dlopen + dlsym", bare, "us")]
    for kind, first in results.items():
        figures += [Figure(f"{name}: first call, {kind} library", first, "us"),
                    Figure(f"{name}: added, {kind} library", first - bare, "us", limit=ABOVE_BARE_US[kind])]
    return figures
