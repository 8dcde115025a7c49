"""What a call through the table costs, against the other ways to reach the same fake library."""

from figures import Figure, skipped
from measure import (
    NO_VALGRIND,
    alternate,
    have_valgrind,
    instructions_per_call,
    printed_number,
)

DIRECT = "direct call, -fno-plt"
TABLE = "table, static library"
CALLS, CHUNKS, ROUNDS = 50_000, 200, 15
MORE_INSTRUCTIONS, RATIO = 1, 1.05


def programs(workshop):
    """Name and program, of each way to call."""
    fake = workshop.fake_driver()
    static, shared = workshop.kit("g++", "static"), workshop.kit("g++", "shared")
    nvidia = static.include_flags
    linked = [fake, f"-Wl,-rpath,{fake.parent}"]

    def build(name, source, *flags):
        return workshop.program(name, "g++", source, list(flags))

    return {
        DIRECT: build("direct_no_plt", "call_direct.cpp", "-fno-plt", *nvidia, *linked),
        "direct call, PLT": build("direct_plt", "call_direct.cpp", "-fplt", *nvidia, *linked),
        TABLE: build("table_static", "call_table.cpp", *static.flags, *static.link_flags),
        "table, shared library": build(
            "table_shared", "call_table.cpp", *shared.flags, *shared.link_flags),
        "table, shared library, -fPIC caller": build(
            "table_shared_pic", "call_table.cpp", "-fPIC", *shared.flags, *shared.link_flags),
        "function-local static, null check": build("static_pointer", "call_static.cpp", *nvidia),
        "getter with std::call_once": build("call_once", "call_once.cpp", *nvidia),
        "dlsym for every call": build("call_dlsym", "call_dlsym.cpp", *nvidia),
    }


def count(ways, environment):
    if not have_valgrind():
        return [skipped("instructions per call", NO_VALGRIND)]
    counts = {name: instructions_per_call(p, **environment) for name, p in ways.items()}
    limits = {TABLE: counts[DIRECT] + MORE_INSTRUCTIONS}
    return [
        Figure(name, value, "instructions", limit=limits.get(name))
        for name, value in counts.items()
    ]


def time(ways, environment):
    def run(program):
        return lambda: printed_number(program, str(CALLS), str(CHUNKS), **environment)

    results = alternate(ROUNDS, {name: run(program) for name, program in ways.items()})
    best = {name: min(values) for name, values in results.items()}
    figures = [Figure(name, value, "ns") for name, value in best.items()]
    return figures + [
        Figure(f"time ratio, {TABLE} : {DIRECT}", best[TABLE] / best[DIRECT], limit=RATIO)
    ]


def measure(workshop, repeatable):
    ways = programs(workshop)
    environment = {"CUSHIM_DRIVER": str(workshop.fake_driver())}
    figures = count(ways, environment)
    return figures if repeatable else figures + time(ways, environment)
