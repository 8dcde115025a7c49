"""Generates the exports of the simulated libraries from rows.json and from the simulated functions.

usage: generate_exports.py functions LIBRARY ROWS_JSON FUNCTIONS_HPP
       generate_exports.py exports LIBRARY ROWS_JSON EXPORTS_CPP ROWS_CPP SOURCE...
       generate_exports.py symbols LIBRARY ROWS_JSON SYMBOLS --format elf|windows --version VERSION
                           [--without NAME]... [--node NAME]
       generate_exports.py missing ROWS_JSON LIST_TXT LIST_INC --driver SOURCE... --runtime SOURCE...

LIBRARY is driver or runtime. A function is simulated if a source defines it: a line begins with its return
type, followed by its name, which is that of a row, its parameters and its body.
"""

import argparse
import collections
import os
import re
import sys
import json

# Entry points that may be called before cuInit, during exit, and in a child of fork.
ANY_TIME = {
    "driver": re.compile(
        r"cuInit|cuDriverGetVersion|cuGetErrorName|cuGetErrorString|cuGetProcAddress(_v\d+)?"
        r"|cuGetExportTable|cuLogs\w+"),
    # Runtime entry points that work without a driver.
    "runtime": re.compile(
        r"cudaDriverGetVersion|cudaRuntimeGetVersion|cudaGetErrorName|cudaGetErrorString"
        r"|cudaCreateChannelDesc"),
}
EXPORT = re.compile(r"(?P<base>\w+?)(?:_v(?P<abi>\d+))?(?P<per_thread>_ptsz|_ptds)?")
DEFINITION = re.compile(
    r"^(?:CUresult|cudaError_t|const char \*|(?:struct )?cudaChannelFormatDesc)\s*(?:CUDAAPI\s+|"
    r"CUDARTAPI\s+)?(cu[A-Za-z]\w*)\(([^;{}]*)\)\s*\{", re.M)
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


# Parameters that point to several values, or to values that the call also reads.
LISTS_AND_INPUTS = frozenset("""
    args attributes attrs attrsIdxs capabilities ctxCreateParams data dataSizes dependencies
    dependentNodes device_arr dptrs dsts edgeData extra from functions instantiateParams iterator
    jitOptions jitOptionsValues kernelParams kernels launchParamsList libraryOptionValues
    libraryOptions location nbGroups nodes numDependencies numDependentNodes numEdges numNodes
    numRootNodes opList optionValues options pBorderColor pDependencies pDependentNodes
    pNumDependencies pNumDependentNodes pNumRootNodes pRootNodes paramArray paramsArray
    prefetchLocIdxs prefetchLocs resources result rootNodes shareData sizes srcs tensorMap to
    """.split())
# The same for single functions, since the parameter is a plain output in others.
INPUTS_OF = {
    "cuThreadExchangeStreamCaptureMode": ["mode"], "cudaThreadExchangeStreamCaptureMode": ["mode"],
    "cuGraphAddMemAllocNode": ["nodeParams"], "cudaGraphAddMemAllocNode": ["nodeParams"],
    "cuGraphAddNode": ["nodeParams"], "cudaGraphAddNode": ["nodeParams"],
    "cuGraphNodeSetParams": ["nodeParams"], "cudaGraphNodeSetParams": ["nodeParams"],
    "cuGraphExecNodeSetParams": ["nodeParams"], "cudaGraphExecNodeSetParams": ["nodeParams"],
    "cudaMemPoolImportPointer": ["exportData"],
    "cuLogsDumpToMemory": ["size"], "cudaLogsDumpToMemory": ["size"],
}
# Outputs that describe a failure, and outputs that a failing call leaves unchanged or sets to null, as recorded.
OUTPUTS_OF_FAILURES = {
    "cuStreamEndCapture": ["phGraph"], "cudaStreamEndCapture": ["pGraph"],
    "cuGraphExecUpdate": ["resultInfo", "hErrorNode_out", "updateResult_out"],
    "cudaGraphExecUpdate": ["resultInfo", "hErrorNode_out", "updateResult_out"],
    "cuGraphInstantiate": ["phErrorNode"], "cudaGraphInstantiate": ["pErrorNode"],
    "cuMemcpyBatchAsync": ["failIdx"], "cudaMemcpyBatchAsync": ["failIdx"],
    "cuMemcpy3DBatchAsync": ["failIdx"], "cudaMemcpy3DBatchAsync": ["failIdx"],
    "cuGetProcAddress": ["pfn", "symbolStatus"],
    "cudaGetDriverEntryPoint": ["funcPtr", "driverStatus"],
    "cudaGetDriverEntryPointByVersion": ["funcPtr", "driverStatus"],
    "cuFuncGetParamInfo": ["paramOffset", "paramSize"],
    "cuKernelGetParamInfo": ["paramOffset", "paramSize"],
    "cuArrayGetDescriptor": ["pArrayDescriptor"], "cuArray3DGetDescriptor": ["pArrayDescriptor"],
    "cuArrayGetMemoryRequirements": ["memoryRequirements"],
}
# T * and void * *, but not pointers to constants, text or bytes.
POINTER = re.compile(r"(?!const\b)(?!(?:char|void) \*$)[^*]+\*(?: \*)?")

Row = collections.namedtuple(
    "Row", "export base abi per_thread introduced result types names number")


def rows_of(description, library):
    rows = []
    for number, row in enumerate(description["tables"][library]["rows"]):
        name = EXPORT.fullmatch(row["export"])
        rows.append(Row(
            row["export"], name["base"], int(name["abi"] or 1), name["per_thread"] or "",
            row["introduced"], row["result"], [p["type"] for p in row["parameters"]],
            [p["name"] for p in row["parameters"]], number))
    return rows


def defined_in(sources):
    """The names of the functions that the sources define."""
    names = set()
    for source in sources:
        with open(source, encoding="utf-8") as file:
            names.update(match[1] for match in DEFINITION.finditer(file.read()))
    return names


class Bodies:
    """The function that each row calls."""

    def __init__(self, rows, defined):
        self.defined = defined
        self.families = collections.defaultdict(list)
        for row in rows:
            self.families[row.base].append(row)

    def simulated(self, row):
        """The name of the function that a row calls, or None."""
        own = row.export.removesuffix(row.per_thread)
        if own in self.defined:
            return own
        # An older ABI of the same type calls the newer function.
        newer = [r for r in self.families[row.base] if r.abi > row.abi and r.types == row.types
                 and r.export in self.defined]
        return min(newer, key=lambda r: r.abi).export if newer else None

    def narrow(self, row):
        """Whether the row has the first ABI, which the driver rejects."""
        later = [r for r in self.families[row.base] if r.abi == row.abi + 1 and not r.per_thread]
        return (not row.per_thread and row.abi == 1 and bool(later)
                and later[0].introduced == WIDE and later[0].types != row.types)

    def answers(self, row):
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


def is_output(row, index):
    """Whether the parameter is an output for one value, which has no meaning after a failure."""
    name = row.names[index]
    return (POINTER.fullmatch(row.types[index]) is not None and name not in LISTS_AND_INPUTS
            and name not in INPUTS_OF.get(row.base, ())
            and name not in OUTPUTS_OF_FAILURES.get(row.base, ()))


def argument(library, bodies, row, index):
    """An argument as its export passes it on."""
    if row.types[index] == "CUdeviceptr":
        return f"sim::address(a{index})"
    is_simulated = row.result == library.status and bodies.simulated(row)
    kind = "output" if is_simulated and is_output(row, index) else "argument"
    return f"sim::{kind}(a{index})"


def body_of(library, bodies, row):
    name = bodies.simulated(row)
    if name is not None:
        passed = ", ".join(f"a{i}" for i in range(len(row.types)))
        return f"{library.space}::{name}({passed})"
    if library.key == "driver" and bodies.narrow(row):
        return "CUDA_ERROR_INVALID_CONTEXT"
    return library.not_supported(row)


def export(library, bodies, row):
    """One exported function."""
    count = len(row.types)
    listed = ", ".join(argument(library, bodies, row, i) for i in range(count))
    lines = [f'extern "C" SIM_EXPORT {row.result} {library.convention} '
             f'{row.export}({parameters(row) or "void"}) {{']
    if count:
        lines.append(f"    const sim::Argument arguments[] = {{{listed}}};")
    run = "run" if row.result == library.status else "run_for_value"
    captures = "[&]" if count and bodies.simulated(row) else "[]"
    lines += [f"    return {library.call}::{run}({library.rows}[{row.number}], "
              f"{'arguments' if count else 'nullptr'}, {count},",
              f"        {captures}() -> {row.result} {{ return {body_of(library, bodies, row)}; }});",
              "}"]
    return lines


def exports_source(library, bodies, rows):
    lines = ["// Generated by generate_exports.py: the exported functions.",
             f'#include "{library.key}_functions.hpp"', "", *QUIET, ""]
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
        any_time = ANY_TIME[library.key].fullmatch(row.export) is not None
        per_thread = {"": "0", "_ptsz": "'z'", "_ptds": "'d'"}[row.per_thread]
        lines.append(
            f'    {{"{row.export}", "{row.base}", reinterpret_cast<const void *>(&::{row.export}), '
            f"{row.introduced}, {row.abi}, {per_thread}, "
            f"{'true' if bodies.answers(row) else 'false'}, {'true' if any_time else 'false'}, "
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
    bodies = Bodies(rows, defined_in(options.sources))
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
    lines = []
    for library, sources in (("driver", options.driver), ("runtime", options.runtime)):
        rows = rows_of(read(options.rows), library)
        bodies = Bodies(rows, defined_in(sources))
        lines += sorted(row.export for row in rows if not bodies.answers(row))
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
    command.add_argument("--driver", nargs="*", default=[])
    command.add_argument("--runtime", nargs="*", default=[])
    command.set_defaults(action=write_missing)
    options = parser.parse_args()
    options.action(options)


if __name__ == "__main__":
    sys.exit(main())
