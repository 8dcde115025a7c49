#!/usr/bin/env python3
"""Where Meson searches for the CUDA headers, in which order, and its message if it finds none. Sets up cushim with
synthetic headers and builds nothing."""

import pathlib
import re
import shutil
import unittest

import consumer
from consumer import arguments, run

folder = consumer.fresh_folder(__file__)
TOOLKIT = pathlib.Path('/usr/local/cuda/include/cuda.h')  # always searched


def headers(name, version):
    """A folder with the parts of CUDA headers that Meson reads."""
    include = folder / name
    include.mkdir(parents=True)
    (include / 'cuda.h').write_text(f'#define CUDA_VERSION {version}\n', encoding='ascii')
    (include / 'cuda_runtime_api.h').touch()
    return include


def unusable(name):
    include = folder / name
    include.mkdir(parents=True)
    (include / 'cuda.h').write_text('#error no headers here\n', encoding='ascii')
    return include


class HeaderProbe(unittest.TestCase):
    def setUp(self):
        self.name = self.id().rsplit('.', maxsplit=1)[-1]

    def headers(self, name, version):
        return headers(f'{self.name}/{name}', version)

    def unusable(self):
        return unusable(f'{self.name}/unusable')

    def set_up(self, headers_dir='', fails=False, **variables):
        # The folders of these variables come before the compiler's own and after those that Meson tries; they represent
        # the default path.
        if 'default_path' in variables:
            path = variables.pop('default_path')
            variables.update(C_INCLUDE_PATH=path, CPLUS_INCLUDE_PATH=path)
        return run('meson', 'setup', folder / self.name / 'build', arguments.source,
                   '-Dtests=disabled', '-Dtools=disabled', '-Dexamples=disabled',
                   f'-Dheaders_dir={headers_dir}', fails=fails, **variables)

    def assert_taken(self, output, include, version):
        for name, wanted in (('headers', include), ('version', version)):
            found = re.findall(rf'^ *CUDA {name} *: (.*)$', output, re.MULTILINE)
            self.assertEqual(found, [str(wanted)])

    def test_headers_dir_takes_precedence_over_the_default_path(self):
        wanted = self.headers('wanted', 13010)
        output = self.set_up(wanted, default_path=self.headers('default', 13020),
                             CUDA_PATH=self.headers('toolkit/include', 13030).parent)
        self.assert_taken(output, wanted, '13.1')

    def test_default_path_takes_precedence_over_a_toolkit(self):
        output = self.set_up(default_path=self.headers('default', 13020),
                             CUDA_PATH=self.headers('toolkit/include', 13030).parent)
        self.assert_taken(output, "(the compiler's default path)", '13.2')

    def test_default_path_for_cpp_is_used_for_c(self):
        wanted = self.headers('default', 13020)
        for other in (self.unusable(), self.headers('other', 13010)):
            with self.subTest(other=other):
                output = self.set_up(C_INCLUDE_PATH=other, CPLUS_INCLUDE_PATH=wanted)
                self.assert_taken(output, wanted, '13.2')
                shutil.rmtree(folder / self.name / 'build')

    def test_toolkit_is_used_without_headers_in_the_default_path(self):
        path = self.headers('toolkit/include', 13030)
        output = self.set_up(default_path=self.unusable(), CUDA_PATH=path.parent,
                             CUDA_HOME=self.headers('home/include', 13040).parent)
        self.assert_taken(output, path, '13.3')

    def test_newest_headers_of_pkg_config_are_used(self):
        if TOOLKIT.exists():
            self.skipTest(f'this machine has {TOOLKIT}, which takes precedence')
        self.need_pkg_config()
        output = self.set_up(default_path=self.unusable(), PKG_CONFIG_PATH=self.pc_files())
        self.assert_taken(output, folder / self.name / '12.10', '12.10')

    def test_names_of_pkg_config_are_sorted(self):
        self.need_pkg_config()
        script = arguments.source / 'tools/headers/list_pkgconfig_names.py'
        names = run('python3', script, 'pkg-config', PKG_CONFIG_LIBDIR=self.pc_files()).split()
        self.assertEqual(names, ['cuda-12.10', 'cuda-12.9', 'cuda-11.8'])

    def need_pkg_config(self):
        if shutil.which('pkg-config') is None:
            self.skipTest('pkg-config is not installed')

    def pc_files(self):
        place = folder / self.name
        for version in ('11.8', '12.10', '12.9'):
            major, minor = version.split('.')
            include = self.headers(version, int(major) * 1000 + int(minor) * 10)
            (place / f'cuda-{version}.pc').write_text(
                f'includedir={include}\nName: cuda\nDescription: CUDA\nVersion: {version}\n',
                encoding='ascii')
        (place / 'cudart-12.9.pc').write_text('Name: cudart\nDescription: -\nVersion: 12.9\n',
                                              encoding='ascii')
        return place

    def test_headers_that_are_too_old_are_rejected(self):
        text = ' '.join(self.set_up(self.headers('old', 11030), fails=True).split())
        self.assertIn('are version 11.3; cushim needs 11.4 or newer.', text)
        self.assertIn('option headers_dir', text)

    def test_names_newer_than_the_known_releases_are_reported_once(self):
        newer = self.headers('newer', 99990)
        with open(newer / 'cuda.h', 'a', encoding='ascii') as file:
            file.write('typedef int CUresult;\n'
                       'extern "C" { CUresult cuInit(unsigned int); CUresult cuLater(void); }\n')
        output = self.set_up(newer)
        self.assertIn('WARNING: the CUDA headers come without cudaTypedefs.h and are newer', output)
        self.assertEqual(output.count('cuLater'), 1, output)
        self.assertNotIn('cuInit', output)
        # Headers that state the versions need no such list.
        (newer / 'cudaTypedefs.h').write_text('PFN_cuLater_v99990\n', encoding='ascii')
        shutil.rmtree(folder / self.name / 'build')
        self.assertNotIn('WARNING', self.set_up(newer))

    def test_headers_dir_without_headers_is_rejected(self):
        empty = folder / self.name / 'empty'
        empty.mkdir(parents=True)
        for wrong in (self.unusable(), empty, empty / 'missing'):
            with self.subTest(wrong):
                text = self.set_up(wrong, fails=True)
                self.assertIn('no usable cuda.h and cuda_runtime_api.h in '
                              f'headers_dir={wrong}', text)

    def test_missing_headers_are_reported(self):
        # Comes before every folder that Meson tries.
        text = self.set_up(CXXFLAGS=f'-I{self.unusable()}', fails=True)
        self.assertIn('the CUDA headers (cuda.h, cuda_runtime_api.h) were not found', text)
        for way in ('conda', 'pip', 'NVIDIA', 'distribution'):
            self.assertRegex(text, rf'(?m)^ *- {way}: ')
        self.assertIn('meson setup -Dheaders_dir=', text)

    def test_messages_name_the_option_of_a_subproject(self):
        """The hints must contain the subproject's name; otherwise they would name the consumer's option."""
        project = folder / self.name / 'project'
        (project / 'subprojects').mkdir(parents=True)
        (project / 'subprojects/cushim').symlink_to(arguments.source)
        (project / 'meson.build').write_text("project('consumer')\nsubproject('cushim')\n",
                                             encoding='ascii')
        for headers_dir, hint in (('', 'meson setup -Dcushim:headers_dir=FOLDER'),
                                  (folder, f'in cushim:headers_dir={folder}'),
                                  (self.headers('old', 11030), 'with the option cushim:headers_dir')):
            with self.subTest(headers_dir):
                said = run('meson', 'setup', folder / self.name / f'build-{len(hint)}', project,
                           f'-Dcushim:headers_dir={headers_dir}', fails=True,
                           CXXFLAGS='' if headers_dir else f'-I{self.unusable()}')
                self.assertIn(hint, said)


if __name__ == '__main__':
    consumer.main()
