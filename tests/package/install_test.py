#!/usr/bin/env python3
"""A staged install contains everything that a consumer needs, and no path of this machine."""

import fnmatch
import pathlib
import re
import unittest

import consumer
from consumer import arguments, binaries

install = consumer.Install(__file__)
LIBRARIES = [pathlib.Path(name).stem for name in consumer.LIBRARIES]


class Installed(consumer.ConsumerTest):
    def test_every_header_is_installed(self):
        def below(folder):
            return {path.relative_to(folder).as_posix() for path in folder.rglob('*') if path.suffix in ('.h', '.hpp')}

        installed = below(install.include / 'cushim')
        # The wrappers of further libraries come with their tables.
        own = below(arguments.source / 'include/cushim') - {
            f'{name}.hpp' for name in ('nvjitlink', 'nvml', 'nvrtc') if name not in LIBRARIES}
        generated = {f'detail/{api}_{kind}' for api in ('driver', 'runtime')
                     for kind in ('headers.h', 'slots.h', 'first_calls.h', 'table.hpp', 'entries.hpp')}
        generated |= {f'{name}_{kind}' for name in LIBRARIES for kind in ('library.h', 'table.hpp', 'entry.hpp')}
        self.assertEqual(installed, own | generated)

    def test_public_header_has_the_version(self):
        major, minor, patch = map(int, arguments.version.split('.'))
        text = (install.include / 'cushim/loader.h').read_text(encoding='utf-8')
        self.assertIn(f'#define CUSHIM_VERSION {major * 10000 + minor * 100 + patch}\n', text)
        self.assertIn(f'cushim, {arguments.version}, as', text)

    def test_requested_libraries_are_installed(self):
        names = {path.name for path in install.libdir.iterdir() if path.is_file()}
        static = {'libcushim.a', 'libcushim-core.a'}
        kinds = ('', '-static') if arguments.type == 'both' else ('',)
        dropin = {f'libcushim-dropin{part}{kind}.a' for part in ('', '-driver', '-exported') for kind in kinds}
        dropin |= {f'libcushim-{name}{part}.a' for name in LIBRARIES for part in ('', '-dropin')}
        shared = {f'lib{name}.so.{arguments.version}' for name in ('cushim', 'cushim-core')}
        wanted = (static if arguments.type != 'shared' else set()) | \
            (shared if arguments.type != 'static' else set()) | dropin
        libraries = {name for name in names if re.search(r'\.a$|\.so\.\d+\.\d+', name)}
        self.assertEqual(libraries, wanted)

    def test_archive_contains_the_rows(self):
        """In the build, the rows are a separate library, which is not installed."""
        path = install.library('libcushim-core.a')
        if not path.exists():
            self.skipTest('no archive')
        members = dict(binaries.archive_members(path))  # rejects a thin archive
        slots, registries = [], []
        for name, data in members.items():
            defined = {symbol for symbol, here, _ in binaries.Elf(data).symbols() if here}
            if 'cushim_slot_cuInit' in defined or 'cushim_slot_cudaMalloc' in defined:
                slots.append(name)
            if any(re.search(r'visit_(driver|runtime)_rows', symbol) for symbol in defined):
                registries.append(name)
        self.assertEqual((len(slots), len(registries)), (2, 2), members.keys())
        self.assertFalse(set(slots) & set(registries))

    def test_shared_libraries_need_only_system_libraries(self):
        path = install.library('libcushim-core.so')
        if not path.exists():
            self.skipTest('no shared library is installed')
        allowed = r'(libc|libdl|libpthread|ld-linux[-_a-z0-9]*)\.so\.\d+'
        for name in binaries.read(path).needed():
            self.assertRegex(name, allowed)
        for name in binaries.read(install.library('libcushim.so')).needed():
            self.assertRegex(name, allowed + r'|libcushim-core\.so\.0|'
                             r'(libstdc\+\+|libgcc_s|libm|libc\+\+(abi)?)\.so\.\d+')

    def test_only_cushim_functions_are_exported(self):
        paths = [install.library(f'lib{name}.so') for name in ('cushim', 'cushim-core')]
        if not paths[0].exists():
            self.skipTest('no shared library is installed')
        for path in paths:
            # Weak ones, too: a symbol of the C++ library would replace that of other libraries of the process.
            exported = {name for name, here, binding in binaries.read(path).symbols(dynamic=True)
                        if here and binding != binaries.Elf.LOCAL}
            self.assertGreater(len(exported), 5)
            foreign = {name for name in exported
                       if not re.match(r'cushim_|CUSHIM_CUDA_|_Z(Z|T[A-Z]|G[A-Z])*N?K?6cushim', name)
                       and name not in ('_init', '_fini', '__bss_start', '_edata', '_end')}
            self.assertEqual(sorted(foreign), [], path.name)

    def test_exceptions_are_exported_as_types(self):
        """So that a program catches what the library throws, also where types are compared by address."""
        path = install.library('libcushim.so')
        if not path.exists():
            self.skipTest('no shared library is installed')
        exported = consumer.exported_names(path, '6cushim9Exception')
        self.assertLessEqual({f'_ZT{kind}N6cushim9ExceptionE' for kind in 'ISV'}, exported)

    def test_no_file_contains_a_path_of_this_machine(self):
        """Only text files, because binaries may contain paths in their debug information."""
        for path in install.files():
            if path.suffix in ('.pc', '.cmake', '.h', '.hpp'):
                text = path.read_text(encoding='utf-8')
                for folder in filter(None, (arguments.source, arguments.work, arguments.headers)):
                    self.assertNotIn(str(folder), text, path.name)

    def test_no_tests_are_installed(self):
        kinds = {path.relative_to(install.prefix).parts[0] for path in install.files()}
        libraries = install.libdir.relative_to(install.prefix).parts[0]
        # See consumer.setup_options().
        tools = set() if arguments.type == 'static' else {'bin'}
        self.assertEqual(kinds, {'include', 'share', 'libexec', libraries} | tools)  # libexec: cushim_sim.h
        self.assertEqual({path.name for path in install.prefix.glob('share/*/*')},
                         {'generator', 'cushim'} | ({'man1'} if tools else set()))
        self.assertIn('Permission is hereby granted', (install.prefix / 'share/licenses/cushim/LICENSE').read_text())
        loose = [path.name for path in install.libdir.iterdir() if path.is_file()]
        self.assertEqual([name for name in loose if not re.search(r'^lib.*\.(a|so[.\d]*)$', name)], [])
        self.assertEqual({path.name for path in install.prefix.glob('bin/*')},
                         {'cushim-audit', 'cushim-info'} if tools else set())

    @unittest.skipUnless(arguments.type != 'static', 'see consumer.setup_options()')
    def test_every_program_has_a_man_page(self):
        programs = list((install.prefix / 'bin').iterdir())
        self.assertEqual({path.name for path in (install.prefix / 'share').glob('man/man1/*')},
                         {f'{program.name}.1' for program in programs})
        for program in programs:
            with self.subTest(program.name):
                self.check_man_page(install.prefix / f'share/man/man1/{program.name}.1', program)

    @unittest.skipUnless(arguments.type == 'shared', 'Debian builds shared libraries')
    def test_debian_packages_contain_every_file(self):
        patterns = [pattern for path in (arguments.source / 'tools/packaging/debian').glob('*.install')
                    for pattern in path.read_text(encoding='ascii').split()]
        for path in install.files():
            if any(name in path.name for name in LIBRARIES):  # Debian builds none of these
                continue
            # Debian's libexecdir is its libdir.
            folder = next((folder for folder in (install.libdir, install.prefix / 'libexec')
                           if path.is_relative_to(folder)), None)
            name = f'usr/lib/any/{path.relative_to(folder)}' if folder else \
                f'usr/{path.relative_to(install.prefix)}'
            self.assertTrue(any(fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(name, f'{pattern}/*')
                                for pattern in patterns), name)


if __name__ == '__main__':
    consumer.main()
