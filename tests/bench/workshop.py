"""Builds cushim-core with a given compiler and kind of library, and the programs to measure.

Meson builds the library from this source tree as users build it, with -O2, in separate build folders, so that the
figures do not depend on the settings of the current build folder.
"""

import copy
import functools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
SUPPORT = PROGRAMS.parent.parent / "support"
C_COMPILERS = {"g++": "gcc", "clang++": "clang"}
# Separate libraries before glibc 2.34.
SYSTEM_LIBRARIES = ["-Wl,--as-needed", "-ldl", "-pthread"]


def clean_environment():
    """Without variables that change how programs are built, found or loaded."""
    dropped = {"CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MALLOC_PERTURB_"}
    return {
        key: value
        for key, value in os.environ.items()
        if key not in dropped and not key.startswith(("CUSHIM_", "LD_", "FIRST_USE_"))
    }


def call(command, **more):
    """The output of a command; on failure, raises its messages."""
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **{"env": clean_environment(), **more},
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def meson_command():
    """The Meson that runs this test, otherwise the one in PATH."""
    running = os.environ.get("MESONINTROSPECT", "").split()
    return running[:-1] if running else ["meson"]


def build(folder, compiler, options, targets):
    """Sets a build folder up, again if its options differ, and builds targets in it."""
    command = [
        *meson_command(), "setup", str(folder), str(SOURCE),
        "-Doptimization=2", "-Ddebug=false", "-Db_ndebug=true",
        "-Dtests=disabled", "-Dtools=disabled", "-Dexamples=disabled", *options,
    ]
    stamp = folder / "setup.command"
    if not stamp.exists() or stamp.read_text() != "\n".join(command):
        shutil.rmtree(folder, ignore_errors=True)
        compilers = {"CXX": compiler, "CC": C_COMPILERS[compiler]}
        call(command, env=clean_environment() | compilers)
        stamp.write_text("\n".join(command))
    call([*meson_command(), "compile", "-C", folder, *targets])


class Kit:
    """cushim-core built by one compiler as one kind of library. `built`: this kind, or both. `options`: further ones
    of Meson."""

    def __init__(self, folder, compiler, kind, built, headers_dir, options=()):
        self.folder = folder
        ending = "a" if kind == "static" else "so"
        self.library = folder / "src/loader" / f"libcushim-core.{ending}"
        self.wrappers = folder / "src/api" / f"libcushim.{ending}"
        self.compiler = compiler
        self.options = [f"-Ddefault_library={built}", f"-Dheaders_dir={headers_dir}", *options]
        self.kind, self.built = kind, built
        build(folder, compiler, self.options, [f"cushim-core:{kind}_library"])
        self.include_flags, self.flags = self._flags(kind)
        self.rows = folder / "include/cushim/detail/rows.json"

    def _flags(self, kind):
        """Options for NVIDIA's headers alone and with cushim's."""
        targets = json.loads(call([*meson_command(), "introspect", "--targets", self.folder]))
        core = next(target for target in targets
                    if target["name"] == "cushim-core" and target["type"] == f"{kind} library")
        nvidia = [p for p in core["target_sources"][0]["parameters"] if p.startswith("-isystem")]
        flags = nvidia + [f"-I{SOURCE}/include", f"-I{self.folder}/include"]
        return nvidia, flags + (["-DCUSHIM_STATIC"] if kind == "static" else [])

    @property
    def link_flags(self):
        return self._linked(self.library)

    @staticmethod
    def _linked(*libraries):
        # No rpath for a static library: searching it makes each start some percent slower.
        rpath = [f"-Wl,-rpath,{library.parent}" for library in libraries if library.suffix == ".so"]
        return [*libraries, *SYSTEM_LIBRARIES, *rpath]

    def drop_in_link_flags(self):
        """Options to link the drop-in instead of -lcuda and -lcudart."""
        name = "cushim-dropin-static" if (self.kind, self.built) == ("static", "both") else "cushim-dropin"
        build(self.folder, self.compiler, self.options, [name])
        return [self.folder / f"src/dropin/lib{name}.a", *self.link_flags]

    def library_drop_in_link_flags(self, libraries):
        """Options to link the drop-ins of further libraries, which the option `libraries` names."""
        names = [name for library in libraries for name in (f"cushim-{library}-dropin", f"cushim-{library}")]
        build(self.folder, self.compiler, self.options, names)
        return [*(self.folder / f"src/libraries/lib{name}.a" for name in names), *self.link_flags]

    def wrapper_link_flags(self):
        self._build_wrappers()
        return self._linked(self.wrappers, self.library)

    def copied_to(self, folder):
        """This kit with copies of its libraries in one folder, as they are installed."""
        self._build_wrappers()
        kit = copy.copy(self)

        def copied(library):
            for file in library.parent.glob(f"{library.name}*"):
                if file.is_file():
                    shutil.copy(file, folder, follow_symlinks=False)
            copy_of_library = folder / library.name
            with_paths = copy_of_library.read_bytes()
            in_build = b"$ORIGIN/../loader"
            copy_of_library.write_bytes(with_paths.replace(in_build, b"$ORIGIN".ljust(len(in_build), b"\0")))
            return copy_of_library

        kit.library, kit.wrappers = copied(self.library), copied(self.wrappers)
        return kit

    def _build_wrappers(self):
        build(self.folder, self.compiler, self.options, [f"cushim:{self.kind}_library"])

    def row_names(self):
        tables = json.loads(self.rows.read_text())["tables"]
        return [row["export"] for table in tables.values() for row in table["rows"]]

    def cuda_version(self):
        return json.loads(self.rows.read_text())["cuda_version"]


class Simulator:
    """The simulated driver and runtime, built as they are installed.

    They are copied to a path whose length does not depend on where the checkout is: the simulator searches tables by
    address, and the heap contains the paths of libraries, so their lengths would change the number of steps.
    """

    include_flags = [f"-I{SOURCE}/tools/simulator"]

    def __init__(self, folder, headers_dir):
        place = "tools/simulator/variants/current"
        build(folder, "g++", ["-Dsimulator=enabled", f"-Dheaders_dir={headers_dir}"], ["cuda", "cudart"])
        (runtime,) = (folder / place).glob("libcudart.so.[0-9.]*[0-9]")
        self.place = tempfile.TemporaryDirectory(prefix="cushim-bench-", dir="/tmp")
        self.environment = {
            "CUSHIM_DRIVER": shutil.copy(folder / place / "libcuda.so.1", self.place.name),
            "CUSHIM_RUNTIME": shutil.copy(runtime, self.place.name),
        }


class Workshop:
    def __init__(self, build_folder):
        options = json.loads(call([*meson_command(), "introspect", "--buildoptions", build_folder]))
        options = {option["name"]: option["value"] for option in options}
        self.headers_dir = options["headers_dir"]
        self.has_simulator = options["simulator"] != "disabled"
        self.folder = build_folder.resolve() / "tests/bench/work"
        self.folder.mkdir(parents=True, exist_ok=True)

    @functools.cache
    def kit(self, compiler, kind, built=None):
        built = built or kind
        name = f"{C_COMPILERS[compiler]}-{built}"
        return Kit(self.folder / name, compiler, kind, built, self.headers_dir)

    def libraries_kit(self, libraries, folder):
        """The static library with tables of further libraries: names, and paths of descriptions whose headers are in
        `folder`."""
        options = [f"-Dlibraries={','.join(map(str, libraries))}", f"-Dlibrary_headers={folder}"]
        return Kit(self.folder / "gcc-libraries", "g++", "static", "static", self.headers_dir, options)

    @functools.cache
    def simulator(self):
        """Not for build folders without a simulator, because it adds half to the time of all builds."""
        return Simulator(self.folder / "gcc-simulator", self.headers_dir)

    def program(self, name, compiler, source, flags):
        """Compiles and links one file of programs/ or tests/support with -O2."""
        output = self.folder / name
        file = next(folder / source for folder in (PROGRAMS, SUPPORT) if (folder / source).exists())
        language = ["-std=c++20"]
        if source.endswith(".c"):
            compiler, language = C_COMPILERS[compiler], ["-std=c11"]
        call([compiler, *language, "-O2", "-DNDEBUG", file, "-o", output, *flags])
        return output

    @functools.cache
    def fake(self, name):
        """The fake library under a file name that the loader searches for."""
        folder = self.folder / "fake"
        folder.mkdir(exist_ok=True)
        version = self.kit("g++", "static").cuda_version()
        return self.program(
            f"fake/{name}", "g++", "fake_cuda.c",
            ["-shared", "-fPIC", f"-DBENCH_CUDA_VERSION={version}", f"-Wl,-soname,{name}"],
        )

    def fake_driver(self):
        return self.fake("libcuda.so.1")

    def fake_runtime(self):
        major = self.kit("g++", "static").cuda_version() // 1000
        return self.fake(f"libcudart.so.{'11.0' if major == 11 else major}")
