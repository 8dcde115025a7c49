#!/usr/bin/env python3
"""The drop-in of a library brings those that NVIDIA's library brings, as far as they are built: a program links that of
cuSOLVER alone, and calls cuBLAS, too."""

import shlex
import shutil

import consumer
from consumer import CONSUMERS, arguments, run

consumer.need('meson')
install = consumer.Install(__file__)
SOURCE = CONSUMERS / 'linked_libraries'
SHARED = arguments.type != 'static'


class LinkedLibraries(consumer.ConsumerTest):
    def check(self, program):
        absent = run(program, CUSHIM_CUSOLVER='/nonexistent', CUSHIM_CUBLAS='/nonexistent',
                     LD_LIBRARY_PATH=str(install.libdir))
        self.assertEqual(absent, 'cusolverDnCreate 1, cublasCreate 1\n')
        self.check_linked(program, SHARED)

    def cmake(self, name, *options):
        consumer.need('cmake')
        build = install.folder / name
        run('cmake', '-S', SOURCE, '-B', build, '-G', 'Ninja', *options,
            *consumer.headers_option('CUSHIM_CUDA_INCLUDE_DIR'))
        run('cmake', '--build', build, '--target', 'solve')
        self.check(build / 'solve')

    def test_installed_cmake_target(self):
        self.cmake('installed', *consumer.cmake_place(install.prefix, install.libdir))

    def test_cmake_target_of_the_sources(self):
        # The order does not matter.
        self.cmake('sources', f'-DCUSHIM_SOURCE={arguments.source}', '-DCUSHIM_LIBRARIES=cusolver;cublas',
                   f'-DCUSHIM_LIBRARY_HEADERS={SOURCE}/headers', f'-DCUSHIM_SHARED={"ON" if SHARED else "OFF"}')

    def test_meson_dependency(self):
        project, build = install.folder / 'meson', install.folder / 'meson-build'
        shutil.copytree(SOURCE, project)
        (project / 'subprojects').mkdir()
        (project / 'subprojects/cushim').symlink_to(arguments.source)
        run('meson', 'setup', build, project, '--buildtype=plain', f'-Ddefault_library={arguments.type}',
            '-Dcushim:libraries=cusolver,cublas', f'-Dcushim:library_headers={SOURCE}/headers',
            *consumer.headers_option('cushim:headers_dir'))
        run('meson', 'compile', '-C', build, 'solve')
        self.check(build / 'solve')

    def test_package(self):
        consumer.need('pkg-config')
        flags = shlex.split(run('pkg-config', f'--define-variable=prefix={install.prefix}', '--cflags', '--libs',
                                'cushim-cusolver-dropin', PKG_CONFIG_PATH=str(install.libdir / 'pkgconfig')))
        program = install.folder / 'solve'
        run(*arguments.cc, '-std=c99', SOURCE / 'solve.c', '-o', program, f'-I{SOURCE}/headers',
            *consumer.cuda_includes(), *flags)
        self.check(program)


if __name__ == '__main__':
    consumer.main()
