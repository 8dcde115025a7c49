#!/usr/bin/env python3
"""Which parts Meson builds by default, and that the defaults download nothing. Builds nothing."""

import json
import pathlib
import re
import shutil
import unittest

import consumer
from consumer import arguments, run

consumer.need('pkg-config', 'meson')
folder = consumer.fresh_folder(__file__)
WRAP = arguments.source / 'subprojects/catch2.wrap'


def catch2(name, version):
    """A pkg-config file of an installed Catch2."""
    place = folder / name
    place.mkdir()
    (place / 'catch2.pc').write_text(f'Name: Catch2\nDescription: -\nVersion: {version}\n',
                                     encoding='ascii')
    return place


class Setup(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.none = folder / 'nothing-installed'
        cls.none.mkdir()
        cls.recent, cls.old = catch2('recent', '3.7.1'), catch2('old', '2.13.10')

    def setUp(self):
        """A fresh clone, without the source of Catch2 that an earlier setup unpacked."""
        self.source = folder / self.id().rsplit('.', maxsplit=1)[-1]
        self.source.mkdir()
        for path in arguments.source.iterdir():
            if path.name != 'subprojects' and not path.name.startswith(('.', 'build')):
                (self.source / path.name).symlink_to(path)
        (self.source / 'subprojects').mkdir()
        shutil.copy(WRAP, self.source / 'subprojects')
        self.builds = 0

    def set_up(self, installed, *options, fails=False):
        """The build folder and Meson's output."""
        self.builds += 1
        build = self.source / f'build-{self.builds}'
        said = run('meson', 'setup', build, self.source, '--wrap-mode=nodownload',
                   f'-Dheaders_dir={arguments.headers}', *options, fails=fails,
                   PKG_CONFIG_LIBDIR=str(installed), CMAKE='/nonexistent/cmake')
        return build, said

    def parts(self, installed, *options):
        build, said = self.set_up(installed, *options)
        targets = {target['name'] for target in
                   json.loads(run('meson', 'introspect', '--targets', build))}
        summary = dict(re.findall(r'^ +(tests|simulator) +: (YES|NO)$', said, re.MULTILINE))
        found = {'tests': 'test-main' in targets, 'simulator': 'cushim-sim' in targets}
        self.assertEqual(summary, {part: 'YES' if there else 'NO' for part, there in found.items()})
        return {part for part, there in found.items() if there}, said

    def test_without_catch2_the_simulator_can_be_built_alone(self):
        for installed in (self.none, self.old):
            with self.subTest(installed.name):
                parts, said = self.parts(installed, '-Dsimulator=enabled')
                self.assertEqual(parts, {'simulator'})
                self.assertIn('-Dtests=enabled downloads it', said)

    def test_without_catch2_neither_part_is_built(self):
        self.assertEqual(self.parts(self.none)[0], set())

    def test_with_catch2_both_parts_are_built(self):
        self.assertEqual(self.parts(self.recent)[0], {'tests', 'simulator'})

    def test_with_an_unpacked_catch2_both_parts_are_built(self):
        name = re.search(r'^directory = (.*)$', WRAP.read_text(encoding='ascii'), re.MULTILINE)[1]
        unpacked = self.source / 'subprojects' / name
        unpacked.mkdir()
        (unpacked / 'meson.build').write_text(
            "project('catch2', 'cpp', version: '3.7.1')\ncatch2_dep = declare_dependency()\n"
            "option = get_option('tests')\n", encoding='ascii')
        (unpacked / 'meson_options.txt').write_text("option('tests', type: 'boolean')\n",
                                                    encoding='ascii')
        self.assertEqual(self.parts(self.none)[0], {'tests', 'simulator'})
        (parts, _) = self.parts(self.none, '--wrap-mode=nofallback')
        self.assertEqual(parts, set())

    def test_requested_tests_need_catch2(self):
        _, said = self.set_up(self.none, '-Dtests=enabled', fails=True)
        self.assertIn('subproject downloading is disabled', said)

    @unittest.skipUnless(pathlib.Path('/etc/debian_version').exists(), 'other systems search lib64')
    def test_folder_that_debian_does_not_search_is_reported(self):
        for libdir, reported in (('lib64', True), ('lib', False)):
            _, said = self.set_up(self.none, f'-Dlibdir={libdir}')
            self.assertEqual('Debian and Ubuntu search no lib64' in said, reported, libdir)

    @unittest.skipUnless(shutil.which('x86_64-w64-mingw32-g++-posix') and arguments.headers,
                         'no mingw-w64, or no folder with the CUDA headers')
    def test_windows_is_configured_without_an_emulator(self):
        cross_file = arguments.source / 'tools/cross/x86_64-w64-mingw32.ini'
        self.set_up(self.none, f'--cross-file={cross_file}')

    def test_simulator_command_of_the_readme_builds_no_tests(self):
        pages = [arguments.source / 'README.md', *(arguments.source / 'tools').rglob('README.md')]
        text = '\n'.join(page.read_text(encoding='utf-8') for page in pages)
        recipes = re.findall(r'^meson setup build\S*((?: -\S+)*? -Dsimulator=enabled(?: -\S+)*)', text,
                             re.MULTILINE)
        self.assertTrue(recipes, 'no README has a command that builds the simulator')
        for words in set(recipes):
            for installed in (self.none, self.recent):
                with self.subTest(words, installed=installed.name):
                    self.assertEqual(self.parts(installed, *words.split())[0], {'simulator'})


if __name__ == '__main__':
    consumer.main()
