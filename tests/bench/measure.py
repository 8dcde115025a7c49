"""How things are measured: counted instructions, processes on one core, what an ELF file says."""

import os
import re
import shutil
import statistics

from workshop import call, clean_environment

NO_VALGRIND = "no valgrind"


def have_valgrind():
    return shutil.which("valgrind") is not None


def stay_on_one_core():
    """For this process and all that it starts. The last core: the first has the interrupts."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def instructions(program, arguments, **environment):
    """All instructions of a run, from the start of the dynamic linker on."""
    command = [
        "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
        "--log-fd=1", program, *arguments,
    ]
    output = call(command, env=clean_environment() | environment)
    return int(re.search(r"Collected : (\d+)", output).group(1))


def instructions_per_call(program, *arguments, calls=51000, **environment):
    """The slope between two lengths of the loop: the call, what it calls, and the loop.

    Rounded, since what surrounds the loop differs by some instructions (the digits printed).
    """
    short, long = 1000, calls
    counts = [
        instructions(program, [*arguments, str(length), "1"], **environment)
        for length in (short, long)
    ]
    return round((counts[1] - counts[0]) / (long - short), 1)


def printed_number(program, *arguments, **environment):
    return float(call([program, *arguments], env=clean_environment() | environment))


def alternate(rounds, measurements):
    """Lists of results by name. Every round takes each measurement once."""
    results = {name: [] for name in measurements}
    for _ in range(rounds):
        for name, measurement in measurements.items():
            results[name].append(measurement())
    return results


def medians(results):
    return {name: statistics.median(values) for name, values in results.items()}


# --- ELF files, by readelf ---


def needed(file):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", call(["readelf", "-dW", file]))


def content_size(file):
    """Bytes of all sections that the file holds: its size without the padding to whole pages."""
    rows = re.findall(
        r"^ +\[ *\d+\] +(?:\.\S+) +(\S+) +\S+ +\S+ +([0-9a-f]+) ",
        call(["readelf", "-SW", file]),
        re.MULTILINE,
    )
    return sum(int(size, 16) for kind, size in rows if kind != "NOBITS")


def init_array_entries(file):
    """How many functions run before main."""
    bits = 32 if "ELF32" in call(["readelf", "-h", file]) else 64
    sizes = re.findall(r"\((?:PRE)?INIT_ARRAYSZ\)\s+(\d+)", call(["readelf", "-dW", file]))
    return sum(map(int, sizes)) * 8 // bits
