"""What a call costs while there is no library: every call after the first."""

from figures import Figure, skipped
from measure import NO_VALGRIND, count_calls, have_valgrind, time_calls

FUNCTIONS = ["cuInit", "cuMemAlloc", "cudaDeviceSynchronize", "cudaGetDeviceCount"]
CALLS, CHUNKS, ROUNDS = 10_000, 100, 15
LIMIT_NS = 20
# What takes 20 ns at 3 GHz and four instructions a cycle, which is what was measured here.
LIMIT_INSTRUCTIONS = 240


def measure(workshop, repeatable):
    kit = workshop.kit("g++", "static")
    program = workshop.program("absent", "g++", "absent.cpp", kit.flags + kit.link_flags)
    commands = {function: (program, function) for function in FUNCTIONS}
    figures = []
    if not have_valgrind():
        figures.append(skipped("instructions per call", NO_VALGRIND))
    else:
        counts = count_calls(commands, CUSHIM_DISABLE="1")
        figures += [Figure(name, count, "instructions", limit=LIMIT_INSTRUCTIONS)
                    for name, count in counts.items()]
    if not repeatable:
        times = time_calls(commands, CALLS, CHUNKS, ROUNDS, CUSHIM_DISABLE="1")
        figures += [Figure(name, time, "ns", limit=LIMIT_NS) for name, time in times.items()]
    return figures
