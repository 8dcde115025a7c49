#!/usr/bin/env python3
"""A process with elevated rights ignores the variables and folders by which its user could choose a further library.

usage: further_elevated_test.py PRINT_FURTHER LIBRARY
"""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../support'))
import elevated  # noqa: E402
from elevated import ENVIRONMENT, EVERYWHERE, KNOWN_PLACES  # noqa: E402

NAME = 'libfurther.so.4'
LOADED = 'further: Further, '


class Further(elevated.TestCase):
    def setUp(self):
        super().setUp()
        self.program = self.copy(sys.argv[1], self.folder)

    def library(self, folder):
        place = os.path.join(self.folder, folder)
        os.makedirs(place, exist_ok=True)
        return self.copy(sys.argv[2], os.path.join(place, NAME))

    def check(self, places, **variables):
        """Found by an ordinary process, and not by an elevated one."""
        self.assertIn(LOADED, self.report(False, places, **variables))
        self.need_elevation()
        for where in (places, EVERYWHERE):
            self.assertNotIn(self.folder, self.report(True, where, **variables))

    def test_path_is_ignored(self):
        self.check(ENVIRONMENT, CUSHIM_FURTHER=self.library('chosen'))

    def test_toolkit_is_ignored(self):
        self.library('toolkit/lib64')
        self.check(ENVIRONMENT, CUDA_PATH=os.path.join(self.folder, 'toolkit'))

    def test_packages_are_ignored(self):
        self.library('python/lib/python3.11/site-packages/nvidia/further/lib')
        self.check(ENVIRONMENT, VIRTUAL_ENV=os.path.join(self.folder, 'python'))

    def test_environment_of_the_running_python_is_ignored(self):
        """An environment that is not activated: its Python, a copy or a link."""
        self.library('venv/lib/python3.11/site-packages/nvidia/further/lib')
        pathlib.Path(self.folder, 'venv/pyvenv.cfg').touch()
        os.mkdir(os.path.join(self.folder, 'venv/bin'))
        original, python = self.program, os.path.join(self.folder, 'venv/bin/python')
        os.symlink(original, python)
        self.program = python
        self.check(KNOWN_PLACES)
        relative = ['sh', '-c', f'cd {self.folder} && exec venv/bin/python {KNOWN_PLACES}']
        self.assertIn(LOADED, subprocess.run(relative, capture_output=True, text=True, check=True).stdout)
        os.unlink(python)
        self.program = self.copy(original, python)
        self.check(KNOWN_PLACES)
        self.program = self.copy(original, os.path.join(self.folder, 'venv/bin/tool'))
        self.check(KNOWN_PLACES)
        os.unlink(os.path.join(self.folder, 'venv/pyvenv.cfg'))
        self.assertNotIn(LOADED, self.report(False, KNOWN_PLACES))

    def test_prefix_of_the_running_python_is_ignored(self):
        """A Python that is installed without an environment, such as that of conda or of a container."""
        os.makedirs(os.path.join(self.folder, 'prefix/bin'))
        self.program = self.copy(self.program, os.path.join(self.folder, 'prefix/bin/python3.11'))
        for place in ('lib', 'lib/python3.11/site-packages/nvidia/further/lib',
                      'lib/python3/dist-packages/nvidia/further/lib',
                      'local/lib/python3.11/dist-packages/nvidia/further/lib'):
            with self.subTest(place):
                library = self.library('prefix/' + place)
                self.check(KNOWN_PLACES)
                os.unlink(library)

    def test_what_is_around_a_python_elsewhere_is_not_searched(self):
        """Such as /tmp/lib for a Python that is run where it was built."""
        os.makedirs(os.path.join(self.folder, 'prefix/built'))
        self.program = self.copy(self.program, os.path.join(self.folder, 'prefix/built/python3.11'))
        self.library('prefix/lib')
        self.assertNotIn(LOADED, self.report(False, KNOWN_PLACES))

    def test_packages_beside_the_program_are_ignored(self):
        self.library('any/site-packages/nvidia/further/lib')
        os.mkdir(os.path.join(self.folder, 'any/site-packages/tool'))
        self.program = self.copy(self.program, os.path.join(self.folder, 'any/site-packages/tool/program'))
        self.check(KNOWN_PLACES)

    def test_folder_of_the_program_is_ignored(self):
        self.library('.')
        self.check(KNOWN_PLACES)


if __name__ == '__main__':
    elevated.main()
