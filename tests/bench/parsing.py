"""How long the compiler takes to parse the headers, and which standard headers they include."""

import os
import re
import shutil
import subprocess

from figures import Figure, skipped
from measure import NO_VALGRIND, alternate, have_valgrind
from workshop import call, clean_environment

ROUNDS = 25
BOTH_TABLES_MS = 150
# Relative to NVIDIA's headers alone; a twentieth above the measured values.
INSTRUCTION_RATIOS = {"cushim/stream.hpp": 4.16, "cushim/cushim.hpp": 10.8}
# Measured by processor time, with a tenth for its noise.
TIME_RATIOS = {"both tables": 3.5, "cushim/stream.hpp": 4.6, "cushim/cushim.hpp": 12}
# Headers of the C++ library that are slow to parse, or that include such headers. Not <utility>, for std::in_place.
HEAVY = {
    "algorithm", "any", "array", "atomic", "bitset", "chrono", "condition_variable", "coroutine",
    "deque", "exception", "filesystem", "format", "fstream", "functional", "future", "iomanip",
    "ios", "iostream", "istream", "iterator", "list", "locale", "map", "memory", "memory_resource",
    "mutex", "optional", "ostream", "queue", "random", "ranges", "regex", "set", "shared_mutex",
    "span", "sstream", "stack", "stdexcept", "streambuf", "string", "string_view", "system_error",
    "thread", "tuple", "unordered_map", "unordered_set", "valarray", "variant", "vector",
}
TABLES = ["cushim/driver_table.hpp", "cushim/runtime_table.hpp"]
GENERATED = ["cushim/detail/driver_headers.h", "cushim/detail/runtime_headers.h"]
ENTRIES = ["cushim/detail/driver_entries.hpp", "cushim/detail/runtime_entries.hpp"]
CASES = {
    "both tables": TABLES,
    "tables and entry points": TABLES + ENTRIES,
    "cushim/loader.hpp": ["cushim/loader.hpp"],
    "cushim/stream.hpp": ["cushim/stream.hpp"],
    "cushim/cushim.hpp": ["cushim/cushim.hpp"],
}
NVIDIA = "NVIDIA's headers alone"


def nvidia_headers(kit):
    """The headers that the tables include."""
    text = (kit.folder / "include" / GENERATED[0]).read_text()
    text += (kit.folder / "include" / GENERATED[1]).read_text()
    return [name for name in re.findall(r"#include <(.*)>", text) if "cushim" not in name]


def write_source(workshop, name, headers):
    path = workshop.folder / f"parse_{re.sub('[^a-z]', '_', name.lower())}.cpp"
    path.write_text("".join(f"#include <{header}>\n" for header in headers))
    return path


def processor_ms(command):
    """User and system time; the system knows only the sum exactly."""
    process = subprocess.Popen(command, env=clean_environment())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(" ".join(command))
    return (usage.ru_utime + usage.ru_stime) * 1000


def sources(workshop, kit):
    nvidia = nvidia_headers(kit)
    cases = {NVIDIA: []} | CASES
    return {
        name: write_source(workshop, name, nvidia + headers) for name, headers in cases.items()
    }


def time(workshop, compiler, limit, limits):
    if shutil.which(compiler) is None:
        return [skipped(f"parsing, {compiler}", f"no {compiler}")]
    kit = workshop.kit(compiler, "static")
    command = [compiler, "-std=c++20", "-fsyntax-only", *kit.flags]
    results = alternate(ROUNDS, {
        name: lambda path=path: processor_ms([*command, str(path)])
        for name, path in sources(workshop, kit).items()
    })
    best = {name: min(times) for name, times in results.items()}
    figures = [Figure(f"{compiler}: {NVIDIA}", best[NVIDIA], "ms")]
    return figures + [
        Figure(f"{compiler}: {name}, on top", best[name] - best[NVIDIA], "ms",
               limit=limit if name == "both tables" else None)
        for name in CASES
    ] + [
        Figure(f"{compiler}: NVIDIA's headers and {name}", best[name] / best[NVIDIA], "times",
               limit=limits.get(name))
        for name in CASES
    ]


def compiler_instructions(command):
    """Of the compiler and of the processes that it starts."""
    output = call(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=yes",
                   "--log-fd=1", *command])
    return sum(map(int, re.findall(r"Collected : (\d+)", output)))


def count(workshop):
    """For a header that needs CUDA's types, but no table, and for all headers."""
    if not have_valgrind():
        return [skipped(f"{name}: instructions", NO_VALGRIND) for name in INSTRUCTION_RATIOS]
    kit = workshop.kit("g++", "static")
    paths = sources(workshop, kit)
    counts = {
        name: compiler_instructions(["g++", "-std=c++20", "-fsyntax-only", *kit.flags, paths[name]])
        for name in (NVIDIA, *INSTRUCTION_RATIOS)
    }
    return [Figure(f"g++: {NVIDIA}", counts[NVIDIA] / 1e6, "million instructions")] + [
        Figure(f"g++: the same and {name}", counts[name] / counts[NVIDIA], "times", limit=limit)
        for name, limit in INSTRUCTION_RATIOS.items()
    ]


def heavy_headers(kit, source):
    """The C++ library headers that a source includes, by the names that programs use."""
    rules = call(["g++", "-std=c++20", "-M", *kit.flags, source])
    names = re.findall(r"/c\+\+/(?:\d+/)?(\w+)(?=\s|$)", rules)
    return sorted(HEAVY & set(names))


def headers(workshop):
    kit = workshop.kit("g++", "static")
    figures = []
    for name in ("both tables", "cushim/loader.hpp"):
        source = write_source(workshop, name, CASES[name])
        heavy = heavy_headers(kit, source)
        figures.append(Figure(f"{name}: heavy standard headers", " ".join(heavy) or "none",
                              right=not heavy, limit_text="none"))
    return figures


def measure(workshop, repeatable):
    figures = headers(workshop) + count(workshop)
    if repeatable:
        return figures
    return figures + time(workshop, "g++", BOTH_TABLES_MS, TIME_RATIOS) + time(workshop, "clang++", None, {})
