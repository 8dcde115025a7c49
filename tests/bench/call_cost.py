"""The cost of a call through the table, compared with other ways to call the same fake library."""

from figures import Figure, skipped
from measure import NO_VALGRIND, count_calls, have_valgrind, time_calls

DIRECT = "direct call, -fno-plt"
TABLE = "table, static library"
SHARED_TABLE = "table, shared library"
# A linker can give a program at a fixed address its own copy of a slot, which makes each call about 800 instructions.
CALLERS = {"": [], ", -fPIC caller": ["-fPIC"], ", -no-pie caller": ["-fno-pie", "-no-pie"]}
CALLS, CHUNKS, ROUNDS = 50_000, 200, 15
MORE_INSTRUCTIONS, RATIO = 1, 1.05


def programs(workshop):
    """Name and command of each way to call."""
    fake = workshop.fake_driver()
    static, shared = workshop.kit("g++", "static"), workshop.kit("g++", "shared")
    nvidia = static.include_flags
    linked = [fake, f"-Wl,-rpath,{fake.parent}"]

    def build(name, way, *flags):
        return [workshop.program(name, "g++", "call.cpp", [f"-D{way}", *flags])]

    return {
        DIRECT: build("direct_no_plt", "DIRECT", "-fno-plt", *nvidia, *linked),
        "direct call, PLT": build("direct_plt", "DIRECT", "-fplt", *nvidia, *linked),
        TABLE: build("table_static", "TABLE", *static.flags, *static.link_flags),
        **{f"{SHARED_TABLE}{name}": build(
            f"table_shared{''.join(flags)}", "TABLE", *flags, *shared.flags, *shared.link_flags)
           for name, flags in CALLERS.items()},
        "function-local static, null check": build("static_pointer", "STATIC_POINTER", *nvidia),
        "getter with std::call_once": build("call_once", "ONCE", *nvidia),
        "dlsym for every call": build("call_dlsym", "DLSYM", *nvidia),
    }


def count(ways, environment):
    if not have_valgrind():
        return [skipped("instructions per call", NO_VALGRIND)]
    counts = count_calls(ways, **environment)
    limit = counts[DIRECT] + MORE_INSTRUCTIONS
    return [
        Figure(name, value, "instructions", limit=limit if name.startswith("table") else None)
        for name, value in counts.items()
    ]


def time(ways, environment):
    best = time_calls(ways, CALLS, CHUNKS, ROUNDS, **environment)
    figures = [Figure(name, value, "ns") for name, value in best.items()]
    return figures + [
        Figure(f"time ratio, {TABLE} : {DIRECT}", best[TABLE] / best[DIRECT], limit=RATIO)
    ]


def measure(workshop, repeatable):
    ways = programs(workshop)
    environment = {"CUSHIM_DRIVER": str(workshop.fake_driver())}
    figures = count(ways, environment)
    return figures if repeatable else figures + time(ways, environment)
