#!/usr/bin/env python3
"""PyTorch and CuPy compute what they computed before, after a plugin in the same process has used NVIDIA's
libraries through cushim's drop-ins, and the plugin what it computes alone.

Arguments: the Python module as which each plugin is compared (torch, cupy), then pairs of a plugin and the program
that makes the same calls. The Python is python3, or that which GPU_TEST_PYTHON names. Without the module the
status is 77 and the reason is printed.
"""

import ctypes
import os
import subprocess
import sys
import tempfile

SKIPPED = 77


def computed_by_torch():
    import torch
    values = torch.arange(4096, dtype=torch.float32, device="cuda:0").reshape(64, 64) % 7
    product = (values @ values.T).cpu()
    spectrum = torch.fft.fft(values.reshape(-1)[:256]).abs().sum().item()
    solution = torch.linalg.solve(torch.eye(3, device="cuda:0") * 4, torch.ones(3, device="cuda:0"))
    return product.tolist(), round(spectrum, 2), solution.tolist()


def computed_by_cupy():
    import cupy
    values = cupy.arange(4096, dtype=cupy.float32).reshape(64, 64) % 7
    kernel = cupy.RawKernel("extern \"C\" __global__ void twice(float *v) { v[threadIdx.x] *= 2; }", "twice")
    doubled = cupy.arange(32, dtype=cupy.float32)
    kernel((1,), (32,), (doubled,))
    spectrum = float(cupy.abs(cupy.fft.fft(values.reshape(-1)[:256])).sum())
    return (values @ values.T).tolist(), round(spectrum, 2), doubled.tolist()


COMPUTED_BY = {"torch": computed_by_torch, "cupy": computed_by_cupy}


def printed_by(plugin):
    """What the calls of a plugin print, in this process."""
    sys.stdout.flush()
    with tempfile.TemporaryFile() as file:
        stdout = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            status = ctypes.CDLL(plugin).library_calls()
            ctypes.CDLL(None).fflush(None)
        finally:
            os.dup2(stdout, 1)
        file.seek(0)
        text = file.read().decode()
    if status != 0:
        sys.exit(f"{plugin}: status {status}\n{text}")
    return text


def compare(module, pairs):
    before = COMPUTED_BY[module]()
    for plugin, program in pairs:
        alone = subprocess.run([program], capture_output=True, text=True, timeout=120)
        if alone.returncode != 0:
            sys.exit(f"{program}: status {alone.returncode}\n{alone.stdout}{alone.stderr}")
        beside = printed_by(plugin)
        # Versions differ where the module brought its own copy of a library.
        if results(beside) != results(alone.stdout):
            sys.exit(f"{plugin} beside {module}:\n{beside}\nalone:\n{alone.stdout}")
        if COMPUTED_BY[module]() != before:
            sys.exit(f"{module} computes something else after {plugin}")
        print(f"{os.path.basename(plugin)} beside {module}: the same results")


def results(text):
    return [line for line in text.splitlines() if not line.startswith(("NVRTC ", "cuBLAS ", "NCCL "))]


def has_module(python, module):
    try:
        return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0
    except OSError:
        return False


def main():
    module, files = sys.argv[1], sys.argv[2:]
    if os.environ.get("NEIGHBOURS_TEST_INSIDE"):
        compare(module, list(zip(files[::2], files[1::2])))
        return
    for python in filter(None, (os.environ.get("GPU_TEST_PYTHON"), "python3", sys.executable)):
        if has_module(python, module):
            done = subprocess.run([python, *sys.argv], env=os.environ | {"NEIGHBOURS_TEST_INSIDE": "1"})
            sys.exit(done.returncode)
    print(f"skipped: no Python here has {module}")
    sys.exit(SKIPPED)


if __name__ == "__main__":
    main()
