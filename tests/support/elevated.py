"""For tests that run programs as another user, with and without root's set-user-id bit."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

NOBODY = 65534
# Search places, as loader.h numbers them.
ENVIRONMENT, SYSTEM, KNOWN_PLACES, EVERYWHERE = 1, 4, 8, 15


class TestCase(unittest.TestCase):
    """Subclasses set `program`, a copy in `folder`."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)

    @staticmethod
    def copy(source, target):
        """Makes a copy that every user can read, whatever the build folder allows."""
        path = shutil.copy(source, target)
        os.chmod(path, 0o755)
        return path

    def report(self, elevated, places=EVERYWHERE, **variables):
        return self.run_program(self.program, elevated, str(places), **variables)

    def run_program(self, program, elevated, *arguments, **variables):
        mode = 0o4755 if elevated else 0o755
        os.chmod(program, mode)
        environment = {'PATH': os.environ.get('PATH', ''), **variables}
        result = subprocess.run([program, *arguments], env=environment, user=NOBODY,
                                group=NOBODY, extra_groups=[], capture_output=True, text=True,
                                check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        return result.stdout

    def elevation_works(self):
        """Some containers ignore the bit; then the test is skipped."""
        os.chmod(self.program, 0o4755)
        return bool(os.stat(self.program).st_mode & stat.S_ISUID) and \
            self.no_new_privileges() == '0'

    def need_elevation(self):
        if not self.elevation_works():
            self.skipTest('programs do not get other rights on this machine')

    @staticmethod
    def no_new_privileges():
        with open('/proc/self/status', encoding='ascii') as file:
            return next((line.split()[1] for line in file if line.startswith('NoNewPrivs')), '0')


def why_not():
    if os.geteuid() != 0:
        return 'not root: cannot make a set-user-id program of another user'
    if os.statvfs(tempfile.gettempdir()).f_flag & os.ST_NOSUID:
        return 'the folder for temporary files ignores set-user-id bits'
    return None


def main():
    if why_not():
        print('SKIP:', why_not())
        sys.exit(77)
    os.umask(0o022)
    unittest.main(argv=sys.argv[:1], verbosity=2)
