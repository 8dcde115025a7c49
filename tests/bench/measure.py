"""Ways to measure: counted instructions, processes on one core, the contents of ELF files."""

import os
import re
import shutil
import statistics

from workshop import call, clean_environment

NO_VALGRIND = "no valgrind"


def have_valgrind():
    return shutil.which("valgrind") is not None


def stay_on_one_core():
    """For this process and its children. The last core, because the first one handles interrupts."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def instructions(program, arguments, inside=None, **environment):
    """All instructions of a run, including those of the dynamic linker; or those inside one function."""
    command = [
        "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-fd=1",
        *([f"--toggle-collect={inside}"] if inside else []), program, *arguments,
    ]
    output = call(command, env=clean_environment() | environment)
    return int(re.search(r"Collected : (\d+)", output).group(1))


def count_calls(commands, calls=51000, **environment):
    """Instructions of a call, by name: the slope between two lengths of a program's loop, so of the call itself, its
    callees and the loop. Rounded, because the rest of the program varies by some instructions (printed digits).
    """
    short = 1000

    def count(program, *arguments):
        ends = [instructions(program, [*arguments, str(length), "1"], **environment)
                for length in (short, calls)]
        return round((ends[1] - ends[0]) / (calls - short), 1)

    return {name: count(*command) for name, command in commands.items()}


def time_calls(commands, calls, chunks, rounds, **environment):
    """Nanoseconds of a call in the fastest run, by name."""
    def run(command):
        return lambda: printed_number(*command, str(calls), str(chunks), **environment)

    results = alternate(rounds, {name: run(command) for name, command in commands.items()})
    return {name: min(values) for name, values in results.items()}


def printed_number(program, *arguments, **environment):
    """The number that a program prints. A status may follow, which must be 0."""
    number, *status = call([program, *arguments], env=clean_environment() | environment).split()
    if status not in ([], ["0"]):
        raise SystemExit(f"{program}: status {status[0]}")
    return float(number)


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
    """Bytes of all sections in the file: its size without padding to whole pages."""
    rows = re.findall(
        r"^ +\[ *\d+\] +(?:\.\S+) +(\S+) +\S+ +\S+ +([0-9a-f]+) ",
        call(["readelf", "-SW", file]),
        re.MULTILINE,
    )
    return sum(int(size, 16) for kind, size in rows if kind != "NOBITS")


def init_array_entries(file):
    """The number of functions that run before main."""
    bits = 32 if "ELF32" in call(["readelf", "-h", file]) else 64
    sizes = re.findall(r"\((?:PRE)?INIT_ARRAYSZ\)\s+(\d+)", call(["readelf", "-dW", file]))
    return sum(map(int, sizes)) * 8 // bits
