"""The cost of calls of the simulated driver and runtime in immediate mode."""

from figures import Figure, skipped
from measure import NO_VALGRIND, count_calls, have_valgrind, time_calls

# The names in programs/simulator.cpp; a plus sign joins two calls.
CALLS = {
    "cuCtxGetCurrent": "",
    "cuDeviceGetAttribute": "",
    "cuStreamQuery": "",
    "cuEventRecord": "",
    "cuEventQuery": "",
    "cuMemcpyDtoD": ", 16 bytes",
    "cuMemcpyHtoD": ", 16 bytes",
    "cuMemsetD8": ", 16 bytes",
    "cuLaunchHostFunc": "",
    "cuMemAlloc+cuMemFree": ", 512 bytes",
    "cuMemAllocAsync+cuMemFreeAsync": ", 512 bytes",
    "cuLaunchKernel": ", four arguments, a host function",
    "cuLaunchKernel-idle": ", four arguments, no host function",
    "cudaStreamQuery": "",
    "cudaMemcpy": ", 16 bytes",
    "cudaLaunchKernel": ", four arguments, a host function",
}
TIMED_CALLS, CHUNKS, ROUNDS = 1000, 50, 9
COUNTED_CALLS = 6000
LIMIT_NS = 1000
# 1 us at 3 GHz and three instructions per cycle, somewhat less than measured here.
LIMIT_INSTRUCTIONS = 9000


def title(name):
    return name.removesuffix("-idle").replace("+", " + ") + CALLS[name]


def calls_in(name):
    return name.count("+") + 1


def count(commands, environment):
    if not have_valgrind():
        return [skipped("instructions per call", NO_VALGRIND)]
    return [Figure(title(name), value, "instructions", limit=LIMIT_INSTRUCTIONS * calls_in(name))
            for name, value in count_calls(commands, COUNTED_CALLS, **environment).items()]


def time(commands, environment):
    times = time_calls(commands, TIMED_CALLS, CHUNKS, ROUNDS, **environment)
    return [Figure(title(name), value, "ns", limit=LIMIT_NS * calls_in(name)) for name, value in times.items()]


def measure(workshop, repeatable):
    if not workshop.has_simulator:
        return [skipped("calls of the simulator", "built without the simulator")]
    kit, simulator = workshop.kit("g++", "static"), workshop.simulator()
    program = workshop.program(
        "simulator", "g++", "simulator.cpp",
        [*kit.flags, *simulator.include_flags, *kit.link_flags])
    commands = {name: (program, name) for name in CALLS}
    figures = count(commands, simulator.environment)
    return figures if repeatable else figures + time(commands, simulator.environment)
