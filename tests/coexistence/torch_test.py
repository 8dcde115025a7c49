#!/usr/bin/env python3
"""PyTorch and cushim in one process: a library that uses cushim gets tensors, and PyTorch gets cushim's memory.

PyTorch is that of python3, or of the Python that GPU_TEST_PYTHON names, which runs this script again. Without
PyTorch the status is 77 and the reason is printed.
"""

import ctypes
import os
import re
import subprocess
import sys
import unittest

SKIPPED = 77
COUNT = 100_003


def load_plugin(path):
    """The functions of plugin.h."""
    plugin = ctypes.CDLL(path)
    address, values, count = ctypes.c_ulonglong, ctypes.POINTER(ctypes.c_int), ctypes.c_size_t
    for name, result, parameters in (
        ("primary", ctypes.c_void_p, []),
        ("current", ctypes.c_void_p, []),
        ("read", ctypes.c_int, [address, values, count]),
        ("write", ctypes.c_int, [address, values, count]),
        ("fill_in", ctypes.c_int, [ctypes.c_void_p, address, ctypes.c_int, count]),
        ("allocate", address, [count]),
        ("release", None, []),
        ("malloc", ctypes.c_void_p, []),
    ):
        function = getattr(plugin, "plugin_" + name)
        function.restype, function.argtypes = result, parameters
        setattr(plugin, name, function)
    return plugin


def mapped_runtimes():
    with open("/proc/self/maps") as maps:
        return set(re.findall(r"(/\S*/libcudart\.so\S*)$", maps.read(), re.MULTILINE))


class Memory:
    """Device memory in the form that PyTorch accepts from other libraries."""

    def __init__(self, address, count):
        self.__cuda_array_interface__ = {
            "shape": (count,), "typestr": "<i4", "data": (address, False), "version": 3}


class TorchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import torch
        cls.torch = torch
        cls.tensor = torch.arange(COUNT, dtype=torch.int32, device="cuda:0")
        torch.cuda.synchronize()
        cls.before = mapped_runtimes()
        cls.plugin = load_plugin(plugin_path)

    def read(self, address):
        values = (ctypes.c_int * COUNT)()
        self.assertEqual(self.plugin.read(address, values, COUNT), 0)
        return list(values)

    def test_both_use_the_primary_context(self):
        primary = self.plugin.primary()
        self.assertIsNotNone(primary)
        self.assertEqual(self.plugin.current(), primary)

    def test_tensor_is_read_and_written(self):
        tensor = self.tensor.clone()
        self.torch.cuda.synchronize()
        self.assertEqual(self.read(tensor.data_ptr()), list(range(COUNT)))
        values = (ctypes.c_int * COUNT)(*range(5, COUNT + 5))
        self.assertEqual(self.plugin.write(tensor.data_ptr(), values, COUNT), 0)
        self.assertTrue(self.torch.equal(tensor, self.tensor + 5))

    def test_cushim_works_in_a_stream_of_torch(self):
        stream = self.torch.cuda.Stream()
        with self.torch.cuda.stream(stream):
            tensor = self.torch.zeros(COUNT, dtype=self.torch.int32, device="cuda:0")
            queued = self.plugin.fill_in(stream.cuda_stream, tensor.data_ptr(), 7, COUNT)
            self.assertEqual(queued, 0)
            tensor += 1
        stream.synchronize()
        self.assertTrue(bool((tensor == 8).all()))

    def test_torch_computes_in_memory_of_cushim(self):
        address = self.plugin.allocate(COUNT)
        self.assertNotEqual(address, 0)
        tensor = self.torch.as_tensor(Memory(address, COUNT), device="cuda:0")
        self.assertEqual(tensor.data_ptr(), address)
        tensor.copy_(self.tensor)
        tensor *= 3
        self.torch.cuda.synchronize()
        self.assertEqual(self.read(address), list(range(0, 3 * COUNT, 3)))
        del tensor
        self.plugin.release()

    def test_both_use_one_runtime(self):
        if not any(os.path.basename(path).startswith(runtime_name) for path in self.before):
            self.skipTest(f"PyTorch has {sorted(self.before) or 'no libcudart'}, not {runtime_name}")
        self.assertIsNotNone(self.plugin.malloc())
        self.assertEqual(mapped_runtimes(), self.before)


def has_torch(python):
    try:
        return subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0
    except OSError:
        return False


def main():
    if os.environ.get("TORCH_TEST_INSIDE"):
        unittest.main(argv=sys.argv[:1], verbosity=2)
    for python in filter(None, (os.environ.get("GPU_TEST_PYTHON"), "python3", sys.executable)):
        if has_torch(python):
            inside = os.environ | {"TORCH_TEST_INSIDE": "1"}
            return subprocess.run([python, __file__, *sys.argv[1:]], env=inside).returncode
    print("SKIPPED: PyTorch was not found; set GPU_TEST_PYTHON to a Python that has it")
    return SKIPPED


if __name__ == "__main__":
    plugin_path, runtime_name = os.path.abspath(sys.argv[1]), sys.argv[2]
    sys.exit(main())
