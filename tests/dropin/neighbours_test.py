#!/usr/bin/env python3
"""The drop-in among others in one process: a plugin with a copy of its own, and libraries that are linked to
CUDA's own ones. Nobody gets in between them; but where it is asked for, the program serves libraries that
name no CUDA library."""

import itertools
import re
import unittest

import toolbox
from toolbox import EXPORTED, HIDDEN, arguments, link, run

folder = toolbox.fresh_folder(__file__)
SHARED = ['-shared', '-fPIC']


class Neighbours(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.real = toolbox.real_libraries(folder, arguments.fake_driver, arguments.fake_runtime)
        cls.plugin = link(folder / 'libplugin.so', 'library.c', *SHARED, libraries=HIDDEN)
        cls.linked = link(folder / 'liblinked.so', 'library.c', *SHARED, '-Wl,--no-as-needed',
                          libraries=[f'-L{cls.real}', '-lcuda', '-lcudart'])
        # Leaves it to the program where its CUDA comes from.
        cls.open = link(folder / 'libopen.so', 'library.c', *SHARED)

    def check(self, program, paths, expected):
        """Who serves whom; all answer what the one driver does, that of the tests."""
        env = toolbox.environment(CUSHIM_DRIVER=str(self.real / 'libcuda.so.1'),
                                  LD_LIBRARY_PATH=str(self.real))
        status, output = run(program, *paths, env=env)
        self.assertEqual(status, 0, output)
        answers = set(re.findall(r': (\d+) by ', output))
        self.assertEqual(len(answers), 1, output)
        self.assertFalse(answers & {'0', '34', '303'}, output)
        self.assertEqual(re.sub(r': \d+ by ', ': ', output).splitlines(), expected)

    def test_everybody_has_his_own(self):
        """Whoever comes first."""
        served = {self.plugin: 'libplugin.so', self.linked: 'libcuda.so.1'}
        for kind, archives in (('hidden', HIDDEN), ('exported', EXPORTED)):
            program = link(folder / f'host-{kind}', 'host.c', libraries=archives)
            self.assertEqual(toolbox.of_cuda(toolbox.exported(program)), set())
            for paths in itertools.permutations(served):
                with self.subTest(kind=kind, first=paths[0].name):
                    self.check(program, paths, [
                        *(f'{path.name}: {served[path]}' for path in paths),
                        f'program: {program.name}'])

    def test_library_that_is_linked_to_the_real_one(self):
        """Even where the program is linked to that library."""
        for linker in toolbox.linkers():
            with self.subTest(linker=linker):
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

    def test_exported_serves_a_library_without_cuda(self):
        for linker in toolbox.linkers():
            with self.subTest(linker=linker):
                program = self.host(linker, EXPORTED, self.open)
                self.check(program, [], [f'program: {program.name}',
                                         f'linked: {program.name}'])
                self.assertEqual(run(program, env=toolbox.absent()), (
                    0, f'program: 303 by {program.name}\nlinked: 303 by {program.name}\n'))

    def test_exported_serves_it_where_only_what_is_used_is_kept(self):
        """By the program or by the library: what neither calls goes."""
        for linker in toolbox.linkers():
            with self.subTest(linker=linker):
                program = link(folder / f'collected-{linker}', 'library_user.c',
                               f'-fuse-ld={linker}', '-Wl,--gc-sections', f'-Wl,-rpath,{folder}',
                               libraries=[self.open, *EXPORTED])
                self.assertEqual(toolbox.of_cuda(toolbox.exported(program)),
                                 {'cuInit', 'cudaGetDeviceCount'})
                self.assertEqual(run(program, env=toolbox.absent()),
                                 (0, 'library: 303, 35, 0 devices\n'))

    def test_hidden_does_not_serve_it(self):
        """Some linkers refuse the program, with others it does not start: none goes wrong in silence."""
        for linker in toolbox.linkers():
            with self.subTest(linker=linker):
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

    def test_exported_and_a_library_that_is_linked_to_the_real_one(self):
        """Then that library's calls go through the program, and arrive where they would have."""
        for linker in toolbox.linkers():
            with self.subTest(linker=linker):
                program = self.host(linker, EXPORTED, self.linked)
                self.check(program, [], [f'program: {program.name}',
                                         f'linked: {program.name}'])


if __name__ == '__main__':
    unittest.main(argv=[__file__], verbosity=2)
