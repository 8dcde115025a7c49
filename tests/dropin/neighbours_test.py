#!/usr/bin/env python3
"""The drop-in beside other users of CUDA in one process: a plugin with its own copy, and libraries linked to
NVIDIA's libraries. Each keeps its own functions. Only the exported drop-in serves libraries that name no CUDA
library."""

import itertools
import re
import unittest

import toolbox
import versions
from toolbox import EXPORTED, HIDDEN, arguments, binaries, link, run

folder = toolbox.fresh_folder(__file__)
SHARED = ['-shared', '-fPIC']
with_each_linker = toolbox.with_each_linker


class Neighbours(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.real = toolbox.real_libraries(folder, arguments.fake_driver, arguments.fake_runtime)
        cls.plugin = link(folder / 'libplugin.so', 'library.c', *SHARED, libraries=HIDDEN)
        cls.linked = link(folder / 'liblinked.so', 'library.c', *SHARED, '-Wl,--no-as-needed',
                          libraries=[f'-L{cls.real}', '-lcuda', '-lcudart'])
        # Linked to no CUDA library: the program must provide the functions.
        cls.open = link(folder / 'libopen.so', 'library.c', *SHARED)

    def check(self, program, paths, expected):
        """Checks which file serves each caller. All calls reach the one driver of the test."""
        env = toolbox.environment(CUSHIM_DRIVER=str(self.real / 'libcuda.so.1'),
                                  LD_LIBRARY_PATH=str(self.real))
        status, output = run(program, *paths, env=env)
        self.assertEqual(status, 0, output)
        answers = set(re.findall(r': (\d+) by ', output))
        self.assertEqual(len(answers), 1, output)
        self.assertFalse(answers & {'0', '34', '303'}, output)
        self.assertEqual(re.sub(r': \d+ by ', ': ', output).splitlines(), expected)

    def test_each_keeps_its_own_functions(self):
        """In either order of loading."""
        served = {self.plugin: 'libplugin.so', self.linked: 'libcuda.so.1'}
        for kind, archives in (('hidden', HIDDEN), ('exported', EXPORTED)):
            program = link(folder / f'host-{kind}', 'host.c', libraries=archives)
            self.assertEqual(toolbox.of_cuda(toolbox.exported(program)), set())
            for paths in itertools.permutations(served):
                with self.subTest(kind=kind, first=paths[0].name):
                    self.check(program, paths, [
                        *(f'{path.name}: {served[path]}' for path in paths),
                        f'program: {program.name}'])

    @with_each_linker
    def test_library_linked_to_libcuda_keeps_its_own_functions(self, linker):
        """Also if the program itself is linked to that library."""
        program = self.host(linker, HIDDEN, self.linked)
        self.assertEqual(toolbox.of_cuda(toolbox.exported(program)), set())
        self.check(program, [self.plugin], [
            'libplugin.so: libplugin.so', f'program: {program.name}',
            'linked: libcuda.so.1'])

    def host(self, linker, archives, library):
        kind = 'exported' if archives is EXPORTED else 'hidden'
        return link(folder / f'host-{linker}-{kind}-{library.stem}', 'host.c', '-DWITH_LIBRARY',
                    f'-fuse-ld={linker}', f'-Wl,-rpath,{folder}', f'-Wl,-rpath-link,{self.real}',
                    libraries=[library, *archives])

    @with_each_linker
    def test_exported_serves_a_library_without_cuda(self, linker):
        program = self.host(linker, EXPORTED, self.open)
        self.check(program, [], [f'program: {program.name}', f'linked: {program.name}'])
        self.assertEqual(run(program, env=toolbox.absent()), (
            0, f'program: 303 by {program.name}\nlinked: 303 by {program.name}\n'))

    @with_each_linker
    def test_exported_keeps_only_used_functions(self, linker):
        """Functions that neither the program nor the library calls are removed."""
        program = link(folder / f'collected-{linker}', 'library_user.c',
                       f'-fuse-ld={linker}', '-Wl,--gc-sections', f'-Wl,-rpath,{folder}',
                       libraries=[self.open, *EXPORTED])
        self.assertEqual(toolbox.of_cuda(toolbox.exported(program)),
                         {'cuInit', 'cudaGetDeviceCount'})
        self.assertEqual(run(program, env=toolbox.absent()), (0, 'library: 303, 35, 0 devices\n'))

    @with_each_linker
    def test_exported_before_the_library_on_the_command_line(self, linker):
        """GNU ld and gold take from an archive only what earlier objects need, and name what is missing; other
        linkers also look back."""
        program = folder / f'before-{linker}'
        status, output = run(*toolbox.link_command(
            program, 'library_user.c', f'-fuse-ld={linker}', f'-Wl,-rpath,{folder}',
            libraries=[*EXPORTED, self.open]))
        self.assertEqual(status != 0, linker in ('bfd', 'gold'), output)
        if status != 0:
            self.assertRegex(output, 'undefined reference to [^\n]*(cuInit|cudaGetDeviceCount)')
        else:
            self.assertEqual(run(program, env=toolbox.absent()),
                             (0, 'library: 303, 35, 0 devices\n'))

    def test_exporting_plugin_serves_dlsym_of_later_libraries(self):
        """With RTLD_GLOBAL, a plugin's exported functions are found by dlsym(RTLD_DEFAULT). The exported drop-in
        is, and CUSHIM_DISABLE affects it."""
        by_name = link(folder / 'libbyname.so', 'library.c', '-DBY_NAME', *SHARED, libraries=['-ldl'])
        exporting = link(folder / 'libexporting.so', 'library.c', *SHARED,
                         f'-Wl,--version-script={arguments.version_script}', libraries=EXPORTED)
        program = link(folder / 'host-by-name', 'host.c', libraries=HIDDEN)
        for plugin, served in ((exporting, '303 by libexporting.so'), (self.plugin, '-1 by no file')):
            self.assertEqual(run(program, plugin, by_name, env=toolbox.absent()), (
                0, f'{plugin.name}: 303 by {plugin.name}\nlibbyname.so: {served}\n'
                   f'program: 303 by {program.name}\n'))
        self.check(program, [exporting, by_name], [
            'libexporting.so: libexporting.so', 'libbyname.so: libexporting.so',
            f'program: {program.name}'])

    @with_each_linker
    def test_hidden_does_not_serve_a_library_without_cuda(self, linker):
        """The link fails, or the program does not start; it never runs with missing functions."""
        program = folder / f'unserved-{linker}'
        command = toolbox.link_command(
            program, 'host.c', '-DWITH_LIBRARY', f'-fuse-ld={linker}',
            f'-Wl,-rpath,{folder}', libraries=[self.open, *HIDDEN])
        status, output = run(*command)
        if status != 0:
            print(f'{linker} refuses it')
            self.assertRegex(output, r'cuInit|cudaGetDeviceCount')
        else:
            print(f'{linker} links it, and it does not start')
            status, output = run(program, env={**toolbox.absent(), 'LD_BIND_NOW': '1'})
            self.assertEqual(status, 127)
            self.assertRegex(output, r'undefined symbol: cu')

    @with_each_linker
    def test_exported_serves_a_library_linked_to_libcuda(self, linker):
        """The functions of libcuda have no versions, so the library calls the program's, which forward to the
        same driver."""
        program = self.host(linker, EXPORTED, self.linked)
        self.check(program, [], [f'program: {program.name}', f'linked: {program.name}'])


class Runtimes(unittest.TestCase):
    """The exported drop-in beside libraries that are linked to a libcudart of any major version. The functions of
    libcudart have versions, and so have the program's."""

    maxDiff = None
    # These add the versions that objects of the program define; other linkers need a version script.
    MAKE_VERSIONS = ('bfd', 'gold')

    @classmethod
    def setUpClass(cls):
        cls.runtimes = (arguments.fake_runtime, arguments.other_runtime)
        cls.same, cls.other = (cls.library(runtime.name, '-Wl,--no-as-needed', runtime)
                               for runtime in cls.runtimes)
        cls.open = cls.library('open')
        cls.version = versions.of_archive(arguments.exported)

    @staticmethod
    def library(name, *libraries):
        return link(folder / f'libuses-{name}.so', 'library.c', '-DRUNTIME', *SHARED, libraries=libraries)

    def served(self, library, program=None):
        """The major version that the library gets, and from which file: its own libcudart or the program."""
        runtime = self.runtimes[library == self.other and program is None]
        major = re.fullmatch(r'libcudart\.so\.(\d+)(\.0)?', runtime.name).group(1)
        return f'{major} by {program.name if program else runtime.name}'

    def check(self, program, expected):
        """`expected`: first the library that the program is linked to, then those that it opens."""
        env = toolbox.environment(
            CUSHIM_DRIVER=str(arguments.fake_driver), CUSHIM_RUNTIME=str(arguments.fake_runtime),
            LD_LIBRARY_PATH=':'.join(str(runtime.parent) for runtime in self.runtimes))
        linked, *opened = expected
        status, output = run(program, *opened, env=env)
        self.assertEqual((status, output.splitlines()), (0, [
            *(f'{path.name}: {expected[path]}' for path in opened),
            f'program: {self.served(self.same).split()[0]}',
            f'linked: {expected[linked]}']))

    def program(self, linker, library, *options):
        """A program that exports all of its functions, the worst case."""
        folders = [f'-Wl,-rpath-link,{runtime.parent}' for runtime in self.runtimes]
        name = '-'.join(['runtimes', linker, library.stem, *map(str, range(len(options)))])
        program = link(folder / name, 'host.c', '-DRUNTIME', '-DWITH_LIBRARY', f'-fuse-ld={linker}', '-rdynamic',
                       *folders, f'-Wl,-rpath,{folder}', *options, libraries=[library, *EXPORTED])
        self.assertIn('cudaRuntimeGetVersion', toolbox.exported(program))
        return program

    def check_each_keeps_its_runtime(self, linker, *options):
        for linked in (self.other, self.same):
            program = self.program(linker, linked, *options)
            self.assertTrue(toolbox.defines_versions(program))
            opened = [path for path in (self.other, self.same) if path != linked]
            self.check(program, {**{path: self.served(path) for path in (linked, *opened)},
                                 self.open: self.served(self.open, program)})

    def test_each_library_keeps_its_runtime(self):
        for linker in toolbox.linkers():
            if linker in self.MAKE_VERSIONS:
                with self.subTest(linker=linker):
                    self.check_each_keeps_its_runtime(linker)

    @with_each_linker
    def test_each_library_keeps_its_runtime_with_a_version_script(self, linker):
        self.check_each_keeps_its_runtime(linker, f'-Wl,--version-script={arguments.version_script}')

    @with_each_linker
    def test_shared_library_needs_the_version_script(self, linker):
        """It then serves others as a program does. Without the script every linker rejects it."""
        server = folder / f'libserver-{linker}.so'
        command = toolbox.link_command(server, 'library.c', f'-fuse-ld={linker}', *SHARED,
                                       libraries=EXPORTED)
        status, output = run(*command)
        self.assertNotEqual(status, 0)
        self.assertRegex(output, f'version.*{self.version}')
        toolbox.must_run(*command, f'-Wl,--version-script={arguments.version_script}')
        self.assertIn('cudaRuntimeGetVersion', toolbox.exported(server))
        self.assertTrue(toolbox.defines_versions(server))

    def test_without_versions_the_program_serves_all_libraries(self):
        """Without versions the program's functions take precedence, and the library gets another runtime than
        the one that it was built for."""
        for linker in toolbox.linkers():
            program = self.program(linker, self.other)
            if not toolbox.defines_versions(program):
                with self.subTest(linker=linker):
                    print(f'{linker}: its functions have no versions')
                    self.check(program, {path: self.served(path, program)
                                         for path in (self.other, self.same, self.open)})

    @with_each_linker
    def test_library_without_a_libcudart_is_served(self, linker):
        program = self.program(linker, self.open)
        self.check(program, {self.open: self.served(self.open, program)})

    def test_all_functions_of_libcudart_have_the_version(self):
        """Including those that compilers call; those of libcuda have none. It names the major version."""
        self.assertEqual(self.version, 'CUSHIM_' + self.served(self.same).split()[0])
        names = {name for _, member in binaries.archive_members(arguments.exported)
                 for name, here, _ in binaries.Elf(member).symbols() if here}
        ours = {name for name in names if re.match('(__cuda|cuda|cu)[A-Z]', name)}
        versioned = {name for name in ours if name.endswith(f'@@{self.version}')}
        self.assertGreater(len(versioned), 300)
        self.assertEqual(versioned, {name for name in ours if re.match('(__)?cuda', name)})


if __name__ == '__main__':
    unittest.main(argv=[__file__], verbosity=2)
