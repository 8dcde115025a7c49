#!/usr/bin/env python3
"""Calls of NVIDIA's libraries through cushim's tables and drop-ins print what a program prints that links the
libraries themselves.

Each argument is one set of programs: NAME TABLES DROPIN DIRECT. DIRECT is "-" where the machine that built the
tests lacks a library to link; the other two are then compared with each other.
"""

import subprocess
import sys
import unittest

SETS = [sys.argv[i:i + 4] for i in range(1, len(sys.argv), 4)]


def output(program):
    done = subprocess.run([program], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"{program}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class LibrariesTest(unittest.TestCase):
    maxDiff = None


def test_of(tables, dropin, direct):
    def test(self):
        expected = output(direct if direct != "-" else dropin)
        self.assertNotEqual(expected, "")
        print(expected, end="")
        self.assertEqual(output(dropin), expected)
        self.assertEqual(output(tables), expected)
    return test


for name, *programs in SETS:
    setattr(LibrariesTest, f"test_{name}", test_of(*programs))

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
