#!/usr/bin/env python3
"""cushim installed in a folder that no linker searches, with the library folders of several systems. Tools and
consumers' programs start without further settings."""

import os
import unittest

import consumer
from consumer import CONSUMERS, arguments, run

consumer.need('cmake', 'meson')
LIBDIRS = ('lib', 'lib64', 'lib/x86_64-linux-gnu')
ABSENT = '/nonexistent/libcuda.so.1'


class Anywhere(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        assert 'LD_LIBRARY_PATH' not in consumer.environment()
        cls.installs = {libdir: consumer.Install(__file__, libdir) for libdir in LIBDIRS}

    def test_every_tool_starts(self):
        for libdir, install in self.installs.items():
            with self.subTest(libdir):
                tools = list((install.prefix / 'bin').iterdir())
                self.assertTrue(tools)
                for tool in tools:
                    self.assertIn(tool.name, run(tool, '--help'))

    def test_moved_tools_start(self):
        for libdir, install in self.installs.items():
            with self.subTest(libdir):
                away = install.folder / 'away'
                os.rename(install.prefix, away)
                try:
                    self.assertIn('cushim-info', run(away / 'bin/cushim-info', '--help'))
                finally:
                    os.rename(away, install.prefix)

    def test_program_of_find_package_starts(self):
        for libdir, install in self.installs.items():
            with self.subTest(libdir):
                build = install.folder / 'build'
                # The default of some compilers: of two libraries the program needs only the one it calls.
                run('cmake', '-S', CONSUMERS / 'cmake', '-B', build, '-G', 'Ninja', *consumer.headers_option('CUSHIM_CUDA_INCLUDE_DIR'),
                    *consumer.cmake_place(install.prefix, install.libdir),
                    '-DCMAKE_EXE_LINKER_FLAGS=-Wl,--as-needed')
                run('cmake', '--build', build)
                needed = consumer.binaries.read(build / 'wrappers').needed()
                self.assertEqual([name for name in needed if 'cushim' in name], ['libcushim.so.0'])
                self.assertIn(f'no CUDA driver: {ABSENT}',
                              run(build / 'wrappers', CUSHIM_DRIVER=ABSENT))


if __name__ == '__main__':
    consumer.main()
