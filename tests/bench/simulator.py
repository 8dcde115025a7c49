"""What calls of the simulated driver and runtime cost in immediate mode."""

from figures import Figure, skipped
from measure import (
    NO_VALGRIND,
    alternate,
    have_valgrind,
    instructions_per_call,
    printed_number,
)

# How programs/simulator.cpp names them; two calls where there is a plus sign.
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
# What takes 1 us at 3 GHz and three instructions a cycle: somewhat less than was measured here.
LIMIT_INSTRUCTIONS = 9000


def title(name):
    return name.removesuffix("-idle").replace("+", " + ") + CALLS[name]


def calls_in(name):
    return name.count("+") + 1


def count(program, environment):
    if not have_valgrind():
        return [skipped("instructions per call", NO_VALGRIND)]
    return [
        Figure(title(name),
               instructions_per_call(program, name, calls=COUNTED_CALLS, **environment),
               "instructions", limit=LIMIT_INSTRUCTIONS * calls_in(name))
        for name in CALLS
    ]


def time(program, environment):
    def run(name):
        return lambda: printed_number(program, name, str(TIMED_CALLS), str(CHUNKS), **environment)

    results = alternate(ROUNDS, {name: run(name) for name in CALLS})
    return [
        Figure(title(name), min(values), "ns", limit=LIMIT_NS * calls_in(name))
        for name, values in results.items()
    ]


def measure(workshop, repeatable):
    if not workshop.has_simulator:
        return [skipped("calls of the simulator", "built without it")]
    kit, simulator = workshop.kit("g++", "static"), workshop.simulator()
    program = workshop.program(
        "simulator", "g++", "simulator.cpp",
        [*kit.flags, *simulator.include_flags, *kit.link_flags])
    figures = count(program, simulator.environment)
    return figures if repeatable else figures + time(program, simulator.environment)
