"""Holds rows.json against what is known of the headers that it was generated from.

usage: check_rows.py counts ROWS_JSON
       check_rows.py stub ROWS_JSON

counts: as many rows as the headers of that version declare. stub: the driver's names are those that
NVIDIA's link stub exports, name by name. Exits 77 where there is nothing to hold against.
"""

import json
import os
import struct
import sys

SKIPPED = 77
# (driver, runtime), without the rows of the profiler headers, which not every package has.
KNOWN = {11080: (508, 353), 12040: (588, 373), 13000: (634, 378)}
PROFILER = {"driver": ("cuProfiler", 3), "runtime": ("cudaProfiler", 2)}


def names(description, library):
    return [row["export"] for row in description["tables"][library]["rows"]]


def check_counts(description):
    """Exit status of the test counts."""
    faults = [f"{library}: left out: {text}" for library, table in description["tables"].items()
              for text in table["left_out"]]
    known = KNOWN.get(description["cuda_version"])
    for number, (library, (prefix, profiler_count)) in enumerate(PROFILER.items()):
        exports = names(description, library)
        profiler = [name for name in exports if name.startswith(prefix)]
        others = len(exports) - len(profiler)
        print(f"{library}: {others} rows, {len(profiler)} of the profiler header")
        if len(set(exports)) != len(exports):
            faults.append(f"{library}: a name has two rows")
        if len(profiler) not in (0, profiler_count):
            faults.append(f"{library}: {len(profiler)} rows of the profiler, not {profiler_count}")
        if known and others != known[number]:
            faults.append(f"{library}: {others} rows, not {known[number]}")
    if known is None and not faults:
        print(f"skipped: no counts are known of the headers of {description['cuda_version']}")
        return SKIPPED
    return report(faults)


def elf_exports(path):
    """The names that a 64-bit ELF library defines for others."""
    with open(path, "rb") as file:
        image = file.read()
    if image[:5] != b"\x7fELF\x02":
        raise SystemExit(f"{path} is not a 64-bit ELF file")
    table, = struct.unpack_from("<Q", image, 0x28)
    entry_size, count = struct.unpack_from("<HH", image, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, table + i * entry_size)
                for i in range(count)]
    exports = set()
    for section in sections:
        if section[1] != 11:  # SHT_DYNSYM
            continue
        strings = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], 24):
            name, info, _, index, _, _ = struct.unpack_from("<IBBHQQ", image, at)
            if index and info >> 4:  # defined, and not local
                start = strings + name
                exports.add(image[start:image.index(b"\0", start)].decode())
    return exports


def stub_beside(folder):
    """The toolkit's link stub beside the folder of its headers; None where there is none."""
    # Resolved, since the headers are often links to where the toolkit is.
    header = os.path.realpath(os.path.join(folder, "cuda.h"))
    for root in {os.path.dirname(os.path.dirname(header)), os.path.dirname(folder)}:
        for place in ("lib64/stubs", "lib/stubs"):
            stub = os.path.join(root, place, "libcuda.so")
            if os.path.exists(stub):
                return stub
    return None


def check_stub(description):
    """Exit status of the test stub."""
    stub = stub_beside(description["headers_folder"])
    if stub is None:
        print(f"skipped: there is no link stub beside {description['headers_folder']}")
        return SKIPPED
    rows = set(names(description, "driver"))
    exports = {name for name in elf_exports(stub) if name.startswith("cu")}
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
    sys.exit(check_counts(description) if test == "counts" else check_stub(description))


if __name__ == "__main__":
    main()
