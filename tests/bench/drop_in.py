"""The drop-in compared with the libraries that it replaces: -lcuda and NVIDIA's static libcudart.

Its functions have landing pads for processors that check jumps, one instruction each. The entries of a PLT have
them too if the whole program is made for such processors: there a call through the drop-in costs the same, and
otherwise one instruction more.
"""

import pathlib
import platform
import shutil
import statistics

from call_cost import CALLS, CHUNKS, ROUNDS
from figures import Figure, skipped
from measure import NO_VALGRIND, content_size, count_calls, have_valgrind, instructions, time_calls
from startup import MOST_NOISE_PERCENT, percent
from startup import ROUNDS as STARTS
from workshop import call

KB = 1024
PLT, PADDED_PLT = "driver call, PLT", "driver call, PLT with landing pads"
DROP_IN = "driver call, drop-in"
DROP_IN_BOTH, DROP_IN_SHARED = f"{DROP_IN}, archive of both kinds", f"{DROP_IN}, shared library"
# Forces a PLT with or without landing pads. By default the linker makes them only if every object of the program
# is made for them, including the system's start files.
WITH_PADS = {"x86_64": ["-Wl,-z,ibtplt"], "aarch64": ["-Wl,-z,force-bti"]}
WITHOUT_PADS = {"x86_64": ["-fcf-protection=none"], "aarch64": ["-mbranch-protection=none"]}
STATIC, DROP_IN_RUNTIME = "runtime call, libcudart_static", "runtime call, drop-in"
STATIC_LINK_FLAGS = ["-ldl", "-lrt", "-pthread"]
# The promise is to add less than a static libcudart. These limits are close to the measured values (32 KB, 2,000
# instructions), so that a much smaller difference is noticed.
MOST_KB = 48
MORE_INSTRUCTIONS = 8_000
# Instructions that the drop-in adds to a call; the jump only without a PLT.
LANDING_PAD, JUMP = 1, 1
# The drop-in finds the slot of a shared library by one instruction more.
SLOT = 1


def toolkit(workshop, kit):
    """The folder that contains the folder of the CUDA headers."""
    probe = workshop.folder / "toolkit.cpp"
    probe.write_text("#include <cuda_runtime_api.h>\n")
    words = call(["g++", "-M", *kit.include_flags, probe]).split()
    (header,) = (word for word in words if word.endswith("/cuda_runtime_api.h"))
    return pathlib.Path(header).resolve().parent.parent


def nvidia_library(workshop, kit, name):
    """A file of that toolkit, or None."""
    places = (toolkit(workshop, kit) / folder / name for folder in ("lib64", "lib"))
    return next((place for place in places if place.exists()), None)


# --- a call ---


def driver_ways(workshop):
    fake = workshop.fake_driver()
    kit = workshop.kit("g++", "static")
    linked = ["-fplt", *kit.include_flags, fake, f"-Wl,-rpath,{fake.parent}"]
    machine = platform.machine()

    def build(name, *flags):
        return [workshop.program(name, "g++", "call.cpp", ["-DDIRECT", *flags])]

    return {
        PLT: build("driver_plt", *linked, *WITHOUT_PADS.get(machine, [])),
        PADDED_PLT: build("driver_padded_plt", *linked, *WITH_PADS.get(machine, [])),
        DROP_IN: build("driver_drop_in", *kit.include_flags, *kit.drop_in_link_flags()),
        DROP_IN_BOTH: build("driver_drop_in_both", *kit.include_flags,
                            *workshop.kit("g++", "static", "both").drop_in_link_flags()),
        DROP_IN_SHARED: build("driver_drop_in_shared", *kit.include_flags,
                              *workshop.kit("g++", "shared").drop_in_link_flags()),
    }


def runtime_ways(workshop, static):
    kit = workshop.kit("g++", "static")

    def build(name, *flags):
        return [workshop.program(name, "g++", "call.cpp", ["-DRUNTIME", *kit.include_flags, *flags])]

    return {
        STATIC: build("runtime_static", static, *STATIC_LINK_FLAGS),
        DROP_IN_RUNTIME: build("runtime_drop_in", *kit.drop_in_link_flags()),
    }


def calls(ways, drop_ins, environment, repeatable, more_instructions):
    """drop_ins: names of drop-ins, each with the instructions that it may add to the first one. more_instructions:
    the instructions that the first one may add to each other way, by its name."""
    figures = []
    if have_valgrind():
        counts = count_calls(ways, **environment)
        limit = min(counts[name] + more for name, more in more_instructions.items())
        figures += [Figure(name, value, "instructions", limit=limit + drop_ins[name] if name in drop_ins else None)
                    for name, value in counts.items()]
    else:
        figures.append(skipped("calls of the drop-in: instructions", NO_VALGRIND))
    if repeatable:
        return figures

    times = time_calls(ways, CALLS, CHUNKS, ROUNDS, **environment)
    return figures + [Figure(name, value, "ns") for name, value in times.items()]


# --- a program ---


def size(programs):
    stripped = {name: content_size(program) for name, program in programs.items()}
    return [Figure(f"program with {name}: sections", value / KB, "KB",
                   limit=None if name == "libcudart_static" else
                   min(MOST_KB, stripped["libcudart_static"] / KB))
            for name, value in stripped.items()]


def started(workshop, programs):
    """The C library takes nearly all of a start, so the part that each program adds is measured too."""
    if not have_valgrind():
        return [skipped("start: instructions", NO_VALGRIND)]
    counts = {name: instructions(program, []) for name, program in programs.items()}
    without = instructions(workshop.program("runtime_api_without", "g++", "startup.c", ["-s"]), [])
    figures = [Figure("program without CUDA: start", without, "instructions")]
    for name, value in counts.items():
        is_static = name == "libcudart_static"
        figures += [
            Figure(f"program with {name}: start", value, "instructions",
                   limit=None if is_static else counts["libcudart_static"]),
            Figure(f"{name} adds", value - without, "instructions",
                   limit=None if is_static else MORE_INSTRUCTIONS),
        ]
    return figures


def start_times(workshop, programs):
    """Medians. The program with the static libcudart is measured twice; the difference is noise."""
    again = shutil.copy(programs["libcudart_static"], workshop.folder / "runtime_again")
    timer = workshop.program("spawn_timer", "g++", "spawn_timer.c", [])
    lines = call([timer, str(STARTS), programs["libcudart_static"], again,
                  programs["the drop-in"]]).splitlines()
    columns = list(zip(*(map(float, line.split()) for line in lines)))
    static, same, drop_in = (statistics.median(column) for column in columns[0::2])
    noise = abs(percent(same, static))
    figures = [
        Figure("program with libcudart_static: start", static, "us"),
        Figure("program with the drop-in: start", drop_in, "us"),
        Figure("identical files differ by", noise, "%"),
    ]
    if noise > MOST_NOISE_PERCENT:
        return [*figures, skipped("the drop-in adds", "machine too busy")]
    return [*figures, Figure("the drop-in adds", percent(drop_in, (static + same) / 2), "%",
                             limit=MOST_NOISE_PERCENT)]


def measure_program(workshop, static, repeatable):
    kit = workshop.kit("g++", "static")
    flags = ["-s", "-Wl,--gc-sections", *kit.include_flags]
    programs = {
        "libcudart_static": workshop.program(
            "runtime_api_static", "g++", "runtime_api.c", [*flags, static, *STATIC_LINK_FLAGS]),
        "the drop-in": workshop.program(
            "runtime_api_drop_in", "g++", "runtime_api.c", [*flags, *kit.drop_in_link_flags()]),
    }
    figures = size(programs) + started(workshop, programs)
    return figures if repeatable else figures + start_times(workshop, programs)


def measure(workshop, repeatable):
    kit = workshop.kit("g++", "static")
    figures = calls(driver_ways(workshop), {DROP_IN: 0, DROP_IN_BOTH: 0, DROP_IN_SHARED: SLOT},
                    {"CUSHIM_DRIVER": str(workshop.fake_driver())}, repeatable,
                    {PLT: LANDING_PAD, PADDED_PLT: 0})
    static = nvidia_library(workshop, kit, "libcudart_static.a")
    if static is None:
        return [*figures, skipped("against libcudart_static", "the file was not found beside the headers")]
    major = kit.cuda_version() // 1000
    shared = nvidia_library(workshop, kit, f"libcudart.so.{'11.0' if major == 11 else major}")
    if shared is None:
        figures.append(skipped("a runtime call", "libcudart was not found beside the headers"))
    else:
        # Without a chosen driver, which would restrict the search for the runtime to its folder. The call of the
        # static library is direct, that of the shared one follows the drop-in's jump.
        figures += calls(runtime_ways(workshop, static), {DROP_IN_RUNTIME: 0},
                         {"CUSHIM_RUNTIME": str(shared)}, repeatable,
                         {STATIC: LANDING_PAD + JUMP})
    return figures + measure_program(workshop, static, repeatable)
