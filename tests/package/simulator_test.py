#!/usr/bin/env python3
"""The simulator as users get it: installed, by pkg-config and CMake, moved to another folder, and as a Meson
subproject. Installs the simulator of the outer build, because it takes long to build."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import unittest

import consumer
import readme
from consumer import CONSUMERS, arguments, run

consumer.need('pkg-config', 'meson')
folder = consumer.fresh_folder(__file__)
stage = folder / 'stage'
run('meson', 'install', '-C', arguments.outer_build, '--no-rebuild', '--destdir', stage)
PKG_CONFIG = next(stage.rglob('cushim-sim.pc')).parent
PREFIX = PKG_CONFIG.parent
while not (PREFIX / 'include').is_dir():
    PREFIX = PREFIX.parent
TOOL = next(stage.rglob('bin/cushim-sim'))


def pkg_config(*options, package='cushim-sim'):
    return run('pkg-config', f'--define-variable=prefix={PREFIX}', *options, package,
               PKG_CONFIG_PATH=str(PKG_CONFIG)).strip()


def has_package(name):
    return subprocess.run(['pkg-config', '--exists', name], check=False).returncode == 0


def flags(package, *options):
    return shlex.split(pkg_config(*options, package=package))


def paths():
    return dict(line.split('=', 1) for line in run(TOOL, '--paths').splitlines())


def program():
    path = folder / 'devices'
    run(*arguments.cc, '-std=c11', '-Wall', '-Wextra', '-Werror', *flags('cushim-sim', '--cflags'),
        CONSUMERS / 'simulator/devices.c', '-o', path, '-ldl')
    return path


class Simulator(consumer.ConsumerTest):
    def test_package_file_is_found_where_it_is(self):
        moved = folder / 'moved_package'
        shutil.copytree(PREFIX, moved, symlinks=True)
        driver = run('pkg-config', '--variable=driver', 'cushim-sim', PKG_CONFIG_PATH=str(
            moved / PKG_CONFIG.relative_to(PREFIX))).strip()
        self.assertTrue(pathlib.Path(driver).samefile(moved / pathlib.Path(paths()['driver']).relative_to(PREFIX)), driver)

    def test_tool_has_a_man_page(self):
        self.check_man_page(PREFIX / 'share/man/man1/cushim-sim.1', TOOL)

    def test_libraries_are_on_no_library_path(self):
        own = stage.rglob('*cud*.so*')
        folders = {path.parent.relative_to(PREFIX).as_posix() for path in own}
        self.assertRegex(' '.join(sorted(folders)), r'^\S+/cushim/link \S+/cushim/sim$')  # linker scripts, and the simulator
        for path in PKG_CONFIG.parent.iterdir():
            self.assertNotRegex(path.name, r'cuda')

    def test_pkg_config_has_the_variables(self):
        for name in ('driver', 'runtime', 'includedir'):
            self.assertTrue(pathlib.Path(pkg_config(f'--variable={name}')).exists(), name)
        self.assertEqual(pkg_config('--modversion'), arguments.version)
        self.assertEqual(pkg_config('--libs'), '')
        for header in ('cushim_sim.h', 'cushim_sim.hpp'):
            self.assertTrue((pathlib.Path(pkg_config('--variable=includedir')) / header).exists(), header)

    def test_tool_finds_the_installed_libraries(self):
        found = paths()
        for name in ('driver', 'runtime', 'includedir'):
            self.assertTrue(os.path.samefile(found[name], pkg_config(f'--variable={name}')), name)

    def test_moved_simulator_works(self):
        moved = folder / 'moved'
        shutil.copytree(PREFIX, moved, symlinks=True)
        for tool in (moved / 'bin').iterdir():
            run(tool, '--help')
        said = run(moved / TOOL.relative_to(PREFIX), '--paths')
        for line in said.splitlines():
            self.assertIn(f'={moved}/', line)

    def test_program_without_cushim_runs(self):
        tested = program()
        self.assertEqual(run(tested, CUSHIM_DRIVER=pkg_config('--variable=driver')),
                         'interface 1, devices 1\n')
        self.assertEqual(run(TOOL, 'run', '--set', 'devices=3', tested), 'interface 1, devices 3\n')

    def test_kernels_of_an_unmodified_program_run(self):
        if not arguments.nvcc:
            self.skipTest(arguments.no_nvcc)
        blur, kernels = folder / 'blur', folder / 'blur_kernels.so'
        run(*arguments.cxx, '-std=c++20', '-shared', '-fPIC', *flags('cushim-sim', '--cflags'),
            CONSUMERS / 'simulator/blur_kernels.cpp', '-o', kernels)
        search = {'LD_LIBRARY_PATH': str(PKG_CONFIG.parent)}
        settings = f'kernels={kernels};report=fail'
        for options, more in (['-rdc=true', '-arch=sm_75'], ';cc=7.5'), ([], ''):
            with self.subTest(options):
                run(*arguments.nvcc, *options, CONSUMERS / 'simulator/blur.cu', '-o', blur,
                    *flags('cushim-dropin', '--cflags', '--libs'))
                self.assertEqual(run(TOOL, 'run', '--set', settings + more, blur, **search), '4 8 8, cudaSuccess\n')
        self.assertNotEqual(subprocess.run([TOOL, 'run', '--set', 'report=fail', blur], check=False,
                                           capture_output=True, env={**os.environ, **search}).returncode, 0)

    def test_commands_of_the_readme_work(self):
        """On the program of that page. setup_test.py runs the first command, which installs the simulator."""
        app = folder / 'readme/app'
        app.parent.mkdir()
        (app.parent / 'app.cpp').write_text(readme.block('cpp'), encoding='utf-8')
        run(*arguments.cxx, '-std=c++20', app.with_suffix('.cpp'), '-o', app, *consumer.cuda_includes(),
            *flags('cushim', '--cflags', '--libs'))
        commands = [line for line in readme.block('sh', 'cushim-sim').splitlines() if line.startswith('cushim-sim')]
        self.assertEqual(len(commands), 4)
        for command in commands:
            with self.subTest(command):
                said = run('sh', '-ec', f'cd {shlex.quote(str(app.parent))}\n{command}',
                           PATH=f'{TOOL.parent}:{os.environ["PATH"]}', LD_LIBRARY_PATH=str(PKG_CONFIG.parent))
                if 'fault=' in command:
                    self.assertIn('cuMemAlloc_v2', said)
                else:
                    self.assertEqual(said, 'the GPU filled 1000 elements with 42\n')

    def test_no_file_contains_a_path_of_this_machine(self):
        for path in (PKG_CONFIG / 'cushim-sim.pc', next(stage.rglob('cushim_sim.h'))):
            text = path.read_text(encoding='utf-8')
            for place in (arguments.source, arguments.outer_build, folder):
                self.assertNotIn(str(place), text, path.name)

    @unittest.skipUnless(shutil.which('cmake'), 'cmake is not installed')
    def test_cmake_project_builds_and_runs(self):
        build = folder / 'cmake'
        said = run('cmake', '-S', CONSUMERS / 'simulator', '-B', build, '-G', 'Ninja',
                   *consumer.cmake_place(PREFIX, PKG_CONFIG.parent), *consumer.headers_option('CUSHIM_CUDA_INCLUDE_DIR'))
        self.assertRegex(said, rf'header: {re.escape(str(PREFIX))}/.*/cushim/sim/include')
        run('cmake', '--build', build)
        tested = run('ctest', '--test-dir', build, '--output-on-failure')
        self.assertIn('100% tests passed', tested)


    @unittest.skipUnless(shutil.which('cmake'), 'cmake is not installed')
    def test_cmake_project_of_the_page_works(self):
        source = folder / 'page'
        source.mkdir()
        found = readme.blocks('tools/simulator/README.md')
        for name in ('doubled.cpp', 'doubled_kernels.cpp'):
            (text,) = [text for _, text in found if text.startswith(f'// {name}\n')]
            (source / name).write_text(text, encoding='utf-8')
        (text,) = [text for language, text in found if language == 'cmake' and 'KERNELS' in text]
        (source / 'CMakeLists.txt').write_text(text, encoding='utf-8')
        run('cmake', '-S', source, '-B', source / 'build', '-G', 'Ninja', *consumer.cmake_place(PREFIX, PKG_CONFIG.parent),
            *consumer.headers_option('CUSHIM_CUDA_INCLUDE_DIR'))
        run('cmake', '--build', source / 'build')
        self.assertIn('100% tests passed, 0 tests failed out of 3', run('ctest', '--test-dir', source / 'build'))


@unittest.skipUnless(shutil.which('cmake'), 'cmake is not installed')
class Suites(unittest.TestCase):
    """Users' suites of ten tests."""

    def passes(self, name, tests, *options):
        build = folder / 'suites' / name
        run('cmake', '-S', CONSUMERS / 'suites' / name, '-B', build, '-G', 'Ninja', *options,
            *consumer.cmake_place(PREFIX, PKG_CONFIG.parent), *consumer.headers_option('CUSHIM_CUDA_INCLUDE_DIR'))
        run('cmake', '--build', build)
        said = run('ctest', '--test-dir', build, '--output-on-failure')
        self.assertIn(f'100% tests passed, 0 tests failed out of {tests}\n', said)

    def test_ctest_suite_passes(self):
        self.passes('ctest', 10)

    @unittest.skipUnless(has_package('gtest'), 'GoogleTest (libgtest-dev) is not installed')
    def test_googletest_suite_passes(self):
        self.passes('googletest', 10 + 4)

    def test_catch2_suite_passes(self):
        self.passes('catch2', 10 + 4, *self.catch2())

    @unittest.skipUnless(has_package('gtest_main'), 'GoogleTest (libgtest-dev) is not installed')
    def test_suite_of_the_page_passes(self):
        source = folder / 'suites/page'
        source.mkdir(parents=True)
        found = readme.blocks('tools/simulator/README.md')
        for language, name, first in (
                ('cpp', 'suite.cpp', ''),
                ('cmake', 'CMakeLists.txt', 'cmake_minimum_required(VERSION 3.16)\nproject(suite CXX)\n'),
                ('meson', 'meson.build', "project('suite', 'cpp', default_options: ['cpp_std=c++20'])\n")):
            (text,) = [text for each, text in found if each == language and 'suite.cpp' in text]
            (source / name).write_text(first + text, encoding='utf-8')
        run('cmake', '-S', source, '-B', source / 'cmake', '-G', 'Ninja',
            *consumer.cmake_place(PREFIX, PKG_CONFIG.parent), *consumer.headers_option('CUSHIM_CUDA_INCLUDE_DIR'))
        run('cmake', '--build', source / 'cmake')
        self.assertIn('100% tests passed, 0 tests failed out of 2\n', run('ctest', '--test-dir', source / 'cmake'))
        self.check_meson(source)

    @staticmethod
    def check_meson(source):
        """Builds nothing without a simulator."""
        relocated = source / 'pkg-config'
        relocated.write_text(f'#!/bin/sh\nexec pkg-config "--define-variable=prefix={PREFIX}" "$@"\n', encoding='utf-8')
        relocated.chmod(0o755)
        places = {'PKG_CONFIG': str(relocated), 'CPATH': arguments.headers}
        run('meson', 'setup', source / 'meson', source, PKG_CONFIG_PATH=str(PKG_CONFIG), **places)
        run('meson', 'test', '-C', source / 'meson')
        run('meson', 'setup', source / 'without', source, PKG_CONFIG_PATH='', **places)
        run('ninja', '-C', source / 'without')

    @staticmethod
    def catch2():
        """Options for find_package(Catch2): that of the outer build, unless it uses an installed one."""
        library = next(stage.rglob('libCatch2.a'), None)
        if library is None:
            return []
        (extras,) = (arguments.source / 'subprojects').glob('Catch2-*/extras')
        place = folder / 'catch2'
        place.mkdir()
        (place / 'Catch2ConfigVersion.cmake').write_text('set(PACKAGE_VERSION_COMPATIBLE TRUE)\n', encoding='utf-8')
        (place / 'Catch2Config.cmake').write_text(f'''add_library(Catch2::Catch2WithMain INTERFACE IMPORTED)
target_include_directories(Catch2::Catch2WithMain INTERFACE {PREFIX}/include)
target_link_libraries(Catch2::Catch2WithMain INTERFACE {library.with_name("libCatch2Main.a")} {library})
list(APPEND CMAKE_MODULE_PATH {extras})
''', encoding='utf-8')
        return [f'-DCatch2_DIR={place}']


class Subproject(unittest.TestCase):
    """Only set up, because building the simulator again would take minutes."""

    def test_subproject_has_the_variables(self):
        project, build = folder / 'subproject/simulator', folder / 'subproject/build'
        shutil.copytree(CONSUMERS, folder / 'subproject')
        (project / 'subprojects').mkdir()
        (project / 'subprojects/cushim').symlink_to(arguments.source)
        run('meson', 'setup', build, project, '--buildtype=plain', *consumer.headers_option('cushim:headers_dir'))
        targets = json.loads(run('meson', 'introspect', '--targets', build))
        made = {name for target in targets for name in target['filename']}
        tests = json.loads(run('meson', 'introspect', '--tests', build))
        (hello,) = [test for test in tests if test['name'] == 'hello']
        # "meson test" builds only the dependencies of the tests.
        planned = run('ninja', '-C', build, '-n', 'meson-test-prereq')
        for name in ('CUSHIM_DRIVER', 'CUSHIM_RUNTIME'):
            library = hello['env'][name]
            self.assertIn(library, made)
            self.assertIn(f'Linking target {pathlib.Path(library).relative_to(build)}', planned)


if __name__ == '__main__':
    consumer.main()
