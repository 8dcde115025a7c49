#!/usr/bin/env python3
"""A user's source and the wrappers' own sources compile with flags that projects choose for all of their sources: the
former without a warning. Only the front end of the compiler runs."""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import compiler as compiler_module
import options

BUILD = 'the compiler of this build'
FLAG_SETS = (
    (BUILD, 'c++20', '-fsanitize=undefined'),
    (BUILD, 'c++20', '-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer'),
    (BUILD, 'c++20', '-fsanitize=thread'),
    (BUILD, 'c++20', '-fno-exceptions'),
    (BUILD, 'c++20', '-fno-exceptions -fno-rtti -fno-threadsafe-statics'),
    (BUILD, 'c++20', '-fno-exceptions -fno-rtti -fsanitize=undefined'),
    (BUILD, 'c++20', '-D_GLIBCXX_DEBUG -D_GLIBCXX_DEBUG_PEDANTIC'),
    (BUILD, 'c++20', '-D_GLIBCXX_USE_CXX11_ABI=0'),
    (BUILD, 'c++20', '-O3 -DNDEBUG -flto -D_FORTIFY_SOURCE=2'),
    (BUILD, 'gnu++20', '-fvisibility=default -fno-inline'),
    (BUILD, 'gnu++20', '-fshort-enums -funsigned-char'),
    (BUILD, 'c++2b', '-Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wcast-qual'),
    (BUILD, 'c++20', '-Wnon-virtual-dtor -Woverloaded-virtual -Wundef -Wredundant-decls'),
    (BUILD, 'c++20', '-O2 -ffast-math -fno-strict-aliasing -fwrapv -fno-plt -fstack-protector-strong'),
    ('clang++', 'c++20', '-fsanitize=address,undefined,integer'),
    ('clang++', 'c++20', '-fsanitize=memory -fsanitize-memory-track-origins'),
    ('clang++', 'c++20', '-fno-exceptions -fno-rtti'),
    ('clang++', 'c++2b', '-Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor'),
    ('clang++', 'gnu++20', '-fms-extensions -funsigned-char'),
    ('clang++', 'c++20', '-O2 -flto=thin -fvisibility=hidden -fstack-protector-all -ftrapv'),
)

USER = '''#include <cushim/cushim.hpp>

#include <vector>

cushim::Result<int> use() {
    CUSHIM_TRY(const auto device, cushim::Device::get(0));
    CUSHIM_TRY(const auto context, cushim::Context::primary(device));
    CUSHIM_TRY(const auto stream, cushim::Stream::create(context));
    CUSHIM_TRY(auto buffer, cushim::DeviceBuffer<int>::allocate(context, 1000));
    CUSHIM_TRY_VOID(cushim::fill(stream, buffer, 42));
    int calls = 0;
    CUSHIM_TRY_VOID(stream.launch_host_function([&calls] { ++calls; }));
    CUSHIM_TRY_VOID(stream.synchronize());
    CUSHIM_TRY(const std::vector<int> values, buffer.to_vector());
    return values[0] + calls + cushim::driver().cuInit(0);
}

int main() {
    const auto result = use();
    return result ? *result : result.error().message()[0];
}
'''

given = options.of_command_line()
CXX, SOURCE = given.command('cxx'), given.path('source')
NVCC = given.command('nvcc') if given.text('nvcc') else None
compiler = compiler_module.Compiler(CXX, given.command('c'), given.all('include'), given.all('system-include'))


def library():
    """Some of the wrappers' sources in one. If their local names clash, leave one out."""
    sources = sorted((SOURCE / 'src/api/base').rglob('*.cpp'))
    sources += [SOURCE / 'src/api' / name for name in ('graph/exec.cpp', 'kernel/launch.cpp', 'memory/copy.cpp')]
    return ''.join(f'#include "{path}"\n' for path in sources if path.name != 'windows.cpp')


class Flags(unittest.TestCase):
    def check(self, command, code, name):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, name)
            source.write_text(code, encoding='utf-8')
            result = subprocess.run([*command, source], capture_output=True, text=True, check=False,
                                    cwd=folder, env={**os.environ, 'LC_ALL': 'C'})
        return result.returncode, result.stderr[:4000]

    def check_each(self, code, options_of_code):
        def compile_with(flag_set):
            compiler_name, language, flags = flag_set
            command = CXX if compiler_name == BUILD else [compiler_name]
            return self.check([*command, f'-std={language}', '-fsyntax-only', *compiler.includes, *flags.split(),
                               *options_of_code], code, 'source.cpp')
        sets = [each for each in FLAG_SETS if each[0] == BUILD or shutil.which(each[0])]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for flag_set, (status, messages) in zip(sets, pool.map(compile_with, sets)):
                with self.subTest(flag_set):
                    self.assertEqual(status, 0, messages)

    def test_users_source_compiles_without_a_warning(self):
        self.check_each(USER, ['-Wall', '-Wextra', '-Wpedantic', '-Werror'])

    def test_own_sources_compile(self):
        # As in src/api/meson.build.
        self.check_each(library(), ['-DCUSHIM_BUILDING', *given.all('library-flags')[0].split(),
                                    f'-I{SOURCE}/src/api'])

    @unittest.skipUnless(NVCC, 'nvcc is not installed')
    def test_nvcc_has_no_warning(self):
        status, messages = self.check([*NVCC, '-std=c++20', '-Werror', 'all-warnings', '-c', '-o', 'source.o',
                                       *compiler.includes], USER, 'source.cu')
        self.assertEqual(status, 0, messages)


if __name__ == '__main__':
    unittest.main(verbosity=2)
