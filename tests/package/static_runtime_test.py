#!/usr/bin/env python3
"""Consumers that link NVIDIA's static libcudart and cushim-dropin-driver: by nvcc, by a C compiler, by CMake, by
Meson."""

import os
import pathlib
import shlex
import shutil
import sys
import unittest

import consumer
from consumer import CONSUMERS, arguments, run

consumer.need('pkg-config', 'meson')
if not arguments.nvcc:
    print(f'SKIPPED: {arguments.no_nvcc}')
    sys.exit(77)
TOOLKIT = pathlib.Path(arguments.nvcc[0]).parent.parent
LIBRARIES = next((TOOLKIT / name for name in ('lib64', 'lib') if (TOOLKIT / name / 'libcudart_static.a').exists()), None)
if LIBRARIES is None:
    print('SKIPPED: nvcc has no libcudart_static.a')
    sys.exit(77)
install = consumer.Install(__file__)
SHARED = arguments.type == 'shared'
SOURCE = CONSUMERS / 'static_runtime'
NVCC = {'PATH': f'{TOOLKIT / "bin"}:{os.environ["PATH"]}', 'CUDACXX': arguments.nvcc[0]}


def flags():
    return shlex.split(run('pkg-config', f'--define-variable=prefix={install.prefix}', '--cflags', '--libs',
                           'cushim-dropin-driver', PKG_CONFIG_PATH=str(install.libdir / 'pkgconfig')))


class StaticRuntime(consumer.ConsumerTest):
    def check(self, program):
        self.check_driver_api(program, SHARED, LD_LIBRARY_PATH=str(install.libdir))
        names = [name for name, *_ in consumer.binaries.read(program).symbols()]
        self.assertTrue([name for name in names if name.startswith('libcudart_static')])

    def test_nvcc(self):
        program = install.folder / 'by-nvcc'
        run(*arguments.nvcc, CONSUMERS / 'existing.cu', '-o', program, *flags())
        self.check(program)

    def test_c_compiler(self):
        program = install.folder / 'by-cc'
        run(*arguments.cc, '-std=c99', CONSUMERS / 'existing.c', '-o', program, *consumer.cuda_includes(),
            *flags(), f'-L{LIBRARIES}', '-lcudart_static', '-lrt', '-ldl', '-lpthread')
        self.check(program)

    @unittest.skipUnless(shutil.which('cmake'), 'cmake is not installed')
    def test_cmake(self):
        build = install.folder / 'cmake'
        run('cmake', '-S', SOURCE, '-B', build, '-G', 'Ninja', f'-DCUDAToolkit_ROOT={TOOLKIT}',
            *consumer.cmake_place(install.prefix, install.libdir), **NVCC)
        run('cmake', '--build', build)
        for program in ('existing_c', 'existing_cu'):
            with self.subTest(program):
                self.check(build / program)

    def test_meson(self):
        build = install.folder / 'meson'
        run('meson', 'setup', build, SOURCE, f'-Dtoolkit_libraries={LIBRARIES}', **NVCC,
            PKG_CONFIG_PATH=str(install.libdir / 'pkgconfig'), PKG_CONFIG_SYSROOT_DIR=str(install.folder / 'stage'))
        run('meson', 'compile', '-C', build)
        for program in ('existing_c', 'existing_cu'):
            with self.subTest(program):
                self.check(build / program)


if __name__ == '__main__':
    consumer.main()
