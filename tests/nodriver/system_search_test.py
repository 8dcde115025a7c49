#!/usr/bin/env python3
"""Damaged drivers that only the dynamic linker's cache or a folder for some processors names do not end the process.

usage: system_search_test.py PRINT_REPORT DRIVER
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DRIVER = sys.argv[1:3]
SYSTEM_SEARCH = '4'  # CUSHIM_SEARCH_SYSTEM
NAME = 'libcuda.so.1'
UNSHARE = ['unshare', '--map-root-user', '--mount']


def can_replace_cache():
    ldconfig = shutil.which('ldconfig', path='/sbin:/usr/sbin:/bin:/usr/bin')
    if ldconfig is None or shutil.which('unshare') is None or not os.path.exists('/etc/ld.so.cache'):
        return None
    mount = subprocess.run([*UNSHARE, 'mount', '--bind', '/etc/ld.so.cache', '/etc/ld.so.cache'], capture_output=True)
    return ldconfig if mount.returncode == 0 else None


class SystemSearch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def copy(self, folder):
        os.makedirs(self.folder / folder, exist_ok=True)
        return shutil.copy(DRIVER, self.folder / folder / NAME)

    def report(self, *command, **variables):
        run = subprocess.run([*command, PROGRAM, SYSTEM_SEARCH], capture_output=True, text=True,
                             env={**os.environ, **variables}, timeout=60)
        self.assertEqual(run.returncode, 0, run)
        return run.stdout.split('runtime: ')[0]

    def test_variant_of_a_library_is_truncated(self):
        variants = [self.copy(f'one/glibc-hwcaps/{name}') for name in
                    ('x86-64-v2', 'x86-64-v3', 'x86-64-v4', 'a64fx')]
        for variant in variants:
            os.truncate(variant, 8192)
        plain = self.copy('one')
        report = self.report(LD_LIBRARY_PATH=str(self.folder / 'one'))
        for variant in variants:
            self.assertIn(f'  {variant}: truncated: ', report)
        self.assertIn(f'  {plain}: loaded\n', report)

    def test_library_in_the_cache_is_truncated(self):
        ldconfig = can_replace_cache()
        if ldconfig is None:
            self.skipTest('the cache cannot be replaced')
        for form in ('new', 'compat'):
            with self.subTest(form=form):
                self.check_cache(ldconfig, form)

    def check_cache(self, ldconfig, form):
        listed = self.copy(f'listed_{form}')
        cache, folders = self.folder / 'cache', self.folder / 'folders'
        folders.write_text(f'{self.folder}/listed_{form}\n')
        subprocess.run([ldconfig, '-X', '-C', cache, '-f', folders, '-c', form], check=True, capture_output=True)
        bind = [*UNSHARE, 'sh', '-c', f'mount --bind {cache} /etc/ld.so.cache && exec "$@"', 'sh']
        self.assertIn('driver: CUDA driver', self.report(*bind))
        os.truncate(listed, 8192)
        self.assertIn(f'  {listed}: truncated: ', self.report(*bind))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
