#!/usr/bin/env python3
"""The registrations in clang's code, made before main, reach libcudart at the program's first CUDA call.

usage: clang_test.py PROGRAM RUNTIME DRIVER; the program is by_clang.cu of the samples
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM, RUNTIME, DRIVER = sys.argv[1:4]


class Clang(unittest.TestCase):
    maxDiff = None

    def test_registrations_arrive_in_order(self):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, 'log')
            kept = {name: value for name, value in os.environ.items() if not name.startswith('CUSHIM_')}
            subprocess.run([PROGRAM], capture_output=True, timeout=60, check=False,
                           env={**kept, 'CUSHIM_RUNTIME': RUNTIME, 'CUSHIM_DRIVER': DRIVER,
                                'REGISTRATION_LOG': log})
            with open(log, encoding='utf-8') as file:
                lines = file.read().splitlines()
        handle = lines[1].split()[1]
        self.assertEqual(int(lines[0].split()[1], 16) + 1, int(handle, 16))  # the fake libcudart's handle
        self.assertEqual([re.sub('0x[0-9a-f]+', 'AT', line.replace(handle, 'HANDLE')) for line in lines], [
            'RegisterFatBinary AT',
            'RegisterFunction HANDLE AT AT _Z8multiplyPi -1 (nil) (nil) (nil) (nil) (nil)',
            'RegisterVar HANDLE AT AT factor 0 4 1 0',
            'RegisterVar HANDLE AT AT launches 0 4 0 0',
            'RegisterFatBinaryEnd HANDLE',
            'libcudart is gone'])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
