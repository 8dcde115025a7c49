"""Generates the exports of the simulated libraries from rows.json and from the simulated functions.

usage: generate_exports.py functions LIBRARY ROWS_JSON FUNCTIONS_HPP
       generate_exports.py exports LIBRARY ROWS_JSON EXPORTS_CPP ROWS_CPP SOURCE...
       generate_exports.py symbols LIBRARY ROWS_JSON SYMBOLS --format elf|windows --version VERSION
                           [--without NAME]... [--node NAME]
       generate_exports.py missing ROWS_JSON LIST_TXT LIST_INC SOURCE...

LIBRARY is driver or runtime. A function is simulated if the definition of a function of its name begins with
EXPORT; ANY_TIME behind it permits calls before initialization, and its parameters that are marked OUT are
overwritten if it fails (driver/base/export.hpp). Sources named
*.txt are tables of functions that forward to another one, whose OUT parameters they have: "NAME TARGET", then
"from 12.0" or "before 12.0" if that depends on the headers, "null 3" if the target gets a null pointer as its
argument 3, "any-context" if a driver function needs no current context, and "writes 2 3" with the indices of OUT
parameters if these differ. TARGET is a function of the simulator, or a driver function that the runtime calls.
unsafe_in_captures.txt lists entry points; their exports check first whether a stream capture forbids the call.
"""

import argparse
import collections
import os
import re
import sys
import json

EXPORT = re.compile(r"(?P<base>\w+?)(?:_v(?P<abi>\d+))?(?P<per_thread>_ptsz|_ptds)?")
DEFINITION = re.compile(r"^EXPORT\s(ANY_TIME\s)?[^;{}()]*?(\w+)\(([^;{}]*)\)\s*\{", re.M)
FORBIDDEN = "unsafe_in_captures.txt"
# The CUDA version that replaced the first ABI, with its 32-bit device addresses and sizes.
WIDE = 3020
# Deprecated entry points are exported too.
QUIET = ["#ifdef __GNUC__", '#pragma GCC diagnostic ignored "-Wdeprecated-declarations"', "#endif"]

# Functions that the simulated runtime finds in the simulated driver.
DRIVER_HOOKS = ["cushim_sim_control", "cushim_sim_hooks"]


def registration(version):
    """Functions that nvcc's host code calls; no header declares them."""
    names = ["RegisterFatBinary", "RegisterFatBinaryEnd", "UnregisterFatBinary", "RegisterFunction", "RegisterVar",
             "RegisterManagedVar", "RegisterHostVar", "PushCallConfiguration", "PopCallConfiguration", "InitModule"]
    names += ["RegisterUnifiedTable"] if version >= 12000 else ["RegisterTexture", "RegisterSurface"]
    names += ["GetKernel", "LaunchKernel", "LaunchKernel_ptsz"] if version >= 12010 else []
    return ["__cuda" + name for name in names]


Row = collections.namedtuple(
    "Row", "export base abi per_thread introduced result types number")
# A function that an export calls: the table's words behind its name if it is forwarded, the indices of its outputs, and
# whether it is marked ANY_TIME.
Function = collections.namedtuple("Function", "forward outputs any_time", defaults=(False,))


def rows_of(description, library):
    rows = []
    for number, row in enumerate(description["tables"][library]["rows"]):
        name = EXPORT.fullmatch(row["export"])
        rows.append(Row(
            row["export"], name["base"], int(name["abi"] or 1), name["per_thread"] or "",
            row["introduced"], row["result"], [p["type"] for p in row["parameters"]], number))
    return rows


def version_of(text):
    major, minor = text.split(".")
    return int(major) * 1000 + int(minor) * 10


def forwards_in(table, version):
    """The words behind the name of each function that a table lists for the version of the headers."""
    forwards = {}
    for line in table.splitlines():
        name, *words = line.partition("#")[0].split() or [""]
        first = version_of(words[words.index("from") + 1]) if "from" in words else 0
        end = version_of(words[words.index("before") + 1]) if "before" in words else version + 1
        if name and first <= version < end:
            forwards[name] = words
    return forwards


def outputs_of_forward(words, functions):
    if "writes" in words:
        return {int(index) for index in words[words.index("writes") + 1:]}
    target = functions.get(words[0].partition("<")[0])
    return target.outputs if target else set()


def functions_of(sources, version):
    """The functions that the sources define or forward."""
    functions, forwards = {}, {}
    for source in sources:
        if os.path.basename(source) == FORBIDDEN:
            continue
        with open(source, encoding="utf-8") as file:
            text = file.read()
        if source.endswith(".txt"):
            forwards |= forwards_in(text, version)
            continue
        for any_time, name, parameters in DEFINITION.findall(text):
            outputs = [index for index, parameter in enumerate(parameters.split(",")) if "OUT" in parameter.split()]
            functions[name] = Function(None, set(outputs), bool(any_time))
    twice = sorted(functions.keys() & forwards.keys())
    if twice:
        sys.exit(f"both defined and forwarded: {', '.join(twice)}")
    # The driver's forwards first: those of the runtime may name them.
    for name, words in sorted(forwards.items(), key=lambda forward: forward[0].startswith("cuda")):
        functions[name] = Function(words, outputs_of_forward(words, functions))
    return functions


def forbidden_in_captures(sources):
    names = set()
    for source in sources:
        if os.path.basename(source) == FORBIDDEN:
            with open(source, encoding="utf-8") as file:
                names |= {line.strip() for line in file if not line.startswith("#")}
    return names


class Bodies:
    """The function that each row calls."""

    def __init__(self, rows, functions, forbidden=()):
        self.functions = functions
        self.forbidden = forbidden
        self.families = collections.defaultdict(list)
        for row in rows:
            self.families[row.base].append(row)

    def forbidden_in_captures(self, row):
        return row.export.removesuffix(row.per_thread) in self.forbidden

    def simulated(self, row):
        """The name of the function that a row calls, or None."""
        own = row.export.removesuffix(row.per_thread)
        if own in self.functions:
            return own
        # An older ABI of the same type calls the newer function.
        newer = [r for r in self.families[row.base] if r.abi > row.abi and r.types == row.types
                 and r.export in self.functions]
        return min(newer, key=lambda r: r.abi).export if newer else None

    def any_time(self, row):
        name = self.simulated(row)
        return name is not None and self.functions[name].any_time

    def narrow(self, row):
        """Whether the row has the first ABI, which the driver rejects."""
        later = [r for r in self.families[row.base] if r.abi == row.abi + 1 and not r.per_thread]
        return (not row.per_thread and row.abi == 1 and bool(later)
                and later[0].introduced == WIDE and later[0].types != row.types)

    def is_simulated(self, row):
        return self.simulated(row) is not None or self.narrow(row)


class Library:
    """The C spelling of exports."""

    def __init__(self, key):
        self.key = key
        self.space = "sim::" + key
        self.status = {"driver": "CUresult", "runtime": "cudaError_t"}[key]
        self.convention = {"driver": "CUDAAPI", "runtime": "CUDARTAPI"}[key]
        self.headers = {
            "driver": ['"driver/call/call.hpp"'],
            "runtime": ['"runtime/base/call.hpp"'],
        }[key]
        self.forward_headers = {
            "driver": ["engine/capture.hpp", "graph/graph_nodes.hpp", "graph/graph_structure.hpp", "kernel/texture.hpp", "memory/copy.hpp",
                       "memory/memset.hpp", "memory/stream_memory_operations.hpp"],
            "runtime": ["runtime/forward/forward.hpp", "runtime/memory/copy_submit.hpp",
                        "runtime/memory/external_parameters.hpp"],
        }[key]
        self.call = {"driver": "sim::Call", "runtime": "sim::runtime::Call"}[key]
        self.rows = {"driver": "sim::driver_rows", "runtime": "sim::runtime_rows"}[key]

    def not_supported(self, row):
        if row.result == self.status:
            return {"driver": "CUDA_ERROR_NOT_SUPPORTED", "runtime": "cudaErrorNotSupported"}[self.key]
        return "{}" if "*" not in row.result else "nullptr"


def parameters(row, names=True):
    return ", ".join(f"{kind} a{i}" if names else kind for i, kind in enumerate(row.types))


def functions_header(library, rows):
    """Declarations of all rows, in the namespace that defines them."""
    lines = ["// Generated by generate_exports.py: every entry point, as a function of the simulator.",
             "// Calls inside the namespace are qualified, driver::cuStreamQuery(stream): the unqualified name",
             "// would also find the C declaration.",
             "#pragma once", ""]
    lines += [f"#include {header}" for header in library.headers]
    lines += [""] + [f"#undef {row.export}" for row in rows]
    lines += ["", "namespace sim {", f"extern const Row {library.key}_rows[];",
              f"extern const unsigned int {library.key}_row_count;", f"namespace {library.key} {{"]
    lines += [f"{row.result} {row.export}({parameters(row)});" for row in rows if not row.per_thread]
    return lines + [f"}} // namespace {library.key}", "} // namespace sim"]


def argument(bodies, row, index):
    """An argument as its export passes it on."""
    if row.types[index] == "CUdeviceptr":
        return f"sim::address(a{index})"
    name = bodies.simulated(row)
    # A void * has no size.
    is_output = name is not None and index in bodies.functions[name].outputs and row.types[index] != "void *"
    return f"sim::{'output' if is_output else 'argument'}(a{index})"


def body_of(library, bodies, row):
    name = bodies.simulated(row)
    if name is None:
        narrow = library.key == "driver" and bodies.narrow(row)
        return f"return {'CUDA_ERROR_INVALID_CONTEXT' if narrow else library.not_supported(row)};"
    passed = [f"a{i}" for i in range(len(row.types))]
    forward = bodies.functions[name].forward
    if forward is None:
        return f"return {library.space}::{name}({', '.join(passed)});"
    if "null" in forward:
        passed.insert(int(forward[forward.index("null") + 1]), "nullptr")
    target = forward[0]
    if target.startswith("cu"):
        passed = [f"CU_ANY({target})", "false" if "any-context" in forward else "true", *passed]
        target = "forward"
    space = "sim" if library.key == "driver" else "sim::runtime"
    return f"using namespace {space}; return {target}({', '.join(passed)});"


def export(library, bodies, row):
    """One exported function."""
    count = len(row.types)
    listed = ", ".join(argument(bodies, row, i) for i in range(count))
    lines = [f'extern "C" SIM_EXPORT {row.result} {library.convention} '
             f'{row.export}({parameters(row) or "void"}) {{']
    if count:
        lines.append(f"    const sim::Argument arguments[] = {{{listed}}};")
    run = "run" if row.result == library.status else "run_for_value"
    check = "sim::potentially_unsafe_call(); " if bodies.forbidden_in_captures(row) else ""
    captures = "[&]" if count and bodies.simulated(row) else "[]"
    lines += [f"    return {library.call}::{run}({library.rows}[{row.number}], "
              f"{'arguments' if count else 'nullptr'}, {count},",
              f"        {captures}() -> {row.result} {{ {check}{body_of(library, bodies, row)} }});",
              "}"]
    return lines


def exports_source(library, bodies, rows):
    lines = ["// Generated by generate_exports.py: the exported functions.",
             f'#include "{library.key}_functions.hpp"',
             *(f'#include "{header}"' for header in library.forward_headers), "", *QUIET, ""]
    for row in rows:
        lines += export(library, bodies, row)
    return lines


def names_of(rows):
    """The exported and base names, as a table."""
    names = sorted({name for row in rows for name in (row.export, row.base)})
    return ["", "namespace sim {", "extern const char *const runtime_names[];",
            "extern const unsigned int runtime_name_count;", "const char *const runtime_names[] = {",
            *(f'    "{name}",' for name in names), "};",
            f"const unsigned int runtime_name_count = {len(names)};", "} // namespace sim"]


def rows_source(library, bodies, rows, first):
    lines = ["// Generated by generate_exports.py: the table of the exported functions.",
             f'#include "{library.key}_functions.hpp"', "", *QUIET, "", 'extern "C" {']
    lines += [f"{row.result} {library.convention} {row.export}({parameters(row) or 'void'});"
              for row in rows]
    lines += ["}", "", "namespace sim {", f"const Row {library.key}_rows[] = {{"]
    for row in rows:
        per_thread = {"": "0", "_ptsz": "'z'", "_ptds": "'d'"}[row.per_thread]
        lines.append(
            f'    {{"{row.export}", "{row.base}", reinterpret_cast<const void *>(&::{row.export}), '
            f"{row.introduced}, {row.abi}, {per_thread}, "
            f"{'true' if bodies.is_simulated(row) else 'false'}, {'true' if bodies.any_time(row) else 'false'}, "
            f"{first + row.number}}},")
    return lines + ["};", f"const unsigned int {library.key}_row_count = {len(rows)};",
                    "} // namespace sim"]


def symbols(names, options):
    if options.format == "windows":
        return ["EXPORTS"] + ["    " + name for name in names]
    return [f"{options.node} {{" if options.node else "{", "global:"] + [
        f"    {name};" for name in names] + ["local:", "    *;", "};"]


def write(path, lines):
    """Writes a file only if its contents change, so that nothing is recompiled needlessly."""
    text = "\n".join(lines) + "\n"
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_functions(options):
    library = Library(options.library)
    write(options.header, functions_header(library, rows_of(read(options.rows), options.library)))


def write_exports(options):
    library, description = Library(options.library), read(options.rows)
    rows = rows_of(description, options.library)
    bodies = Bodies(rows, functions_of(options.sources, description["cuda_version"]),
                    forbidden_in_captures(options.sources))
    first = len(description["tables"]["driver"]["rows"]) if options.library == "runtime" else 0
    write(options.exports, exports_source(library, bodies, rows))
    table = rows_source(library, bodies, rows, first)
    if options.library == "driver":
        # Faults of runtime calls can be planned before the runtime is loaded.
        table += names_of(rows_of(description, "runtime"))
    write(options.table, table)


def write_symbols(options):
    description = read(options.rows)
    names = [row.export for row in rows_of(description, options.library)
             if row.introduced <= options.version and row.export not in options.without]
    names += DRIVER_HOOKS if options.library == "driver" else registration(description["cuda_version"])
    write(options.output, symbols(names, options))


def write_missing(options):
    lines, description = [], read(options.rows)
    functions = functions_of(options.sources, description["cuda_version"])
    for library in ("driver", "runtime"):
        rows = rows_of(description, library)
        bodies = Bodies(rows, functions)
        lines += sorted(row.export for row in rows if not bodies.is_simulated(row))
    write(options.text, lines)
    write(options.include, [f'"{name}",' for name in lines])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    commands = parser.add_subparsers(required=True)
    for name, action, arguments in (
            ("functions", write_functions, ["header"]),
            ("exports", write_exports, ["exports", "table"]),
            ("symbols", write_symbols, ["output"])):
        command = commands.add_parser(name)
        command.add_argument("library", choices=["driver", "runtime"])
        command.add_argument("rows")
        for argument in arguments:
            command.add_argument(argument)
        command.set_defaults(action=action)
        if name == "exports":
            command.add_argument("sources", nargs="*")
        if name == "symbols":
            command.add_argument("--format", choices=["elf", "windows"], required=True)
            command.add_argument("--version", type=int, required=True)
            command.add_argument("--without", action="append", default=[])
            command.add_argument("--node", default="")
    command = commands.add_parser("missing")
    command.add_argument("rows")
    command.add_argument("text")
    command.add_argument("include")
    command.add_argument("sources", nargs="*")
    command.set_defaults(action=write_missing)
    options = parser.parse_args()
    options.action(options)


if __name__ == "__main__":
    sys.exit(main())
