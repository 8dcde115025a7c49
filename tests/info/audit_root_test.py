#!/usr/bin/env python3
"""cushim-info --audit --root: symbolic links of a file system that is not this machine's lead where they
lead there."""

import os

from audit_case import AuditCase, Given, main


class Links(AuditCase):
    def setUp(self):
        super().setUp()
        if Given.tool.windows:
            self.skipTest('no such links there')

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
        self.place(name, needed=['libcuda.so.1'], program=False)

    def test_of_libraries(self):
        self.place_library()
        app = self.place('bin/app', needed=['libfoo.so'])
        for target in ('/opt/real/libfoo.so.1.2', '../../../../opt/./real/libfoo.so.1.2'):
            link = self.link('usr/lib/libfoo.so', target)
            self.check_found(app, 'app', 'libfoo.so', 'libcuda.so.1')
            os.unlink(link)

    def test_of_folders(self):
        self.place_library('opt/real/libfoo.so')
        self.link('usr/lib', '/alternatives/lib')
        self.link('alternatives/lib', '/opt/real')
        app = self.place('bin/app', needed=['libfoo.so'])
        self.check_found(app, 'app', 'libfoo.so', 'libcuda.so.1')

    def test_of_the_configuration(self):
        self.place_library('srv/libs/libfoo.so')
        self.write('opt/conf/all.conf', b'/srv/libs\n')
        self.write('opt/ld.so.conf', b'include /etc/more/*.conf\n')
        self.link('etc/ld.so.conf', '/opt/ld.so.conf')
        self.link('etc/more', '/opt/conf')
        app = self.place('bin/app', needed=['libfoo.so'])
        self.check_found(app, 'app', 'libfoo.so', 'libcuda.so.1')

    def test_of_the_file_itself(self):
        """It is searched beside where it really is."""
        self.place_library('opt/app/libfoo.so')
        self.place('opt/app/app-1.0', needed=['libfoo.so'], runpath='$ORIGIN')
        self.link('etc/alternatives/app', '/opt/app/app-1.0')
        app = self.link('usr/bin/app', '/etc/alternatives/app')
        self.check_found(app, 'app', 'libfoo.so', 'libcuda.so.1')

    def test_root_by_another_name(self):
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

    def test_no_way_out(self):
        """What lies outside of the root is not there for its programs."""
        outside = self.folder + '-outside'
        os.mkdir(outside)
        self.addCleanup(os.rmdir, outside)
        self.place_library('../' + os.path.basename(outside) + '/libfoo.so')
        self.addCleanup(os.unlink, os.path.join(outside, 'libfoo.so'))
        app = self.place('bin/app', needed=['libfoo.so'])
        for target in (outside + '/libfoo.so', f'../../../{os.path.basename(outside)}/libfoo.so'):
            link = self.link('usr/lib/libfoo.so', target)
            found = self.audit_in_root(app)
            self.assertEqual([library['library'] for library in found['not_found']], ['libfoo.so'])
            os.unlink(link)

    def test_circles(self):
        self.link('usr/lib/libfoo.so', '/usr/lib/libbar.so')
        self.link('usr/lib/libbar.so', 'libfoo.so')
        self.link('usr/lib64', '/usr/lib64')
        found = self.audit_in_root(self.place('bin/app', needed=['libfoo.so']))
        self.assertEqual([library['library'] for library in found['not_found']], ['libfoo.so'])


if __name__ == '__main__':
    main(__doc__)
