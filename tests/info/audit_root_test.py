#!/usr/bin/env python3
"""cushim-info --audit --root: symbolic links are resolved inside the root, not on this machine."""

import os
import unittest

from audit_case import NOT_AUDITED, AuditCase, Given


class Links(AuditCase):
    def setUp(self):
        super().setUp()
        if Given.tool.windows:
            self.skipTest('needs symbolic links')

    def link(self, name, target):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(target, path)
        return path

    def check_found(self, app, *chain):
        found = self.audit_in_root(app)
        self.assertEqual(found['not_found'], [])
        self.assertEqual(self.chains(found), [list(chain)])

    def place_library(self, name='opt/real/libfoo.so.1.2'):
        self.library(name, needed=['libcuda.so.1'])

    def test_linked_library_is_found(self):
        self.place_library()
        app = self.place('bin/app', needed=['libfoo.so'])
        for target in ('/opt/real/libfoo.so.1.2', '../../../../opt/./real/libfoo.so.1.2'):
            link = self.link('usr/lib/libfoo.so', target)
            self.check_found(app, 'app', 'libfoo.so', 'libcuda.so.1')
            os.unlink(link)

    def test_linked_folder_is_searched(self):
        self.place_library('opt/real/libfoo.so')
        self.link('usr/lib', '/alternatives/lib')
        self.link('alternatives/lib', '/opt/real')
        app = self.place('bin/app', needed=['libfoo.so'])
        self.check_found(app, 'app', 'libfoo.so', 'libcuda.so.1')

    def test_linked_configuration_is_read(self):
        self.place_library('srv/libs/libfoo.so')
        self.write('opt/conf/all.conf', b'/srv/libs\n')
        self.write('opt/ld.so.conf', b'include /etc/more/*.conf\n')
        self.link('etc/ld.so.conf', '/opt/ld.so.conf')
        self.link('etc/more', '/opt/conf')
        app = self.place('bin/app', needed=['libfoo.so'])
        self.check_found(app, 'app', 'libfoo.so', 'libcuda.so.1')

    def test_linked_program_is_resolved(self):
        """Libraries are searched beside the real file."""
        self.place_library('opt/app/libfoo.so')
        self.place('opt/app/app-1.0', needed=['libfoo.so'], runpath='$ORIGIN')
        self.link('etc/alternatives/app', '/opt/app/app-1.0')
        app = self.link('usr/bin/app', '/etc/alternatives/app')
        self.check_found(app, 'app', 'libfoo.so', 'libcuda.so.1')

    def test_root_may_have_several_names(self):
        self.place_library('opt/app/libfoo.so')
        self.link('usr/lib/libfoo.so', '/opt/app/libfoo.so')
        self.place('opt/app/app', needed=['libfoo.so'])
        self.link('usr/bin/app', '/opt/app/app')
        root = self.folder + '-link'
        os.symlink(self.folder, root)
        self.addCleanup(os.unlink, root)
        for folder, spelled in ((root, root), (root, self.folder), (self.folder, root),
                                (root + '/', root), (self.folder + '/.', self.folder)):
            found = self.audit(os.path.join(spelled, 'usr/bin/app'), '--root', folder)
            self.assertEqual(self.chains(found), [['app', 'libfoo.so', 'libcuda.so.1']])

    def test_links_cannot_leave_the_root(self):
        """Files outside of the root do not exist for its programs."""
        outside = self.folder + '-outside'
        os.mkdir(outside)
        self.addCleanup(os.rmdir, outside)
        self.place_library('../' + os.path.basename(outside) + '/libfoo.so')
        self.addCleanup(os.unlink, os.path.join(outside, 'libfoo.so'))
        app = self.place('bin/app', needed=['libfoo.so'])
        for target in (outside + '/libfoo.so', f'../../../{os.path.basename(outside)}/libfoo.so'):
            link = self.link('usr/lib/libfoo.so', target)
            found = self.audit_in_root(app)
            self.assertEqual(self.not_found(found), ['libfoo.so'])
            os.unlink(link)

    def test_circular_links_end(self):
        self.link('usr/lib/libfoo.so', '/usr/lib/libbar.so')
        self.link('usr/lib/libbar.so', 'libfoo.so')
        self.link('usr/lib64', '/usr/lib64')
        found = self.audit_in_root(self.place('bin/app', needed=['libfoo.so']))
        self.assertEqual(self.not_found(found), ['libfoo.so'])


class Hostile(AuditCase):
    """A malicious system cannot keep the audit busy. The tool has two minutes and needs a fraction of one."""

    def setUp(self):
        super().setUp()
        if Given.tool.windows:
            self.skipTest('Windows has no ld.so.conf')
        self.app = self.place('bin/app', needed=['libfoo.so'])

    def check_unfound(self):
        found = self.audit_in_root(self.app)
        self.assertEqual(self.not_found(found), ['libfoo.so'])

    def check_refused(self, words):
        """The tool fails before it reads a program."""
        done = self.run_tool('--audit', '--root', Given.tool.path(self.folder),
                             Given.tool.path(self.app))
        self.assertEqual((done.returncode, done.stdout), (NOT_AUDITED, b''))
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn(words.encode(), done.stderr)

    def test_configuration_that_is_a_pipe_or_folder_is_ignored(self):
        path = os.path.join(self.folder, 'etc/ld.so.conf')
        os.mkdir(os.path.dirname(path))
        os.mkfifo(path)
        self.check_unfound()
        os.unlink(path)
        os.mkdir(path)
        self.check_unfound()

    def test_files_that_include_each_other_are_read_once(self):
        self.library('srv/libs/libfoo.so', needed=['libcuda.so.1'])
        self.write('etc/ld.so.conf', b'include conf/*\n')
        for number in range(10):
            self.write(f'etc/conf/{number}', b'include *\n' * 10 + b'/srv/libs\n')
        found = self.audit_in_root(self.app)
        self.assertEqual(self.chains(found), [['app', 'libfoo.so', 'libcuda.so.1']])

    def test_pattern_of_many_stars_is_matched_quickly(self):
        self.write('etc/ld.so.conf', b'include conf/' + b'*a' * 60 + b'b\n')
        self.write('etc/conf/' + 'a' * 200, b'/srv\n')
        self.check_unfound()

    def test_patterns_match_as_in_a_shell(self):
        self.library('srv/libs/libfoo.so', needed=['libcuda.so.1'])
        self.write('etc/conf/10-ab.conf', b'/srv/libs\n')
        for pattern, fits in (('*', 1), ('*.conf', 1), ('1?-*b.c*f', 1), ('??-*', 1),
                              ('10-ab.conf*', 1), ('*.con', 0), ('?', 0), ('1?-b*', 0),
                              ('*c*b*', 0), ('', 0)):
            self.write('etc/ld.so.conf', f'include /etc/conf/{pattern}\n'.encode())
            self.assertEqual(len(self.audit_in_root(self.app)['needed']), fits, pattern)

    def test_huge_configuration_is_rejected(self):
        path = self.write('etc/ld.so.conf', b'')
        os.truncate(path, 1 << 40)
        self.check_refused('larger than any such file')

    def test_too_many_configuration_files_are_rejected(self):
        self.write('etc/ld.so.conf', b'include conf/*\n')
        for number in range(1200):
            self.write(f'etc/conf/{number}', b'/srv\n')
        self.check_refused('includes more files')

    def test_too_many_folders_are_rejected(self):
        self.write('etc/ld.so.conf', b''.join(b'/%d\n' % number for number in range(9999)))
        self.check_refused('more folders than any system has')

    def test_too_many_places_are_rejected(self):
        app = self.place('bin/many', needed=[f'lib{number}.so' for number in range(1000)],
                         runpath=':'.join(f'/{number}' for number in range(100, 900)))
        self.assertIn('more places', self.audit_in_root(app)['problem'])


if __name__ == '__main__':
    unittest.main(verbosity=2)
