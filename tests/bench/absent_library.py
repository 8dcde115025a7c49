"""The cost of a call without a library, after the first one."""

from figures import Figure, skipped
from measure import NO_VALGRIND, count_calls, have_valgrind, time_calls

# The result of each call, as programs/call.cpp has it.
FUNCTIONS = {
    "cuInit": "cushim::driver().cuInit(0) == no_driver",
    "cuMemAlloc": "cushim::driver().cuMemAlloc(&memory, 4096) == no_driver",
    "cudaDeviceSynchronize": "cushim::runtime().cudaDeviceSynchronize() == no_runtime",
    "cudaGetDeviceCount": "cushim::runtime().cudaGetDeviceCount(&count) == no_runtime && count == 0",
}
CALLS, CHUNKS, ROUNDS = 10_000, 100, 15
LIMIT_NS = 20
# 20 ns at 3 GHz and four instructions per cycle, as measured here.
LIMIT_INSTRUCTIONS = 240


def measure(workshop, repeatable):
    kit = workshop.kit("g++", "static")
    commands = {
        name: [workshop.program(f"absent_{name}", "g++", "call.cpp",
                                [f"-DABSENT={condition}", *kit.flags, *kit.link_flags])]
        for name, condition in FUNCTIONS.items()}
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
