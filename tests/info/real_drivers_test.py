#!/usr/bin/env python3
"""cushim-info with NVIDIA's driver libraries, on a machine without a device.

CUSHIM_REAL_LIBS is a folder that contains drivers/<version>/libcuda.so.1; without it the exit status is 77.
"""

import glob
import os
import sys
import unittest

from tool import Tool, options

given = options.of_command_line()
TOOL = Tool(given.words)
FOLDER = os.environ.get('CUSHIM_REAL_LIBS')
DRIVERS = {os.path.basename(os.path.dirname(path)): path
           for path in sorted(glob.glob(os.path.join(FOLDER or '', 'drivers/*/libcuda.so.1')))}

# Driver branch: its CUDA version, and how many entry points of the 13.0 headers it has.
EXPECTED = {'470': ('11.4', 487), '535': ('12.2', 555), '550': ('12.4', 591)}
TOTAL = 637

SKIPPED = 77


def number(text):
    return tuple(int(part) for part in text.split('.'))


class RealDrivers(unittest.TestCase):
    def test_every_branch_is_found(self):
        self.assertEqual(sorted(name.split('.')[0] for name in DRIVERS), sorted(EXPECTED))

    def test_drivers_resolve_the_expected_number(self):
        for name, path in DRIVERS.items():
            with self.subTest(driver=name):
                self.check_entry_points(path, *EXPECTED[name.split('.')[0]])

    def check_entry_points(self, path, cuda, resolved):
        found = TOOL.json('--symbols', CUSHIM_DRIVER=path)
        driver = found['driver']
        self.assertEqual(driver['state'], 'loaded', driver['reason'])
        self.assertEqual(os.path.realpath(driver['path']), os.path.realpath(path))
        self.assertEqual(driver['cuda_version'], cuda)
        entries = driver['entry_points']
        self.assertEqual(entries['total'], TOTAL)
        self.assertEqual(entries['resolved'], resolved)
        self.assertEqual(len(entries['missing']), TOTAL - resolved)
        for entry in entries['symbols']:
            if entry['state'] != 'resolved':
                self.assertEqual(entry['status'], 36, entry)
                self.assertGreater(number(entry['introduced']), number(cuda), entry)
        self.assertTrue(any('older than the headers' in hint for hint in found['hints']))

    def test_drivers_find_no_device(self):
        if glob.glob('/dev/nvidia[0-9]*'):
            self.skipTest('this machine has NVIDIA devices')
        for name, path in DRIVERS.items():
            with self.subTest(driver=name):
                found = TOOL.json(CUSHIM_DRIVER=path)
                self.assertEqual(found['init_status'], 100)
                self.assertEqual(found['devices'], [])
                check = TOOL.run('--check', CUSHIM_DRIVER=path)
                self.assertEqual(check.returncode, 1)
                self.assertIn(b'CUDA_ERROR_NO_DEVICE', check.stderr)


def main():
    if not FOLDER:
        print('SKIP: CUSHIM_REAL_LIBS does not name a folder with driver libraries')
        return SKIPPED
    if int(given.text('headers')) // 10 != 1300:
        print('SKIP: the expected counts are those of the 13.0 headers')
        return SKIPPED
    return unittest.main(verbosity=2)


if __name__ == '__main__':
    sys.exit(main())
