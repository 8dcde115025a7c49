"""How much a stripped program grows, without the loader. 1 KB is 1024 bytes.

Sizes are those of the sections; the file grows in steps of a page, so one byte can add 4 KB or nothing. The
linker's option -u adds rows at no other cost.

Five calls are compared with the same program that only calls cushim_load. For all rows, the base also has the rows
that use the loader's built-in names of errors, because these names do not belong to a row. The increase per other
row is multiplied by the number of all rows.
"""

import shutil

from figures import Figure, skipped
from measure import content_size
from workshop import call

KB = 1024
FIVE_CALLS_KB, ALL_ROWS_KB, ALL_ROWS_PACKED_KB = 4, 160, 115
ONE_FILL_NODE_KB = 150  # of the wrappers, the loader and the program
ERROR_ROWS = ["cuGetErrorName", "cuGetErrorString", "cudaGetErrorName", "cudaGetErrorString"]
PACKED = "-Wl,-z,pack-relative-relocs"


def accepts(workshop, compiler, flag):
    """Whether the linker supports the option; for an unknown -z it only prints a warning."""
    output = workshop.folder / "accepts"
    with open(workshop.folder / "accepts.c", "w") as file:
        file.write("int main(void) { return 0; }\n")
    call([compiler, "-x", "c", file.name, "-o", output, flag])
    return "DT_RELR" in call(["readelf", "-VW", output])


def bring_in(names):
    return [f"-Wl,-u,cushim_slot_{name}" for name in names]


class Sizes:
    def __init__(self, workshop, compiler):
        self.workshop, self.compiler = workshop, compiler
        self.kit = workshop.kit(compiler, "static")
        names = self.kit.row_names()
        self.rows = len(names)
        self.names = workshop.folder / f"all_rows_{compiler}.txt"
        self.names.write_text("\n".join(bring_in(names)) + "\n")

    def sizes(self, *flags):
        """The sizes of the sections and of the file."""
        program = self.workshop.program(
            f"size_{self.compiler}", self.compiler, "size.cpp",
            ["-s", "-Wl,--gc-sections", *flags, *self.kit.flags, *self.kit.link_flags])
        return content_size(program), program.stat().st_size

    def five_calls(self):
        with_calls, plain = self.sizes("-DCALL_FIVE"), self.sizes()
        sections, file = (after - before for after, before in zip(with_calls, plain))
        return [
            Figure("the loader's sections and a program's own", plain[0] / KB, "KB"),
            Figure("five entry points", sections / KB, "KB", limit=FIVE_CALLS_KB),
            Figure("five entry points, the file", file / KB, "KB"),
        ]

    def one_fill_node(self):
        """A program that launches a graph with one fill: it contains no other kind of node."""
        program = self.workshop.program(
            f"graph_size_{self.compiler}", self.compiler, "graph_size.cpp",
            ["-s", "-Wl,--gc-sections", *self.kit.flags, *self.kit.wrapper_link_flags()])
        return Figure("a graph with one fill node", content_size(program) / KB, "KB", limit=ONE_FILL_NODE_KB)

    def all_rows(self, name, *flags, limit=None, link=()):
        plain = self.sizes(*link)[0]
        with_errors = self.sizes(*link, *bring_in(ERROR_ROWS))[0]
        grown = self.sizes(*link, *flags, f"@{self.names}")[0]
        row = (grown - with_errors) / (self.rows - len(ERROR_ROWS))
        return [
            Figure(f"{name}, a row", row, "bytes"),
            Figure(name, row * self.rows / KB, "KB", limit=limit),
            Figure(f"{name}, with the names of errors", (grown - plain) / KB, "KB"),
        ]


def measure_with(workshop, compiler):
    if shutil.which(compiler) is None:
        return [skipped("sizes", f"no {compiler}")]
    sizes = Sizes(workshop, compiler)
    every = f"all {sizes.rows:,} rows"
    figures = sizes.five_calls() + sizes.all_rows(every, limit=ALL_ROWS_KB)
    if accepts(workshop, compiler, PACKED):
        packed = sizes.all_rows(f"{every}, packed", limit=ALL_ROWS_PACKED_KB, link=[PACKED])
        figures += packed
    else:
        figures.append(skipped(f"{every}, packed", "linker too old"))
    return [*figures, sizes.one_fill_node(), *sizes.all_rows(f"{every} and the registry", "-DRESOLVE_ALL")]


def measure_gcc(workshop, repeatable):
    return measure_with(workshop, "g++")


def measure_clang(workshop, repeatable):
    return measure_with(workshop, "clang++")
