"""Compares rows.json with facts about the headers that it was generated from.

usage: check_rows.py counts ROWS_JSON
       check_rows.py versions ROWS_JSON
       check_rows.py stub ROWS_JSON

counts: the number of rows is the number of declarations in the headers. versions: every row has a version, and
cudaTypedefs.h, if it exists, agrees with the table of released ones. stub: the driver's rows are the exports of
NVIDIA's link stub. The exit status is 77 if there is nothing to compare with.
"""

import json
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent.parent / "tools")]
import binaries  # noqa: E402
from tables import versions  # noqa: E402

SKIPPED = 77
# (driver, runtime), without the rows of the profiler headers. 11.8, 12.4 and 13.0 were counted independently of
# the generator, the others with it.
KNOWN = {11080: (508, 353), 12000: (535, 349), 12040: (588, 373), 12090: (616, 392),
         13000: (634, 378), 13050: (685, 411)}
# The rows of the profiler headers, which exist even without those headers. Since 12.0 the runtime has no
# cudaProfilerInitialize.
PROFILER = {"driver": {"cuProfilerInitialize", "cuProfilerStart", "cuProfilerStop"},
            "runtime": {"cudaProfilerStart", "cudaProfilerStop"}}
PROFILER_11 = {"cudaProfilerInitialize"}


def names(description, library):
    return [row["export"] for row in description["tables"][library]["rows"]]


def check_counts(description):
    """Exit status of the comparison of counts."""
    faults = [f"{library}: left out: {text}" for library, table in description["tables"].items()
              for text in table["left_out"]]
    known = KNOWN.get(description["cuda_version"])
    for number, library in enumerate(PROFILER):
        exports = names(description, library)
        profiler = {name for name in exports if re.match("cu(da)?Profiler", name)}
        others = len(exports) - len(profiler)
        print(f"{library}: {others} rows, {len(profiler)} of the profiler header")
        expected = PROFILER[library]
        if library == "runtime" and description["cuda_version"] < 12000:
            expected = expected | PROFILER_11
        if len(set(exports)) != len(exports):
            faults.append(f"{library}: a name has two rows")
        if profiler != expected:
            faults.append(f"{library}: rows of the profiler: {sorted(profiler)}")
        if known and others != known[number]:
            faults.append(f"{library}: {others} rows, not {known[number]}")
    if known is None and not faults:
        print(f"SKIP: no counts are known of the headers of {description['cuda_version']}")
        return SKIPPED
    return report(faults)


def check_versions(description):
    """Exit status of the comparison of versions."""
    folder = description["headers_folder"]
    told = versions.told_versions(names(description, "driver"), folder)
    up_to, released = versions.released_versions()
    introduced = {row["export"]: row["introduced"]
                  for row in description["tables"]["driver"]["rows"]}
    faults = [f"{name}: {version} in cudaTypedefs.h, {introduced[name]} in the row"
              for name, version in told.items() if version != introduced[name]]
    faults += [f"{name}: {version} in cudaTypedefs.h, {released[name]} in the table"
               for name, version in told.items() if version != released.get(name, version)]
    unknown = [name for name, version in introduced.items() if version == 0]
    newer = [name for name in introduced if name not in released]
    print(f"{len(introduced)} rows: cudaTypedefs.h has the version of {len(told)}, the table that of "
          f"{len(introduced) - len(newer)}")
    if description["cuda_version"] <= up_to:
        faults += [f"{name} has no version" for name in unknown]
        faults += [f"{name} is not in the table" for name in newer]
    if faults:
        return report(faults)
    if newer:
        print(f"SKIP: these headers are newer than the table, which lacks {', '.join(newer)}: update "
              "it with generate_tables.py --add-versions")
        return SKIPPED
    return 0


def stub_beside(folder):
    """The toolkit's link stub for the headers in this folder, or None."""
    # Resolved, because the folder of headers is often a link.
    header = os.path.realpath(os.path.join(folder, "cuda.h"))
    for root in {os.path.dirname(os.path.dirname(header)), os.path.dirname(folder)}:
        for place in ("lib64/stubs", "lib/stubs"):
            stub = os.path.join(root, place, "libcuda.so")
            if os.path.exists(stub):
                return stub
    return None


def check_stub(description):
    """Exit status of the comparison with the link stub."""
    stub = stub_beside(description["headers_folder"])
    if stub is None:
        print(f"SKIP: no link stub was found beside {description['headers_folder']}")
        return SKIPPED
    rows = set(names(description, "driver"))
    elf = binaries.read(stub)
    exports = {name for name, here, binding in elf.symbols(dynamic=True)
               if here and binding != elf.LOCAL and name.startswith("cu")}
    # The stubs of some toolkits also export the debugger's functions and those of the OpenGL, EGL and VDPAU
    # headers.
    exports = {name for name in exports
               if re.match("cu[A-Z]", name) and not re.search("GL|EGL|Egl|VDPAU", name)}
    faults = [f"the stub exports {name}, which has no row" for name in sorted(exports - rows)]
    faults += [f"the stub does not export {name}" for name in sorted(rows - exports)]
    print(f"{len(rows)} rows, {len(exports)} exports")
    return report(faults)


def report(faults):
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def main():
    test, rows_json = sys.argv[1:]
    with open(rows_json, encoding="utf-8") as file:
        description = json.load(file)
    sys.exit({"counts": check_counts, "versions": check_versions,
              "stub": check_stub}[test](description))


if __name__ == "__main__":
    main()
