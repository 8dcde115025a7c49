#!/usr/bin/env python3
"""Projects that have a library of their own, which is not NVIDIA's, behind a table and a drop-in: with Meson and
cushim as a subproject, by Meson's option in that subproject, and with CMake and an installed cushim or its sources.
And programs that use the table which an installed cushim was built with."""

import shlex
import shutil

import consumer
from consumer import arguments, run

consumer.need('meson')
install = consumer.Install(__file__)
SOURCE = consumer.OWN_LIBRARY
PROGRAMS = ('by_table', 'by_name')  # what they do not need, such as the wrappers, is not built
CMAKE = '''
cmake_minimum_required(VERSION 3.16)
project(installed C CXX)
find_package(cushim 0.1 REQUIRED)
add_executable(by_table by_table.cpp)
target_link_libraries(by_table PRIVATE cushim::greeter)
add_executable(by_name by_name.c)
target_link_libraries(by_name PRIVATE cushim::greeter_dropin)
'''
# The table of an option, and the drop-in of the function.
CMAKE_SOURCES = CMAKE.replace('3.16', '3.20').replace(
    'find_package(cushim 0.1 REQUIRED)', '''
set(CUSHIM_SIMULATOR OFF)
set(CUSHIM_LIBRARIES greeter.txt)
set(CUSHIM_LIBRARY_HEADERS .)
add_compile_options(-Wall -Wextra -Wconversion -Werror)
add_subdirectory(cushim/tools/cmake)
cushim_add_library_table(own greeter.txt INCLUDE .)
''').replace('cushim::greeter_dropin', 'own_dropin')

# Libraries that have one function in common.
TWO = 'extern "C" {{ int common_version(); int {name}_only(); }}'
TWO_DESCRIPTION = """
title = {name}
headers = {name}.h
functions = common_* {name}_*
required = {name}_only
linux = lib{name}.so.1
absent int = -1
"""
BY_TABLES = '''
#include <cstdio>
#include "aa_entry.hpp"
#include "bb_entry.hpp"
#include <cushim/override.hpp>
int main() {
    std::printf("%x %x\\n", cushim::aa().common_version(), cushim::bb().common_version());
    cushim::ScopedOverride<cushim::entry::bb_library::common_version> overridden([] { return 0x63; });
    std::printf("%x %x\\n", cushim::aa().common_version(), cushim::bb().common_version());
}
'''


def build_library(version):
    """The folder of the library with this major version."""
    folder = install.folder / f'greeter-{version}'
    folder.mkdir()
    run(*arguments.cc, '-shared', '-fPIC', f'-DGREETER_VERSION={version}', SOURCE / 'greeter.c', '-o',
        folder / 'libgreeter.so.2')
    return folder


def sources_of_installed():
    """The programs by file name, for tables that are installed with cushim."""
    files = {name: (SOURCE / name).read_text(encoding='utf-8')
             for name in ('greeter.h', 'greeter.txt', 'by_table.cpp', 'by_name.c')}
    return files | {'by_table.cpp': files['by_table.cpp'].replace(
        '"greeter_table.hpp"', '<cushim/greeter_table.hpp>')}


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding='utf-8')


class OwnLibrary(consumer.ConsumerTest):
    @classmethod
    def setUpClass(cls):
        cls.present, cls.newer = build_library(2), build_library(3)

    def check_programs(self, folder, search=''):
        for name in PROGRAMS:
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
        write(project, files)
        run('meson', 'setup', build, project, '--buildtype=plain', f'-Ddefault_library={arguments.type}',
            *consumer.headers_option('cushim:headers_dir'), *options)
        run('meson', 'compile', '-C', build, *PROGRAMS)
        self.check_programs(build)

    def test_meson_project_with_its_own_description(self):
        self.meson('meson', {path.name: path.read_text(encoding='utf-8')
                             for path in SOURCE.iterdir()})

    def test_meson_option_with_the_path_of_a_description(self):
        files = sources_of_installed()
        files['meson.build'] = '''
project('by_option', 'c', 'cpp', default_options: ['cpp_std=c++20'])
subproject('cushim')
executable('by_table', 'by_table.cpp', dependencies: dependency('cushim-greeter'))
executable('by_name', 'by_name.c', dependencies: dependency('cushim-greeter-dropin'))
'''
        project = install.folder / 'option'
        self.meson('option', files, f'-Dcushim:libraries={project}/greeter.txt',
                   f'-Dcushim:library_headers={project}')

    def cmake(self, source, build, *more):
        consumer.need('cmake')
        options = [f'-DCUSHIM_CUDA_INCLUDE_DIR={arguments.headers}'] if arguments.headers else []
        run('cmake', '-S', source, '-B', build, *consumer.cmake_place(install.prefix, install.libdir),
            f'-DCMAKE_C_FLAGS=-I{SOURCE}', f'-DCMAKE_CXX_FLAGS=-I{SOURCE}', *options, *more)
        run('cmake', '--build', build)
        self.check_programs(build, install.libdir)

    def test_cmake_project_with_its_own_description(self):
        self.cmake(SOURCE, install.folder / 'cmake')

    def test_cmake_build_is_up_to_date_after_a_header_is_touched(self):
        # The generator runs once, even if it writes the same text.
        project = install.folder / 'touched'
        shutil.copytree(SOURCE, project)
        for generator in ('Ninja', 'Unix Makefiles'):
            with self.subTest(generator):
                build = install.folder / f'touched-{generator[:4]}'
                self.cmake(project, build, '-G', generator, f'-DCMAKE_CXX_FLAGS=-I{project}')
                (project / 'greeter.h').touch()
                self.assertIn('Generating the table', run('cmake', '--build', build))
                self.assertNotIn('Generating the table', run('cmake', '--build', build))

    def test_cmake_targets_of_an_installed_library(self):
        project = install.folder / 'installed'
        write(project, sources_of_installed() | {'CMakeLists.txt': CMAKE})
        self.cmake(project, install.folder / 'installed-build')

    def test_cmake_project_that_builds_cushim(self):
        project, build = install.folder / 'sources', install.folder / 'sources-build'
        write(project, sources_of_installed() | {'CMakeLists.txt': CMAKE_SOURCES})
        (project / 'cushim').symlink_to(arguments.source)
        self.cmake(project, build, f'-DCUSHIM_SHARED={"ON" if arguments.type == "shared" else "OFF"}')

    def flags(self, package):
        return [f'-I{SOURCE}'] + shlex.split(run(
            'pkg-config', f'--define-variable=prefix={install.prefix}', '--cflags', '--libs',
            package, PKG_CONFIG_PATH=str(install.libdir / 'pkgconfig')))

    def test_two_libraries_with_one_function(self):
        folder, generator = install.folder / 'two', install.prefix / 'share/cushim/generator/generate_library.py'
        flags = [f'-I{folder}', *self.flags('cushim'), *consumer.cuda_includes()]
        for name, letter in (('aa', 'a'), ('bb', 'b')):
            write(folder, {f'{name}.h': TWO.format(name=name), f'{name}.txt': TWO_DESCRIPTION.format(name=name),
                           f'{name}.c': 
                           f"int common_version() {{ return '{letter}'; }} int {name}_only() {{ return 1; }}"})
            run(*arguments.cc, '-shared', '-fPIC', folder / f'{name}.c', '-o', folder / f'lib{name}.so.1')
            run('python3', generator, '--output', folder, '--include', folder, folder / f'{name}.txt', '--',
                *arguments.cxx)
            objects = []
            for part in ('loadable', 'rows', 'dropin'):
                objects.append(folder / f'{name}_{part}.o')
                run(*arguments.cxx, '-std=c++20', '-c', folder / f'{name}_{part}.cpp', '-o', objects[-1], *flags)
            run('ar', 'rcs', folder / f'lib{name}-table.a', *objects[:2])
            run('ar', 'rcs', folder / f'lib{name}-dropin.a', objects[2])
        write(folder, {'main.cpp': BY_TABLES,
                       'main.c': 'int aa_only(); int bb_only(); int main() { return aa_only() + bb_only(); }'})
        tables = [f'-L{folder}', '-laa-table', '-lbb-table', *self.flags('cushim')]
        run(*arguments.cxx, '-std=c++20', folder / 'main.cpp', '-o', folder / 'main', *flags, *tables)
        self.assertEqual(run(folder / 'main', LD_LIBRARY_PATH=f'{folder}:{install.libdir}'), '61 62\n61 63\n')
        # One program cannot have both libraries' functions by their names.
        self.assertIn('common_version', run(
            *arguments.cc, folder / 'main.c', '-o', folder / 'by_name', f'-L{folder}', '-laa-dropin', '-lbb-dropin',
            *tables, fails=True))

    def test_packages_of_an_installed_library(self):
        folder, flags = install.folder / 'packages', self.flags
        write(folder, sources_of_installed())
        run(*arguments.cxx, '-std=c++20', folder / 'by_table.cpp', '-o', folder / 'by_table',
            *flags('cushim-greeter'))
        run(*arguments.cc, folder / 'by_name.c', '-o', folder / 'by_name', *flags('cushim-greeter-dropin'))
        self.check_programs(folder, install.libdir)


if __name__ == '__main__':
    consumer.main()
