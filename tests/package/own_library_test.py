#!/usr/bin/env python3
"""Projects that have a library of their own, which is not NVIDIA's, behind a table and a drop-in: with Meson and
cushim as a subproject, by Meson's option in that subproject, and with CMake and an installed cushim."""

import consumer
from consumer import CONSUMERS, arguments, run

consumer.need('meson')
install = consumer.Install(__file__)
SOURCE = CONSUMERS / 'own_library'


def build_library(version):
    """The folder of the library with this major version."""
    folder = install.folder / f'greeter-{version}'
    folder.mkdir()
    run(*arguments.cc, '-shared', '-fPIC', f'-DGREETER_VERSION={version}', SOURCE / 'greeter.c', '-o',
        folder / 'libgreeter.so.2')
    return folder


class OwnLibrary(consumer.ConsumerTest):
    @classmethod
    def setUpClass(cls):
        cls.present, cls.newer = build_library(2), build_library(3)

    def check_programs(self, folder, search=''):
        for name in ('by_table', 'by_name'):
            with self.subTest(name):
                program = folder / name
                def output(library):
                    return run(program, LD_LIBRARY_PATH=f'{library}:{search}').splitlines()

                absent = output('/nonexistent')
                self.assertEqual(absent[0], 'no Greeter: libgreeter.so.2 was not found, wave 1')
                present = output(self.present)
                self.assertEqual(present[0], 'hello, wave 2')
                self.assertRegex(output(self.newer)[0], r'^no Greeter: .*, wave 1')
                if name == 'by_table':
                    self.assertIn('Greeter 2.0, ', present[1])
                    self.assertEqual(absent[1], 'no Greeter: libgreeter.so.2 was not found')
                self.assertNotIn('libgreeter.so.2', self.needed(program))

    def meson(self, name, files, *options):
        project, build = install.folder / name, install.folder / f'{name}-build'
        (project / 'subprojects').mkdir(parents=True)
        (project / 'subprojects/cushim').symlink_to(arguments.source)
        for file, text in files.items():
            (project / file).write_text(text, encoding='utf-8')
        run('meson', 'setup', build, project, '--buildtype=plain', f'-Ddefault_library={arguments.type}',
            *consumer.headers_option('cushim:headers_dir'), *options)
        run('meson', 'compile', '-C', build)
        self.check_programs(build)

    def test_meson_project_with_its_own_description(self):
        self.meson('meson', {path.name: path.read_text(encoding='utf-8')
                             for path in SOURCE.iterdir()})

    def test_meson_option_with_the_path_of_a_description(self):
        files = {name: (SOURCE / name).read_text(encoding='utf-8')
                 for name in ('greeter.h', 'greeter.txt', 'by_table.cpp', 'by_name.c')}
        files['by_table.cpp'] = files['by_table.cpp'].replace(
            '"greeter_table.hpp"', '<cushim/greeter_table.hpp>')
        files['meson.build'] = '''
project('by_option', 'c', 'cpp', default_options: ['cpp_std=c++20'])
subproject('cushim')
executable('by_table', 'by_table.cpp', dependencies: dependency('cushim-greeter'))
executable('by_name', 'by_name.c', dependencies: dependency('cushim-greeter-dropin'))
'''
        project = install.folder / 'option'
        self.meson('option', files, f'-Dcushim:libraries={project}/greeter.txt',
                   f'-Dcushim:library_headers={project}')

    def test_cmake_project_with_its_own_description(self):
        consumer.need('cmake')
        build = install.folder / 'cmake'
        options = [f'-DCUSHIM_CUDA_INCLUDE_DIR={arguments.headers}'] if arguments.headers else []
        run('cmake', '-S', SOURCE, '-B', build, *consumer.cmake_place(install.prefix, install.libdir), *options)
        run('cmake', '--build', build)
        self.check_programs(build, install.libdir)


if __name__ == '__main__':
    consumer.main()
