"""What a call costs while there is no library: every call after the first."""

from figures import Figure, skipped
from measure import (
    NO_VALGRIND,
    alternate,
    have_valgrind,
    instructions_per_call,
    printed_number,
)

FUNCTIONS = ["cuInit", "cuMemAlloc", "cudaDeviceSynchronize", "cudaGetDeviceCount"]
CALLS, CHUNKS, ROUNDS = 10_000, 100, 15
LIMIT_NS = 20
# What takes 20 ns at 3 GHz and four instructions a cycle, which is what was measured here.
LIMIT_INSTRUCTIONS = 240


def measure(workshop, repeatable):
    kit = workshop.kit("g++", "static")
    program = workshop.program("absent", "g++", "absent.cpp", kit.flags + kit.link_flags)
    figures = []
    if not have_valgrind():
        figures.append(skipped("instructions per call", NO_VALGRIND))
    else:
        for function in FUNCTIONS:
            count = instructions_per_call(program, function, CUSHIM_DISABLE="1")
            figures.append(Figure(function, count, "instructions", limit=LIMIT_INSTRUCTIONS))
    if repeatable:
        return figures

    def run(function):
        return lambda: printed_number(
            program, function, str(CALLS), str(CHUNKS), CUSHIM_DISABLE="1")

    results = alternate(ROUNDS, {function: run(function) for function in FUNCTIONS})
    return figures + [
        Figure(function, min(values), "ns", limit=LIMIT_NS) for function, values in results.items()
    ]
