"""The cost of calls of the simulated driver and runtime in immediate mode, and how the cost of an operation grows with
the size of what it works on.
"""

from figures import Figure, skipped
from measure import NO_VALGRIND, count_calls, have_valgrind, instructions, printed_number, time_calls

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
# About 1 us at 3 GHz and three instructions per cycle.
LIMIT_INSTRUCTIONS = 10_500

# Operations of programs/simulator_growth.cpp, with their mode. The instructions of one operation are compared for a
# small and a large graph or number of streams, so that a cost that grows with the size shows on every machine.
GROWTH = (
    ("a node destroyed", "immediate", "destroy-node"),
    ("an edge of a hub removed", "immediate", "remove-edge"),
    ("an edge to a hub added", "immediate", "add-edge"),
    ("a dependency of a new node", "immediate", "dependency"),
    ("a root instantiated", "immediate", "instantiate-roots"),
    ("a node of a chain of memory nodes instantiated", "immediate", "instantiate-allocations"),
    ("a node of a chain of memory nodes launched", "immediate", "launch-allocations"),
    ("a node of a wide graph launched", "immediate", "launch-wide"),
    ("a node of a wide graph launched, adversarial", "adversarial", "launch-wide"),
    ("a node of a chain launched, adversarial", "adversarial", "launch-chain"),
    ("a memset in a stream of its own", "immediate", "streams"),
    ("a memset in a stream of its own, adversarial", "adversarial", "streams"),
    ("a stream destroyed", "immediate", "destroy-stream"),
    ("the access to one mapping of many set", "immediate", "set-access"),
    ("a mapping of many removed", "immediate", "unmap"),
    ("a mapping of many removed, adversarial", "adversarial", "unmap"),
    ("a blocking copy beside used streams", "immediate", "copy"),
    ("a blocking copy beside used streams, adversarial", "adversarial", "copy"),
)
# Kinds of objects in programs/simulator_objects.cpp: the instructions to create one, and to destroy one in random
# order.
OBJECTS = {
    "used-stream": "a stream",
    "context": "a context",
    "full-context": "a context with objects",
    "push": "a pushed context",
    "peer-access": "the access of a context to another",
    "exec-with-memory": "a graph that allocates memory",
    "capture": "a capture",
    "pool": "a memory pool",
    "synchronize-beside-pools": "a synchronization beside memory pools",
    "uneven-memory": "memory of different sizes",
    "large-memory": "memory of 2 MiB",
    "mapping": "a mapped part of a range",
}
CREATED, DESTROYED = "create", "random"
COUNTED_SIZES, TIMED_SIZES = (500, 8000), (1000, 100_000)
MOST_MAPPINGS = 30_000  # Linux permits a process 65,530
MOST_GROWTH = 2
# Without callgrind: how often threads go to sleep, by the number of streams; and the memory of the largest chain of
# memory nodes, for each of them. It takes about 500 bytes.
SLEEPS, THREADS = "copy-sleeps", (10, 1000)
MEMORY, MOST_BYTES = "instantiate-allocations-memory", 2000


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


def per_operation(program, mode, name, size, environment):
    chosen = environment | {"CUSHIM_SIM": f"mode={mode}"}
    return instructions(program, [name, str(size)], inside="measured_part", **chosen) / size


def growth_figures(name, small, large, sizes, unit):
    return [
        Figure(f"{name}, {sizes[1]:,} of them", large, unit),
        Figure(f"{name}, {sizes[1]:,} : {sizes[0]:,}", large / small, "times", limit=MOST_GROWTH),
    ]


def count_growth(program, environment):
    if not have_valgrind():
        return [skipped("growth of instructions", NO_VALGRIND)]
    figures = []
    for title, mode, name in GROWTH:
        small, large = (per_operation(program, mode, name, size, environment) for size in COUNTED_SIZES)
        figures += growth_figures(title, small, large, COUNTED_SIZES, "instructions")
    return figures


def count_objects(program, environment):
    if not have_valgrind():
        return [skipped("growth of instructions of objects", NO_VALGRIND)]
    chosen = environment | {"CUSHIM_SIM": "devices=2;memory=64GiB"}
    figures = []
    for kind, title in OBJECTS.items():
        for order, what in ((CREATED, "created"), (DESTROYED, "destroyed")):
            small, large = (instructions(program, [kind, order, str(size)], inside="measured_part", **chosen) / size
                            for size in COUNTED_SIZES)
            figures += growth_figures(f"{title}, {what}", small, large, COUNTED_SIZES, "instructions")
    return figures


def fastest(program, mode, name, size, environment, runs=3):
    chosen = environment | {"CUSHIM_SIM": f"mode={mode}"}
    return min(printed_number(program, name, str(size), **chosen) for _ in range(runs))


def growth(workshop, environment, repeatable):
    kit = workshop.kit("g++", "static")
    program = workshop.program("simulator_growth", "g++", "simulator_growth.cpp", [*kit.flags, *kit.link_flags])
    objects = workshop.program("simulator_objects", "g++", "simulator_objects.cpp", [*kit.flags, *kit.link_flags])
    figures = count_growth(program, environment) + count_objects(objects, environment)
    sleeps = [fastest(program, "threaded", SLEEPS, size, environment) for size in THREADS]
    figures += growth_figures("sleeping threads of a blocking copy, threaded", *sleeps, THREADS, "")
    memory = fastest(program, "immediate", MEMORY, COUNTED_SIZES[1], environment)
    figures.append(Figure("memory of a node of a chain of memory nodes", memory, "bytes", limit=MOST_BYTES))
    if not repeatable:
        # Without a limit: the objects of large graphs do not fit into the processor's caches.
        for title, mode, name in GROWTH:
            for size in TIMED_SIZES:
                size = min(size, MOST_MAPPINGS) if name in ("set-access", "unmap") else size
                figures.append(Figure(f"{title}, {size:,}", fastest(program, mode, name, size, environment), "ns"))
    return figures


def measure(workshop, repeatable):
    if not workshop.has_simulator:
        return [skipped("calls of the simulator", "built without the simulator")]
    kit, simulator = workshop.kit("g++", "static"), workshop.simulator()
    program = workshop.program(
        "simulator", "g++", "simulator.cpp",
        [*kit.flags, *simulator.include_flags, *kit.link_flags])
    commands = {name: (program, name) for name in CALLS}
    figures = count(commands, simulator.environment)
    if not repeatable:
        figures += time(commands, simulator.environment)
    return figures + growth(workshop, simulator.environment, repeatable)
