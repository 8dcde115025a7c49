#!/usr/bin/env python3
"""A process with elevated rights ignores the variables and folders by which its user could choose a further library.

usage: further_elevated_test.py PRINT_FURTHER LIBRARY
"""

import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../nodriver'))
import elevated_test  # noqa: E402

NAME = 'libfurther.so.4'
ENVIRONMENT, KNOWN_PLACES, EVERYWHERE = 1, 8, 15  # search places, as loader.h numbers them
LOADED = 'further: Further, '


class Further(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        self.other = elevated_test.Elevated()
        self.other.program = self.other.copy(sys.argv[1], self.folder)

    def library(self, folder):
        place = os.path.join(self.folder, folder)
        os.makedirs(place, exist_ok=True)
        return self.other.copy(sys.argv[2], os.path.join(place, NAME))

    def check(self, places, **variables):
        """Found by an ordinary process, and not by an elevated one."""
        self.assertIn(LOADED, self.other.report(False, places, **variables))
        if not self.other.elevation_works():
            self.skipTest('programs do not get other rights on this machine')
        for where in (places, EVERYWHERE):
            self.assertNotIn(self.folder, self.other.report(True, where, **variables))

    def test_path_is_ignored(self):
        self.check(ENVIRONMENT, CUSHIM_FURTHER=self.library('chosen'))

    def test_toolkit_is_ignored(self):
        self.library('toolkit/lib64')
        self.check(ENVIRONMENT, CUDA_PATH=os.path.join(self.folder, 'toolkit'))

    def test_packages_are_ignored(self):
        self.library('python/lib/python3.11/site-packages/nvidia/further/lib')
        self.check(ENVIRONMENT, VIRTUAL_ENV=os.path.join(self.folder, 'python'))

    def test_folder_of_the_program_is_ignored(self):
        self.library('.')
        self.check(KNOWN_PLACES)


if __name__ == '__main__':
    if elevated_test.why_not():
        print('SKIP:', elevated_test.why_not())
        sys.exit(77)
    os.umask(0o022)
    unittest.main(argv=sys.argv[:1], verbosity=2)
