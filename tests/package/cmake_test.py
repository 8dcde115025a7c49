#!/usr/bin/env python3
"""Consumers that use find_package(cushim)."""

import re

import consumer
from consumer import CONSUMERS, arguments, run

consumer.need('cmake', 'meson')
install = consumer.Install(__file__)
TYPES = {'both': ('shared', 'static')}.get(arguments.type, (arguments.type,))


def configure(project, name, *options, **more):
    folder = install.folder / name
    defaults = [*consumer.cmake_place(install.prefix, install.libdir), '-G', 'Ninja']
    if arguments.headers and not any('CUDA' in option for option in options):
        defaults.append(f'-DCUSHIM_CUDA_INCLUDE_DIR={arguments.headers}')
    text = run('cmake', '-S', CONSUMERS / project, '-B', folder, *defaults, *options, **more)
    # CMake wraps long messages.
    return folder, re.sub(r'\s+', ' ', text)


class CMake(consumer.ConsumerTest):
    def check_project(self, name, shared, *options):
        folder, text = configure('cmake', name, *options)
        self.assertIn(f'found {arguments.version} for {arguments.cuda_version} in', text)
        run('cmake', '--build', folder)
        self.check_cpp(folder / 'hello')
        self.check_c(folder / 'hello_c')
        for program in ('hello', 'hello_c'):
            self.check_linked(folder / program, shared)
        if consumer.WITH_NVRTC:
            self.check_compiled(folder / 'compiled')

    def test_project_builds_and_runs(self):
        self.check_project('project', TYPES[0] == 'shared')

    def test_component_selects_the_kind_of_library(self):
        for kind in TYPES if len(TYPES) > 1 else ():
            with self.subTest(kind):
                self.check_project(f'component-{kind}', kind == 'shared', f'-DWANTED={kind}')
                exported = consumer.exported_names(install.folder / f'component-{kind}/plugin.so', 'cushim_')
                self.assertEqual(exported, set())
        missing = {'static', 'shared'} - set(TYPES)
        for kind in missing:
            with self.subTest(kind):
                _, text = configure('cmake_c', f'missing-{kind}', f'-DWANTED={kind}', fails=True)
                self.assertIn(f'it has no component {kind}', text)

    def test_project_without_cpp_builds_and_runs(self):
        """With a test on the simulated GPU, although this cushim has no simulator."""
        folder, text = configure('cmake_c', 'c')
        self.assertIn('cushim_add_gpu_test(hello_c): disabled, because this cushim has no simulator', text)
        run('cmake', '--build', folder)
        self.check_c(folder / 'hello_c')
        self.assertRegex(run('ctest', '--test-dir', folder), r'hello_c \.+\**Not Run \(Disabled\)')

    def test_existing_code_builds_and_runs(self):
        folder, _ = configure('cmake_existing', 'existing')
        run('cmake', '--build', folder)
        for program in ('existing_c', 'existing_cpp', 'existing_exported'):
            with self.subTest(program):
                self.check_existing(folder / program, TYPES[0] == 'shared')
                self.check_small(folder / program, 'cuInit', 'cudaGetDeviceCount')
        self.check_driver_api(folder / 'driver', TYPES[0] == 'shared')
        self.check_small(folder / 'driver', 'cuInit')

    def test_only_compatible_versions_are_accepted(self):
        """Before version 1.0, every minor version has its own interface."""
        major, minor, _ = arguments.version.split('.')
        wanted = {f'{major}.{minor}': True, f'{major}.{minor}.999': False,
                  f'{major}.{int(minor) + 1}': False, f'{int(major) + 1}.0': False,
                  f'{major}.{minor}...{int(major) + 1}': True,
                  f'{int(major) + 1}...{int(major) + 2}': False}
        if int(major) == 0:
            wanted[f'{major}.{int(minor) - 1}'] = False
        for version, fits in wanted.items():
            with self.subTest(version):
                name = 'version-' + re.sub(r'\W', '-', version)
                configure('cmake_c', name, f'-DWANTED_VERSION={version}', fails=not fits)

    def test_missing_headers_are_reported(self):
        _, text = configure('cmake_c', 'no-headers', f'-DCUSHIM_CUDA_INCLUDE_DIR={install.folder}',
                            fails=True)
        self.assertIn(f'cuda.h not found in CUSHIM_CUDA_INCLUDE_DIR={install.folder}', text)

    def test_headers_of_another_major_version_cause_a_warning(self):
        """Existing code includes no header of cushim that would reject them."""
        own = int(arguments.cuda_version) // 1000
        for major in (own - 1, own, own + 1):
            headers = install.folder / f'headers-{major}'
            headers.mkdir()
            (headers / 'cuda.h').write_text(f'#define CUDA_VERSION {major}020\n', encoding='ascii')
            _, text = configure('cmake_existing', f'headers-{major}-build',
                                f'-DCUSHIM_CUDA_INCLUDE_DIR={headers}')
            with self.subTest(major):
                self.assertEqual(f'are of CUDA {major}: code that is compiled' in text, major != own)

    def test_headers_of_the_toolkit_are_used(self):
        """The headers that find_package(CUDAToolkit) found are used."""
        toolkit = install.folder / 'some-toolkit'
        toolkit.mkdir()
        _, text = configure('cmake_c', 'toolkit', f'-DCUDAToolkit_INCLUDE_DIRS={toolkit}')
        self.assertIn(f'headers: <{toolkit}>', text)

    def test_first_headers_of_several_folders_are_used(self):
        """A list of folders; the first cuda.h counts."""
        folders = [install.folder / f'toolkit-{name}' for name in ('more', 'other', 'own')]
        own = int(arguments.cuda_version) // 1000
        for folder in folders:
            folder.mkdir()
        for folder, major in zip(folders[1:], (own + 1, own)):
            (folder / 'cuda.h').write_text(f'#define CUDA_VERSION {major}020\n', encoding='ascii')
        _, text = configure('cmake_existing', 'toolkit-list-build',
                            f'-DCUDAToolkit_INCLUDE_DIRS={";".join(map(str, folders))}')
        self.assertIn(f'but those in {folders[1]} are of CUDA {own + 1}', text)

    def test_chosen_headers_take_precedence(self):
        chosen = install.folder / 'chosen'
        chosen.mkdir()
        (chosen / 'cuda.h').touch()
        _, text = configure('cmake_c', 'chosen-build', '-DCUDAToolkit_INCLUDE_DIRS=/some/toolkit',
                            f'-DCUSHIM_CUDA_INCLUDE_DIR={chosen}')
        self.assertIn(f'headers: <{chosen}>', text)


if __name__ == '__main__':
    consumer.main()
