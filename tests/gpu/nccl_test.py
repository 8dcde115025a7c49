#!/usr/bin/env python3
"""NCCL reduces data in cushim's buffers, over all GPUs of the machine, one process per GPU.

This script starts the processes, then an MPI launcher starts them again if there is one. NCCL is libnccl.so.2 of
the dynamic linker's search, else the one in a Python environment; GPU_TEST_NCCL names another file,
GPU_TEST_PYTHON another Python. Without NCCL the status is 77 and the reason is printed.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
PATIENCE_S = 180
LAUNCHERS = ("mpirun", "mpiexec", "srun")
IN_PYTHON = "import nvidia.nccl as n; print(list(n.__path__)[0])"


def environment(**more):
    """Turns off NVLink multicast in every process: all programs of the machine share that resource."""
    fixed = {"NCCL_NVLS_ENABLE": "0", "NCCL_CUMEM_ENABLE": "0", "NCCL_MNNVL_ENABLE": "0"}
    # All processes are on one machine.
    usual = {"NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"}
    return usual | dict(os.environ) | fixed | more


def output(command):
    """Standard output of a command that succeeds, otherwise None."""
    try:
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def candidates():
    if os.environ.get("GPU_TEST_NCCL"):
        yield os.environ["GPU_TEST_NCCL"]
        return
    yield "libnccl.so.2"
    for python in filter(None, (os.environ.get("GPU_TEST_PYTHON"), "python3", sys.executable)):
        folder = output([python, "-c", IN_PYTHON])
        if folder:
            yield str(pathlib.Path(folder) / "lib/libnccl.so.2")


def find_nccl(program):
    for library in candidates():
        version = output([program, library, "version"])
        if version:
            print(f"NCCL {version}\nlibrary: {library}")
            return library
    return None


def start_ourselves(command, count, id_file):
    processes = [
        subprocess.Popen([*command, id_file, str(count)],
                         env=environment(RANK=str(rank), WORLD_SIZE=str(count)))
        for rank in range(count)
    ]
    try:
        return [process.wait(timeout=PATIENCE_S) for process in processes]
    except subprocess.TimeoutExpired:
        return ["no end"]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def launcher_options(launcher):
    """Open MPI needs options to run as root and to run more processes than it counts cores."""
    version = output([launcher, "--version"]) or ""
    if "Open MPI" in version or "OpenRTE" in version or "PRRTE" in version:
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return [*root, "--oversubscribe"]
    return []


def find_launcher():
    """A working launcher with its options, and None; or None and the reason."""
    for name in LAUNCHERS:
        path = shutil.which(name)
        if path is None:
            continue
        options = launcher_options(path)
        if output([path, *options, "-n", "1", "true"]) is not None:
            return [path, *options], None
        return None, f"{path} cannot start a program here"
    return None, f"no MPI launcher was found ({', '.join(LAUNCHERS)})"


def start_by_launcher(launcher, command, count, id_file):
    full = [*launcher, "-n", str(count), *command, id_file, str(count)]
    print(" ".join(full), flush=True)
    # The launcher sets the ranks.
    inherited = {key: value for key, value in environment().items()
                 if key not in ("RANK", "WORLD_SIZE")}
    try:
        return [subprocess.run(full, env=inherited, timeout=PATIENCE_S).returncode]
    except subprocess.TimeoutExpired:
        return ["no end"]


def verdict(what, statuses):
    right = all(status == 0 for status in statuses)
    print(f"{what}: {'ok' if right else f'FAILED, statuses {statuses}'}", flush=True)
    return right


def main():
    program = sys.argv[1]
    devices = subprocess.run([program, "", "devices"], capture_output=True, text=True)
    if devices.returncode != 0:
        print(f"no GPU was found: {devices.stderr.strip()}")
        return 1
    count = int(devices.stdout)
    library = find_nccl(program)
    if library is None and os.environ.get("GPU_TEST_NCCL"):
        print(f"{os.environ['GPU_TEST_NCCL']}, which GPU_TEST_NCCL names, cannot be used")
        return 1
    if library is None:
        print("SKIPPED: NCCL was not found: libnccl.so.2 is neither in the dynamic linker's search nor "
              "in a Python environment; GPU_TEST_NCCL and GPU_TEST_PYTHON name others")
        return SKIPPED
    command = [program, library, "reduce"]
    # Measured once, and only over several GPUs: one GPU has no bandwidth between GPUs.
    first = [program, library, "measure"] if count > 1 else command
    skips = 0
    if count == 1:
        print("SKIPPED: needs 2 devices")
        skips += 1
    with tempfile.TemporaryDirectory() as folder:
        results = [verdict(f"{count} processes, started one by one",
                           start_ourselves(first, count, f"{folder}/first"))]
        launcher, why_not = find_launcher()
        if launcher:
            results.append(verdict(f"{count} processes, started by {launcher[0]}",
                                   start_by_launcher(launcher, command, count, f"{folder}/second")))
        else:
            print(f"SKIPPED: {why_not}")
            skips += 1
    failed = results.count(False)
    print(f"{len(results) - failed} passed, {failed} failed, {skips} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
