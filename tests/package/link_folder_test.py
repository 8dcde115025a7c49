#!/usr/bin/env python3
"""Builds that are not changed: they write -lcuda and -lcudart, and link the drop-ins by the folder of linker scripts."""

import os
import shutil

import consumer
from consumer import CONSUMERS, arguments, run

consumer.need('meson')
SHARED = arguments.type != 'static'
install = consumer.Install(__file__)
# The scripts name files by relative paths.
prefix = install.prefix.rename(install.folder / 'moved')
libdir = prefix / install.libdir.relative_to(install.prefix)
LINK = libdir / 'cushim/link'
BOTH = ('-lcuda', '-lcudart')


GO = '''package main

// %s
// #include <cuda.h>
// #include <cuda_runtime_api.h>
import "C"

import "fmt"

func main() {
	count := C.int(77)
	started := C.cuInit(0)
	counted := C.cudaGetDeviceCount(&count)
	fmt.Printf("cuInit %%d, cudaGetDeviceCount %%d, %%d devices\\n", started, counted, count)
}
'''


def program(name, source, *options, compiler=arguments.cc, **more):
    path = install.folder / name
    run(*compiler, *(['-std=c99'] if compiler == arguments.cc else []), CONSUMERS / source, '-o', path,
        *consumer.cuda_includes(), *options, **more)
    return path


def project(name, **files):
    folder = install.folder / name
    folder.mkdir()
    shutil.copy(CONSUMERS / 'existing.c', folder)
    for file, text in files.items():
        (folder / file.replace('_', '.')).write_text(text, encoding='utf-8')
    return folder


class LinkFolder(consumer.ConsumerTest):
    search = {'LD_LIBRARY_PATH': str(libdir)}

    def check_both(self, path):
        self.check_existing(path, SHARED, **self.search)

    def test_every_linker(self):
        for linker in ('bfd', 'gold', 'lld', 'mold'):
            if shutil.which(f'ld.{linker}') is not None:
                with self.subTest(linker):
                    self.check_both(program(linker, 'existing.c', f'-fuse-ld={linker}', f'-L{LINK}', *BOTH))

    def test_environment_variable(self):
        self.check_both(program('variable', 'existing.c', *BOTH, LIBRARY_PATH=str(LINK)))

    def test_name_of_the_static_runtime(self):
        self.check_both(program('static_runtime', 'existing.c', f'-L{LINK}', '-lcuda', '-lcudart_static'))

    def test_driver_api(self):
        self.check_driver_api(program('driver', 'driver.c', f'-L{LINK}', '-lcuda'), SHARED, **self.search)

    def test_static_program(self):
        if arguments.type == 'shared':
            self.skipTest('cushim-core is not installed as an archive')
        path = program('whole', 'existing.c', '-static', f'-L{LINK}', *BOTH)
        self.assertEqual(run(path, CUSHIM_DISABLE='1'), 'cuInit 303, cudaGetDeviceCount 35, 0 devices\n')

    def test_further_library(self):
        source = install.folder / 'greets.c'
        # As AC_CHECK_LIB declares it.
        source.write_text('char greeter_wave(); int main(void) { return greeter_wave() == 0; }\n', encoding='ascii')
        path = install.folder / 'greets'
        run(*arguments.cc, '-std=c99', '-fno-builtin', source, '-o', path, f'-L{LINK}', '-lgreeter')
        self.check_linked(path, SHARED)
        self.assertFalse([name for name in self.needed(path) if 'greeter' in name])

    def test_make(self):
        folder = project('make')
        run('make', '-C', folder, 'existing', f'LDFLAGS=-L{LINK}', f'LDLIBS={" ".join(BOTH)}',
            f'CFLAGS={" ".join(consumer.cuda_includes())}')
        self.check_both(folder / 'existing')

    def test_cmake(self):
        if shutil.which('cmake') is None:
            self.skipTest('cmake is not installed')
        folder = project('cmake', CMakeLists_txt='cmake_minimum_required(VERSION 3.16)\nproject(existing C)\n'
                         'find_library(DRIVER cuda REQUIRED)\nfind_library(RUNTIME cudart REQUIRED)\n'
                         'add_executable(existing existing.c)\n'
                         'target_link_libraries(existing PRIVATE ${DRIVER} ${RUNTIME})\n')
        includes = [f'-DCMAKE_C_FLAGS=-isystem {arguments.headers}'] if arguments.headers else []
        run('cmake', '-S', folder, '-B', folder / 'build', f'-DCMAKE_LIBRARY_PATH={LINK}', *includes)
        run('cmake', '--build', folder / 'build')
        self.check_both(folder / 'build/existing')

    def test_meson(self):
        folder = project('meson', meson_build="project('existing', 'c')\ncc = meson.get_compiler('c')\n"
                         "executable('existing', 'existing.c', dependencies: [cc.find_library('cuda'), "
                         "cc.find_library('cudart')])\n")
        run('meson', 'setup', folder / 'build', folder, LDFLAGS=f'-L{LINK}',
            CFLAGS=' '.join(consumer.cuda_includes()))
        run('meson', 'compile', '-C', folder / 'build')
        self.check_both(folder / 'build/existing')

    def test_cgo(self):
        """cgo as the page says, with the libraries of the sources or of the environment; and by pkg-config."""
        if shutil.which('go') is None:
            self.skipTest('go is not installed')
        shared = {'CGO_CFLAGS': ' '.join(consumer.cuda_includes()), 'GOCACHE': str(install.folder / 'go-cache'),
                  'PKG_CONFIG_PATH': str(libdir / 'pkgconfig')}
        pkg_config = install.folder / 'pkg-config'
        pkg_config.write_text(f'#!/bin/sh\nexec pkg-config --define-variable=prefix={prefix} "$@"\n', encoding='utf-8')
        pkg_config.chmod(0o755)
        for name, line, more in (
                ('sources', '#cgo LDFLAGS: -lcuda -lcudart', {'CGO_LDFLAGS': f'-L{LINK}'}),
                ('other_folder', '#cgo LDFLAGS: -L/usr/local/cuda/lib64 -lcuda -lcudart', {'CGO_LDFLAGS': f'-L{LINK}'}),
                ('environment', '', {'CGO_LDFLAGS': f'-L{LINK} {" ".join(BOTH)} -Wl,--gc-sections'}),
                ('package', '#cgo pkg-config: cushim-dropin', {'PKG_CONFIG': str(pkg_config)})):
            if name == 'package' and shutil.which('pkg-config') is None:
                continue
            with self.subTest(name):
                folder = project(f'go-{name}', go_mod='module existing\n\ngo 1.16\n', main_go=GO % line)
                (folder / 'existing.c').unlink()  # cgo would compile it
                run('sh', '-ec', 'cd "$1" && go build', 'sh', folder, **shared, **more)
                self.check_both(folder / 'existing')

    def test_nvcc(self):
        if not arguments.nvcc:
            self.skipTest(arguments.no_nvcc)
        self.check_both(program('nvcc', 'existing.cu', f'-L{LINK}', '-cudart', 'none', *BOTH,
                                compiler=arguments.nvcc))

    def test_folder_is_found(self):
        if shutil.which('pkg-config') is not None:
            printed = run('pkg-config', '--variable=link_dir', f'--define-variable=prefix={prefix}', 'cushim-dropin',
                          PKG_CONFIG_PATH=str(libdir / 'pkgconfig'))
            self.assertTrue(os.path.samefile(printed.strip(), LINK), printed)
        tool = prefix / 'bin/cushim-info'
        if tool.exists():
            self.assertTrue(os.path.samefile(run(tool, '--link-dir').strip(), LINK))


if __name__ == '__main__':
    consumer.main()
