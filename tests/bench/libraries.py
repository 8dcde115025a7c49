"""Further libraries (tools/tables/README.md): the start-up of a program that refers to twelve of them by drop-ins, and
calls of one of them, compared with calls of the driver.

The limits are checked with copies of the library greeter of tests/package, which need no NVIDIA headers; also with
the NVIDIA libraries whose headers are found.
"""

import re
import shutil
import statistics
import subprocess
import sys

from call_cost import CALLS, CHUNKS, ROUNDS
from drop_in import nvidia_library
from figures import Figure, skipped
from measure import NO_VALGRIND, count_calls, have_valgrind, instructions, time_calls
from startup import LIMIT_PERCENT, MOST_NOISE_PERCENT, percent
from startup import ROUNDS as STARTS
from workshop import SOURCE, call, clean_environment

GREETER = SOURCE / "tests/package/consumers/own_library"
GREETERS = ["greeter", *(f"greeter{number}" for number in range(2, 13))]
# A function of each NVIDIA library, and the name by which a linker finds the library.
NVIDIA = {
    "cublas": ("cublasCreate_v2", "cublas"),
    "cublaslt": ("cublasLtCreate", "cublasLt"),
    "cudnn": ("cudnnCreate", "cudnn"),
    "cufft": ("cufftPlan1d", "cufft"),
    "cupti": ("cuptiGetVersion", "cupti"),
    "curand": ("curandCreateGenerator", "curand"),
    "cusolver": ("cusolverDnCreate", "cusolver"),
    "cusolvermg": ("cusolverMgCreate", "cusolverMg"),
    "cusparse": ("cusparseCreate", "cusparse"),
    "nccl": ("ncclGetUniqueId", "nccl"),
    "nvjitlink": ("nvJitLinkVersion", "nvJitLink"),
    "nvrtc": ("nvrtcVersion", "nvrtc"),
}
# The loader takes nearly three quarters of the measured value.
MORE_INSTRUCTIONS = 10_000
MORE_KB = 200
MEMORY_ROUNDS = 15
# A program that is linked with NVIDIA's libraries starts much more slowly.
LINKED_STARTS = 9
DRIVER_TABLE, DRIVER_DROP_IN = "driver call, table", "driver call, drop-in"
TABLE, DROP_IN = "call of a further library, table", "call of a further library, drop-in"


def greeter_folder(workshop):
    """The headers and descriptions of the copies, which differ by their names."""
    folder = workshop.folder / "greeters"
    folder.mkdir(exist_ok=True)
    for name in GREETERS:
        for ending in ("h", "txt"):
            text = (GREETER / f"greeter.{ending}").read_text()
            for change in (str.lower, str.capitalize, str.upper):
                text = text.replace(change("greeter"), change(name))
            file = folder / f"{name}.{ending}"
            # An unchanged file is not written, because the build would be repeated.
            if not file.exists() or file.read_text() != text:
                file.write_text(text)
    return folder


def with_headers(workshop):
    """The NVIDIA libraries whose headers are found, as the build looks for them."""
    folders = [flag.removeprefix("-isystem") for flag in workshop.kit("g++", "static").include_flags]
    include = [word for folder in folders for word in ("--include", folder)]

    def found(name):
        command = [sys.executable, SOURCE / "tools/generate_library.py", "--probe", name, *include, "--", "g++"]
        return subprocess.run(command, capture_output=True, env=clean_environment()).returncode == 0

    return [name for name in NVIDIA if found(name)]


def shortened(why, names):
    """Up to three names, because the reason is a column of the table."""
    return f"{why}: {', '.join(names) if len(names) <= 3 else f'{len(names)} libraries'}"


# --- a call ---


def calls(workshop, kit, folder, repeatable):
    plain = workshop.kit("g++", "static")
    greeter = [f"-I{folder}", *kit.flags, *kit.library_drop_in_link_flags(["greeter"])]

    def build(name, way, *flags):
        return [workshop.program(name, "g++", "call.cpp", [f"-D{way}", *flags])]

    ways = {
        DRIVER_TABLE: build("libraries_driver_table", "TABLE", *plain.flags, *plain.link_flags),
        TABLE: build("libraries_table", "GREETER_TABLE", *greeter),
        DRIVER_DROP_IN: build("libraries_driver_drop_in", "DIRECT", *plain.flags, *plain.drop_in_link_flags()),
        DROP_IN: build("libraries_drop_in", "GREETER", *greeter),
    }
    fake = workshop.program("libgreeter.so.2", "g++", "fake_greeter.c", ["-shared", "-fPIC", f"-I{folder}"])
    environment = {"CUSHIM_DRIVER": str(workshop.fake_driver()), "CUSHIM_GREETER": str(fake)}
    figures = []
    if have_valgrind():
        counts = count_calls(ways, **environment)
        limits = {TABLE: counts[DRIVER_TABLE], DROP_IN: counts[DRIVER_DROP_IN]}
        figures += [Figure(name, value, "instructions", limit=limits.get(name)) for name, value in counts.items()]
    else:
        figures.append(skipped("calls of a further library: instructions", NO_VALGRIND))
    if not repeatable:
        times = time_calls(ways, CALLS, CHUNKS, ROUNDS, **environment)
        figures += [Figure(name, value, "ns") for name, value in times.items()]
    return figures


# --- start-up ---


def program(workshop, name, functions, flags):
    references = [f"-DFUNCTIONS={' '.join(f'X({function})' for function in functions)}"] if functions else []
    return workshop.program(f"libraries_{name}", "g++", "libraries.c", ["-s", "-Wl,--gc-sections", *references, *flags])


def resident_kb(command):
    """The memory of the process at the begin of main. Its own list of mappings is exact, other than the counters of
    /proc/PID/status."""
    with subprocess.Popen([command, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=clean_environment()) as process:
        process.stdout.readline()
        with open(f"/proc/{process.pid}/smaps") as file:
            sizes = re.findall(r"^Rss: +(\d+) kB", file.read(), re.MULTILINE)
    return sum(map(int, sizes))


def memory(command, rounds=MEMORY_ROUNDS):
    return statistics.median(resident_kb(command) for _ in range(rounds))


def start_times(workshop, rounds, *programs):
    """Median microseconds of each."""
    timer = workshop.program("spawn_timer", "g++", "spawn_timer.c", [])
    lines = call([timer, str(rounds), *programs]).splitlines()
    return [statistics.median(column) for column in list(zip(*(map(float, line.split()) for line in lines)))[0::2]]


def compared(workshop, what, without, linked, repeatable):
    """What the program with drop-ins costs in addition to the one without."""
    figures = []
    if have_valgrind():
        added = instructions(linked, []) - instructions(without, [])
        figures.append(Figure(f"{what} add: instructions at start", added, limit=MORE_INSTRUCTIONS))
    else:
        figures.append(skipped(f"{what} add: instructions at start", NO_VALGRIND))
    figures.append(Figure(f"{what} add: memory at start", memory(linked) - memory(without), "KB", limit=MORE_KB))
    if repeatable:
        return figures
    again = shutil.copy(without, workshop.folder / "libraries_again")
    first, second, time = start_times(workshop, STARTS, without, again, linked)
    noise = abs(percent(second, first))
    figures += [Figure("without libraries: start", first, "us"), Figure(f"{what}: start", time, "us"),
                Figure("identical files differ by", noise, "%")]
    name = f"{what} add: time of a start"
    if noise > MOST_NOISE_PERCENT:
        return [*figures, skipped(name, "machine too busy")]
    return [*figures, Figure(name, percent(time, (first + second) / 2), "%", limit=LIMIT_PERCENT)]


def linked_directly(workshop, names, without, repeatable):
    """For comparison: the same references, linked with NVIDIA's libraries. Instructions are not counted, which takes 15
    seconds."""
    plain = workshop.kit("g++", "static")
    files = {name: nvidia_library(workshop, plain, f"lib{NVIDIA[name][1]}.so") for name in names}
    missing = [name for name, file in files.items() if file is None]
    if missing:
        return [skipped("linked with NVIDIA's libraries", shortened("no files beside the headers", missing))]
    folders = {file.parent for file in files.values()}
    linked = program(workshop, "linked", [NVIDIA[name][0] for name in names],
                     ["-Wl,--allow-shlib-undefined", *files.values(), *(f"-Wl,-rpath,{f}" for f in folders)])
    what = f"{len(names)} linked libraries"
    figures = [Figure(f"{what} add: memory at start", memory(linked, 3) - memory(without), "KB")]
    if not repeatable:
        (time,) = start_times(workshop, LINKED_STARTS, linked)
        figures.append(Figure(f"{what}: start", time, "us"))
    return figures


def measure(workshop, repeatable):
    folder = greeter_folder(workshop)
    nvidia = with_headers(workshop)
    kit = workshop.libraries_kit([*(folder / f"{name}.txt" for name in GREETERS), *nvidia], folder)
    figures = calls(workshop, kit, folder, repeatable)
    without = program(workshop, "without", [], [])
    greeters = program(workshop, "greeters", [f"{name}_wave" for name in GREETERS],
                       kit.library_drop_in_link_flags(GREETERS))
    figures += compared(workshop, "12 drop-ins", without, greeters, repeatable)
    left_out = [name for name in NVIDIA if name not in nvidia]
    if left_out:
        figures.append(skipped("drop-ins of NVIDIA libraries", shortened("no headers", left_out)))
    if nvidia:
        drop_ins = program(workshop, "nvidia", [NVIDIA[name][0] for name in nvidia],
                           kit.library_drop_in_link_flags(nvidia))
        figures += compared(workshop, f"{len(nvidia)} drop-ins of NVIDIA libraries", without, drop_ins, repeatable)
        figures += linked_directly(workshop, nvidia, without, repeatable)
    return figures
