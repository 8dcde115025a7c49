#!/usr/bin/env python3
"""Consumers that use a compiler and pkg-config."""

import shlex
import shutil

import consumer
from consumer import CONSUMERS, arguments, run

consumer.need('pkg-config', 'meson')
install = consumer.Install(__file__)
SHARED = arguments.type != 'static'


def pkg_config(*options):
    return run('pkg-config', f'--define-variable=prefix={install.prefix}', *options,
               PKG_CONFIG_PATH=str(install.libdir / 'pkgconfig')).strip()


def flags(package, *options):
    return shlex.split(pkg_config('--cflags', '--libs', *options, package))


class PkgConfig(consumer.ConsumerTest):
    search = {'LD_LIBRARY_PATH': str(install.libdir)}

    def cpp(self, name, *options, libraries=None):
        program = install.folder / name
        run(*arguments.cxx, '-std=c++20', *options, CONSUMERS / 'hello.cpp', '-o', program,
            *consumer.cuda_includes(), *(libraries or flags('cushim')))
        return program

    def c(self, name, *options):
        program = install.folder / name
        run(*arguments.cc, '-std=c11', *options, CONSUMERS / 'hello.c', '-o', program,
            *flags('cushim-core'))
        return program

    def test_cpp_program_builds_and_runs(self):
        program = self.cpp('hello')
        self.check_cpp(program, **self.search)
        self.check_linked(program, SHARED)

    def test_cpp_program_without_exceptions_and_rtti_builds_and_runs(self):
        program = self.cpp('plain', '-fno-exceptions', '-fno-rtti')
        self.check_cpp(program, **self.search)

    def test_exception_of_the_library_is_caught(self):
        """With every linker, by its type and by that of its base."""
        for linker in ('bfd', 'gold', 'lld', 'mold'):
            if shutil.which(f'ld.{linker}') is not None:
                with self.subTest(linker):
                    program = install.folder / f'throwing-{linker}'
                    run(*arguments.cxx, '-std=c++20', CONSUMERS / 'throwing.cpp', '-o', program,
                        f'-fuse-ld={linker}', *consumer.cuda_includes(), *flags('cushim'))
                    said = run(program, CUSHIM_DISABLE='1', **self.search)
                    self.assertRegex(said, r'\Acushim::Exception: .*CUSHIM_DISABLE.*\nstd::exception: .*CUSHIM_DISABLE')

    def test_c_program_builds_and_runs(self):
        """With only the C compiler and without CUDA headers."""
        program = self.c('hello_c')
        self.check_c(program, **self.search)
        self.check_linked(program, SHARED)

    def existing(self, package, *options):
        program = install.folder / '-'.join([package, *map(str, range(len(options)))])
        run(*arguments.cc, '-std=c99', CONSUMERS / 'existing.c', '-o', program,
            *consumer.cuda_includes(), *flags(package), *options)
        return program

    def test_existing_code_builds_and_runs(self):
        for package in ('cushim-dropin', 'cushim-dropin-exported'):
            with self.subTest(package):
                program = self.existing(package)
                self.check_existing(program, SHARED, **self.search)
                self.assertFalse([name for name in self.needed(program) if 'stdc++' in name])

    def test_existing_code_of_the_driver_api(self):
        program = install.folder / 'driver'
        run(*arguments.cc, '-std=c99', CONSUMERS / 'driver.c', '-o', program, *consumer.cuda_includes(),
            *flags('cushim-dropin-driver'))
        self.check_driver_api(program, SHARED, **self.search)

    def test_existing_code_builds_with_nvcc(self):
        """With the same flags, which nvcc accepts unchanged."""
        if not arguments.nvcc:
            self.skipTest(arguments.no_nvcc)
        for package in ('cushim-dropin', 'cushim-dropin-exported'):
            with self.subTest(package):
                program = install.folder / f'{package}-nvcc'
                run(*arguments.nvcc, CONSUMERS / 'existing.cu', '-o', program, *flags(package))
                self.check_existing(program, SHARED, **self.search)

    def test_buffers_of_the_wrappers_build_with_nvcc(self):
        if not arguments.nvcc:
            self.skipTest(arguments.no_nvcc)
        program = install.folder / 'buffers-nvcc'
        run(*arguments.nvcc, '-std=c++20', CONSUMERS / 'buffers.cu', '-o', program, *flags('cushim'))
        self.assertIn('no CUDA driver', run(program, CUSHIM_DISABLE='1', **self.search))

    def test_version_script_gives_versions_to_the_exported_dropin(self):
        """With the consumer's default linker."""
        script = pkg_config('--variable=version_script', 'cushim-dropin-exported')
        program = self.existing('cushim-dropin-exported', '-rdynamic', f'-Wl,--version-script={script}')
        self.check_existing(program, SHARED, **self.search)
        self.assertIn('.gnu.version_d', [name for name, *_ in consumer.binaries.read(program).sections()])

    def test_small_c_program_contains_no_rows(self):
        if SHARED:
            self.skipTest('a shared library contains all rows')
        program = self.c('hello_c_small')
        names = {name for name, *_ in consumer.binaries.read(program).symbols()}
        self.assertIn('cushim_load', names)
        self.assertFalse([name for name in names if name.startswith('cushim_slot_')])

    def test_archives_beside_shared_libraries_can_be_linked(self):
        if arguments.type != 'both':
            self.skipTest('only one kind is installed')
        program = self.cpp('hello_static', libraries=flags('cushim-static'))
        self.check_cpp(program)
        self.check_linked(program, False)
        for package in ('cushim-dropin-static', 'cushim-dropin-exported-static'):
            with self.subTest(package):
                self.check_existing(self.existing(package), False)
        self.assertIn('-lcushim-dropin-driver-static', flags('cushim-dropin-driver-static'))

    def test_plugin_exports_nothing_of_an_archive(self):
        if arguments.type == 'shared':
            self.skipTest('no archive is installed')
        plugin = install.folder / 'plugin.so'
        run(*arguments.cxx, '-std=c++20', '-shared', '-fPIC', '-fvisibility=hidden', '-DNAME=plugin',
            CONSUMERS / 'two_copies/copy.cpp', '-o', plugin, *consumer.cuda_includes(),
            *flags('cushim-static'))
        self.assertEqual(consumer.exported_names(plugin, 'cushim'), set())
        # Weak ones are inline functions of the C++ library.
        exported = {name for name, here, binding in consumer.binaries.read(plugin).symbols(dynamic=True)
                    if here and binding == consumer.binaries.Elf.GLOBAL and not name.startswith('_')}
        self.assertEqual(exported, {f'plugin_{name}' for name in ('state', 'init', 'resolve', 'overridden')})

    def test_flags_depend_on_the_kind_of_library(self):
        for package in ('cushim', 'cushim-core'):
            self.assertEqual('-DCUSHIM_STATIC' in flags(package), not SHARED, package)
            if arguments.type != 'shared':
                self.assertIn('-DCUSHIM_STATIC', flags(package + '-static'))
        # An archive's own dependencies are in the flags; a shared library loads them itself.
        self.assertEqual('-lpthread' in flags('cushim-core'), not SHARED)
        self.assertIn('-lpthread', flags('cushim-core', '--static'))

    def test_flags_are_portable(self):
        """nvcc accepts only these options of a C++ compiler."""
        for package in ('cushim', 'cushim-dropin', 'cushim-dropin-driver', 'cushim-dropin-exported'):
            for word in flags(package, '--static'):
                self.assertRegex(word, '^-[DILl]')

    def test_paths_are_below_the_prefix(self):
        """Except for the folder of the CUDA headers, which the consumer names."""
        for word in flags('cushim', '--static') + flags('cushim-dropin', '--static'):
            path = word[word.index('/'):] if '/' in word else None
            if path is not None:
                self.assertTrue(path.startswith(str(install.prefix)), word)

    def test_versions_are_provided(self):
        for package in ('cushim', 'cushim-core', 'cushim-dropin', 'cushim-dropin-driver', 'cushim-dropin-exported'):
            self.assertEqual(pkg_config('--modversion', package), arguments.version)
            self.assertEqual(pkg_config('--variable=cuda_version', package),
                             str(arguments.cuda_version))


if __name__ == '__main__':
    consumer.main()
