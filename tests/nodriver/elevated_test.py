#!/usr/bin/env python3
"""A process with elevated rights ignores every variable that could make it load an attacker's library.

usage: elevated_test.py PRINT_REPORT FAKE_DRIVER FAKE_RUNTIME [SHARED_CORE RPATH]

Runs a copy of the program as another user, with and without root's set-user-id bit. A shared cushim-core is also
copied, and RPATH is replaced in the program, because the user may not be able to read the build folder.
"""

import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../support'))
import binaries  # noqa: E402
import elevated  # noqa: E402
from elevated import ENVIRONMENT, EVERYWHERE, SYSTEM  # noqa: E402


class Elevated(elevated.TestCase):
    def setUp(self):
        super().setUp()
        self.program, self.driver, self.runtime = (
            self.copy(path, self.folder) for path in sys.argv[1:4])
        if len(sys.argv) == 6:
            self.bring_core(*sys.argv[4:6])

    def bring_core(self, library, rpath):
        # Not beside the fake libraries, because the loader also searches the program's own path.
        folder = os.path.join(self.folder, 'core')
        os.mkdir(folder)
        os.chmod(folder, 0o755)
        with open(self.program, 'r+b') as file:
            program, place = file.read(), os.fsencode(rpath)
            self.assertEqual(program.count(place), 1)
            self.assertLessEqual(len(folder), len(rpath))
            file.seek(program.index(place))
            file.write(os.fsencode(folder).ljust(len(place), b'\0'))
        (name,) = [name for name in binaries.read(self.program).needed() if 'cushim-core' in name]
        self.copy(library, os.path.join(folder, name))

    def test_ordinary_process_uses_the_variables(self):
        """Otherwise the other tests could not fail."""
        self.assertIn(self.driver, self.report(False, CUSHIM_DRIVER=self.driver))
        self.assertIn(self.runtime, self.report(False, CUSHIM_DRIVER=self.driver))
        self.assertIn('CUSHIM_DISABLE', self.report(False, CUSHIM_DISABLE='1'))

    def test_library_paths_are_ignored(self):
        self.need_elevation()
        text = self.report(True, CUSHIM_DRIVER=self.driver, CUSHIM_RUNTIME=self.runtime)
        self.assertNotIn(self.folder, text)

    def test_disable_variable_is_ignored(self):
        self.need_elevation()
        self.assertNotIn('CUSHIM_DISABLE', self.report(True, CUSHIM_DISABLE='1'))

    def test_toolkit_and_environment_folders_are_ignored(self):
        name = os.path.basename(self.runtime)
        below = {
            'CUDA_PATH': 'toolkit/lib64', 'CUDA_HOME': 'toolkit/lib64', 'CONDA_PREFIX': 'conda/lib',
            'VIRTUAL_ENV': 'python/lib/python3.11/site-packages/nvidia/cuda_runtime/lib',
            'LD_LIBRARY_PATH': 'path',
        }
        for variable, folder in below.items():
            with self.subTest(variable=variable):
                place = os.path.join(self.folder, variable, folder)
                os.makedirs(place)
                library = shutil.copy(self.runtime, os.path.join(place, name))
                root, places = place, SYSTEM
                if variable != 'LD_LIBRARY_PATH':
                    root = os.path.join(self.folder, variable, folder.split('/')[0])
                    places = ENVIRONMENT
                # Searches only these places, so that libraries of this machine do not come first.
                heeded = self.report(False, places, **{variable: root})
                self.assertRegex(heeded, rf'runtime: CUDA runtime \S+, {re.escape(library)}\n')
                self.need_elevation()
                for where in (places, EVERYWHERE):
                    self.assertNotIn(self.folder, self.report(True, where, **{variable: root}))


if __name__ == '__main__':
    elevated.main()
