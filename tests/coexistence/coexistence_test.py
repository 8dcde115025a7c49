#!/usr/bin/env python3
"""Runs each test case of coexistence_test.cpp in its own process: with a neighbour that opens libcudart, with one
that is linked to it, and with a plugin that contains a copy of cushim.

The libcudart is the one named by --runtime, else by GPU_TEST_CUDART, else one of the right major version that the
dynamic linker, a toolkit or a Python environment has (GPU_TEST_PYTHON names another Python). Without one, the
status is 77 and the reason is printed.
"""

import glob
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import options  # noqa: E402

SKIPPED = 77
IN_PYTHON = """
import glob, nvidia
for folder in nvidia.__path__:
    print(*glob.glob(folder + '/*/lib/libcudart.so.*'), sep='\\n')
"""
BY_NAME = """
import ctypes, sys
ctypes.CDLL(sys.argv[1])
print(next(line.split(maxsplit=5)[5] for line in open('/proc/self/maps') if 'libcudart' in line))
"""


def output(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def candidates(name):
    yield output(sys.executable, "-c", BY_NAME, name)
    roots = [os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), *glob.glob("/usr/local/cuda*")]
    for root in filter(None, roots):
        for folder in ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"):
            yield f"{root}/{folder}/{name}"
    for python in filter(None, (os.environ.get("GPU_TEST_PYTHON"), "python3", sys.executable)):
        yield from output(python, "-c", IN_PYTHON).splitlines()


def find_runtime(name):
    if os.environ.get("GPU_TEST_CUDART"):
        return pathlib.Path(os.environ["GPU_TEST_CUDART"])
    for file in filter(None, candidates(name)):
        if pathlib.Path(file).name.startswith(name) and pathlib.Path(file).exists():
            return pathlib.Path(file)
    return None


def cases(program, tags):
    listed = subprocess.run([program, "--list-tests", "--verbosity", "quiet", tags],
                            check=True, capture_output=True, text=True).stdout
    return [line.strip() for line in listed.splitlines() if line.strip()]


def environment(given, folder, **more):
    libraries = os.pathsep.join(filter(None, (str(folder), os.environ.get("LD_LIBRARY_PATH"))))
    simulated = {"CUSHIM_DRIVER": str(given.driver)} if given.driver else {}
    return os.environ | simulated | {"LD_LIBRARY_PATH": libraries} | more


def outcome(given, name, case, env):
    done = subprocess.run([given.program, case], env=env, capture_output=True, text=True, timeout=120)
    result = {0: "ok", SKIPPED: "skipped"}.get(done.returncode, "FAILED")
    print(f"{result}: {name}: {case}", flush=True)
    if result != "ok":
        print(done.stdout, done.stderr)
    return result


class Given:
    command_line = options.of_command_line()
    program = command_line.path("program").absolute()
    opens = str(command_line.path("opens").absolute())  # the neighbour that opens libcudart
    linked = str(command_line.path("linked").absolute())  # the one that is linked to it
    plugin = command_line.text("plugin")  # none if cushim is shared: then there is only one copy
    runtime_name = command_line.text("runtime-name")  # the file name of libcudart
    driver, runtime = command_line.text("driver"), command_line.path("runtime")  # of the simulator


def main():
    given = Given
    runtime = given.runtime or find_runtime(given.runtime_name)
    if runtime is None:
        print(f"SKIPPED: {given.runtime_name} was not found; set GPU_TEST_CUDART")
        return SKIPPED
    print(f"libcudart: {runtime}")
    neighbours = {
        "opened": {"COEXISTENCE_NEIGHBOUR": given.opens},
        "linked": {"COEXISTENCE_NEIGHBOUR": given.linked},
        # As if the program itself were linked to libcudart.
        "there from the start": {"COEXISTENCE_NEIGHBOUR": given.linked,
                                 "LD_PRELOAD": given.linked},
    }
    folder = runtime.resolve().parent if given.driver else runtime.parent
    plugin = {"COEXISTENCE_PLUGIN": os.path.abspath(given.plugin)} if given.plugin else {}
    tags = "*" if given.plugin else "[neighbour]~[plugin]"
    results = [
        outcome(given, f"libcudart {kind}", case,
               environment(given, folder, **variables, **plugin))
        for kind, variables in neighbours.items()
        for case in cases(given.program, tags)
    ]
    if not given.plugin:
        print("SKIPPED: a shared cushim has only one copy")
    skipped = results.count("skipped") + (0 if given.plugin else 1)
    print(f"{results.count('ok')} passed, {results.count('FAILED')} failed, {skipped} skipped")
    return 0 if "ok" in results and "FAILED" not in results else 1


if __name__ == "__main__":
    sys.exit(main())
