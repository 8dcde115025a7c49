#!/usr/bin/env python3
"""The CMake build of tools/cmake compiles the same sources as Meson, with the same definitions and flags."""

import collections
import json
import pathlib
import shlex
import unittest

import consumer
from consumer import arguments, run

consumer.need('cmake', 'meson')
folder = consumer.fresh_folder(__file__)
# What a build type or Meson itself adds. On 64-bit systems, file offsets always have 64 bits.
IGNORED = {'-DNDEBUG', '-O0', '-fdiagnostics-color=always', '-fpch-preprocess', '-fno-pch-timestamp',
           '-D_FILE_OFFSET_BITS=64', '-D_GLIBCXX_ASSERTIONS=1'}
FLAGS = ('-D', '-U', '-f', '-m', '-O', '-std=')


def commands(build):
    """For each source of cushim, by its path in the tree, or by its folder and name if it is generated: the different
    flags with which it is compiled."""
    found = collections.defaultdict(set)
    for entry in json.loads((build / 'compile_commands.json').read_text(encoding='utf-8')):
        path = pathlib.Path(entry['directory'], entry['file']).resolve()
        flags = {word for word in shlex.split(entry['command']) if word.startswith(FLAGS)} - IGNORED
        if path.suffix in ('.c', '.cpp') and path.is_relative_to(build):
            found[f'{path.parent.name}/{path.name}'].add(tuple(sorted(flags)))
        elif path.suffix in ('.c', '.cpp'):
            found[path.relative_to(arguments.source).as_posix()].add(tuple(sorted(flags)))
    return {name: sorted(flags) for name, flags in found.items()}


def definitions(commands_of_build):
    return {name: sorted([word for word in words if word.startswith(('-D', '-U'))] for words in flags)
            for name, flags in commands_of_build.items()}


class Flags(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        build = folder / 'build'
        run('cmake', '-S', arguments.source / 'tools/cmake', '-B', build, '-G', 'Ninja',
            *consumer.headers_option('CUSHIM_CUDA_INCLUDE_DIR'), f'-DCUSHIM_LIBRARIES={";".join(consumer.LIBRARIES)}',
            f'-DCUSHIM_LIBRARY_HEADERS={";".join(map(str, consumer.LIBRARY_HEADERS))}', '-DCMAKE_EXPORT_COMPILE_COMMANDS=ON',
            f'-DCUSHIM_SHARED={"ON" if arguments.type == "shared" else "OFF"}')
        cls.cmake = commands(build)

    def of_cmake(self, simulator):
        """The part of the libraries, or of the simulator."""
        return {name: flags for name, flags in self.cmake.items()
                if name.startswith(('tools/', 'exports/')) == simulator}

    def test_libraries_are_compiled_alike(self):
        with consumer.lock(arguments.work / f'cushim-{arguments.type}.lock'):
            meson = commands(consumer.build())
        meson = {name: flags for name, flags in meson.items() if not name.startswith('tools/')}
        self.assertGreater(len(meson), 50)
        cmake = self.of_cmake(False)
        self.assertEqual(sorted(cmake), sorted(meson))
        for name, flags in meson.items():
            self.assertEqual(cmake[name], flags, name)

    @unittest.skipUnless(arguments.type == 'shared', 'archives export nothing')
    def test_shared_libraries_export_alike(self):
        """By version scripts; install_test.py reads the libraries of Meson's build."""
        text = (folder / 'build/build.ninja').read_text(encoding='utf-8')
        for script in ('src/api/exported.map', 'cushim-core.map'):
            self.assertRegex(text, rf'-Wl,--version-script=\S*/{script}')

    @unittest.skipUnless(arguments.simulator, 'the build that runs this test has no simulator')
    def test_simulator_is_compiled_alike(self):
        """The flags of the build that runs this test are those that its user has chosen."""
        meson, cmake = definitions(commands(arguments.outer_build)), definitions(self.of_cmake(True))
        self.assertGreater(len(cmake), 150)
        sources = ('tools/simulator/driver/', 'tools/simulator/runtime/', 'tools/simulator/variants/')
        self.assertEqual(sorted(name for name in cmake if name.startswith(sources)),
                         sorted(name for name in meson if name.startswith(sources)))
        for name, wanted in cmake.items():
            for words in wanted:
                self.assertIn(words, meson[name], name)


if __name__ == '__main__':
    consumer.main()
