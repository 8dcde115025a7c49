#!/usr/bin/env python3
"""Programs with copies of cushim.h and cushim.c, which tools/dev amalgamate writes."""

import functools
import re
import shutil
import unittest

import consumer
import readme
from consumer import CONSUMERS, arguments, run

folder = consumer.fresh_folder(__file__)
MAJOR = arguments.cuda_version // 1000
STRICT = ('-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Wconversion', '-Wundef', '-Werror')
# Of the copied files alone.
STRICTER = (*STRICT, '-Wcast-qual', '-Wmissing-declarations', '-Wmissing-prototypes', '-Wredundant-decls')
FLAGS = ('-O1', '-ffunction-sections', '-fdata-sections')
LINK = ('-ldl', '-pthread', '-Wl,--gc-sections')
MINGW = {name: shutil.which(f'x86_64-w64-mingw32-{name}-posix') for name in ('gcc', 'g++')}


def amalgamate(*options, **more):
    return run('bash', arguments.source / 'tools/dev', 'amalgamate', *options, **more)


def headers_of(version):
    """A folder with the real headers under another version number."""
    place = folder / f'cuda-{version}'
    place.mkdir(exist_ok=True)
    for name, macro in (('cuda.h', 'CUDA_VERSION'), ('cuda_runtime_api.h', 'CUDART_VERSION')):
        (place / name).write_text(f'#pragma GCC system_header\n#include_next <{name}>\n'
                                  f'#undef {macro}\n#define {macro} {version}\n', encoding='ascii')
    return place


@functools.cache
def bare_headers():
    """The CUDA headers in folder/include, for compilers that do not search the default path of others."""
    run('bash', arguments.source / 'tools/ci/bare_headers.sh', folder / 'include',
        *([arguments.headers] if arguments.headers else []), CXX='')


class Amalgamation(consumer.ConsumerTest):
    @classmethod
    def setUpClass(cls):
        headers = ['--headers', arguments.headers] if arguments.headers else []
        cls.said = amalgamate(*headers, '--output', folder)
        cls.compile_loader('cushim.o')
        cls.compile_loader('dropin.o', '-DCUSHIM_DROPIN')

    @staticmethod
    def compile_loader(name, *options, **more):
        return run(*arguments.cc, '-std=c11', *STRICTER, *FLAGS, *options, *consumer.cuda_includes(),
                   '-c', folder / 'cushim.c', '-o', folder / name, **more)

    def program(self, name, source, loader, *options):
        compiler = arguments.cc if source.suffix == '.c' else arguments.cxx
        run(*compiler, *STRICT, *options, f'-I{folder}', *consumer.cuda_includes(), source, folder / loader,
            '-o', folder / name, *LINK)
        return folder / name

    def test_both_files_are_named(self):
        self.assertEqual([line for line in self.said.splitlines() if line.startswith('/')],
                         [str(folder / 'cushim.h'), str(folder / 'cushim.c')])

    def test_c_program_runs_without_a_cpp_runtime(self):
        self.check_c(self.program('app_c', CONSUMERS / 'amalgamation/app.c', 'cushim.o', '-std=c11'))

    def test_loader_compiled_as_cpp_is_rejected_with_a_reason(self):
        said = run(*arguments.cxx, '-x', 'c++', '-std=c++20', '-fsyntax-only', *consumer.cuda_includes(),
                   folder / 'cushim.c', fails=True)
        self.assertIn('cushim.c is C: compile it with a C compiler', said)

    def test_cpp_program_runs(self):
        program = self.program('app_cpp', CONSUMERS / 'amalgamation/app.cpp', 'cushim.o', '-std=c++20')
        self.check_existing(program, False)

    def test_existing_code_runs(self):
        for name in ('existing.c', 'existing.cpp'):
            with self.subTest(name):
                language = '-std=c11' if name.endswith('.c') else '-std=c++11'
                program = self.program(f'{name}-program', CONSUMERS / name, 'dropin.o', language)
                self.check_existing(program, False)

    def test_commands_of_the_page_work(self):
        (block,) = [text for language, text in readme.blocks('tools/cmake/README.md') if language == 'sh']
        amalgamated, *commands = (line for line in block.splitlines() if not line.startswith('cd '))
        self.assertTrue(amalgamated.startswith('tools/dev amalgamate --headers '))
        words = {'c++': arguments.cxx, 'cc': arguments.cc}
        (folder / 'app.c').write_bytes((CONSUMERS / 'amalgamation/app.c').read_bytes())
        for command in commands:
            compiler, *options = command.split()
            run('sh', '-c', 'cd "$1" && shift && exec "$@"', 'sh', folder, *words[compiler],
                *consumer.cuda_includes(), *options)
        self.check_c(folder / 'app')

    @unittest.skipUnless(all(MINGW.values()), 'mingw-w64 is not installed')
    def test_mingw_builds_programs(self):
        bare_headers()
        for loader, option, sources in (('mingw.o', [], ('amalgamation/app.c', 'amalgamation/app.cpp')),
                                        ('mingw_dropin.o', ['-DCUSHIM_DROPIN'], ('existing.c',))):
            self.mingw('gcc', *FLAGS, *option, '-c', folder / 'cushim.c', '-o', folder / loader)
            for source in sources:
                with self.subTest(source):
                    self.mingw('gcc' if source.endswith('.c') else 'g++', CONSUMERS / source, folder / loader,
                               '-o', folder / 'app.exe')

    @staticmethod
    def mingw(name, *words):
        standard = '-std=c11' if name == 'gcc' else '-std=c++20'
        run(MINGW[name], standard, *STRICT, '-isystem', folder / 'include', f'-I{folder}', *words)

    @unittest.skipUnless(shutil.which('musl-gcc'), 'musl-gcc is not installed')
    def test_musl_builds_programs(self):
        bare_headers()
        driver = folder / 'libcuda_of_musl.so'
        (folder / 'driver.c').write_text(
            f'int cuInit(unsigned int flags) {{ return flags == 0 ? 100 : 1; }}\n'
            f'int cuDriverGetVersion(int *version) {{ *version = {arguments.cuda_version}; return 0; }}\n',
            encoding='ascii')
        run('musl-gcc', '-shared', '-fPIC', folder / 'driver.c', '-o', driver)
        for link in ('-dynamic', '-static'):
            with self.subTest(link):
                program = folder / f'musl{link}'
                run('musl-gcc', '-std=c11', *STRICT, '-DCUSHIM_DROPIN', link, '-isystem', folder / 'include',
                    CONSUMERS / 'existing.c', folder / 'cushim.c', '-o', program)
                self.assertEqual(run(program, CUSHIM_DISABLE='1'), 'cuInit 303, cudaGetDeviceCount 35, 0 devices\n')
                # musl loads no library into a static program.
                self.assertIn('cuInit 303,' if link == '-static' else 'cuInit 100,', run(program, CUSHIM_DRIVER=driver))

    @unittest.skipUnless(shutil.which('clang'), 'clang is not installed')
    def test_memory_sanitizer_reports_nothing(self):
        program = folder / 'memory'
        words = ['clang', '-O1', '-g', '-fsanitize=memory', *consumer.cuda_includes()]
        probe = folder / 'probe.c'
        probe.write_text('int main(void) { return 0; }\n', encoding='ascii')
        try:
            run(*words, probe, '-o', program)
        except AssertionError:
            self.skipTest('this clang has no MemorySanitizer')
        run(*words, '-DCUSHIM_DROPIN', CONSUMERS / 'existing.c', folder / 'cushim.c', '-o', program, *LINK)
        self.check_existing(program, False)

    def test_library_that_contains_it_exports_nothing(self):
        self.compile_loader('pic.o', '-fPIC', '-DCUSHIM_DROPIN')
        run(*arguments.cc, '-shared', folder / 'pic.o', '-o', folder / 'library.so', '-ldl')
        self.assertEqual(consumer.exported_names(folder / 'library.so', '.'), set())

    def test_files_contain_no_path_of_this_machine(self):
        for name in ('cushim.h', 'cushim.c'):
            text = (folder / name).read_text(encoding='utf-8')
            for place in (arguments.source, arguments.work, folder):
                self.assertEqual(text.count(str(place)), 0, name)
            # The one message that is an #include has spaces.
            self.assertEqual(re.findall(r'#include [<"](\S*cushim\S*)[>"]', text),
                             ['cushim.h'] if name == 'cushim.c' else [])

    def test_definitions_of_the_project_do_not_matter(self):
        self.compile_loader('per_thread.o', '-DCUSHIM_DROPIN', '-DCUDA_API_PER_THREAD_DEFAULT_STREAM')

    def test_headers_before_it_are_reported(self):
        said = self.compile_loader('included.o', '-include', 'stdio.h', fails=True)
        self.assertIn('system headers were included before this file', said)
        self.compile_loader('included.o', '-include', 'stdio.h', '-D_GNU_SOURCE')

    def test_headers_of_another_version_are_rejected(self):
        for major in (MAJOR - 1, MAJOR + 1):
            with self.subTest(major):
                said = self.compile_loader('other.o', '-isystem', headers_of(major * 1000), fails=True)
                self.assertIn('this program is compiled with headers of another major version', said)

    def test_newer_headers_of_the_same_major_version_are_accepted(self):
        self.compile_loader('newer.o', '-isystem', headers_of(arguments.cuda_version + 10))

    def test_files_of_different_headers_are_rejected(self):
        mixed = folder / 'mixed'
        mixed.mkdir()
        text = (folder / 'cushim.h').read_text(encoding='utf-8')
        text = text.replace(f'_CUDA_VERSION {arguments.cuda_version}', '_CUDA_VERSION 11080', 1)
        (mixed / 'cushim.h').write_text(text, encoding='utf-8')
        (mixed / 'cushim.c').write_bytes((folder / 'cushim.c').read_bytes())
        said = run(*arguments.cc, '-std=c11', '-fsyntax-only', *consumer.cuda_includes(), mixed / 'cushim.c', fails=True)
        self.assertIn('cushim.h and cushim.c were written for different CUDA headers: copy both again', said)

    def test_older_language_is_rejected_with_a_reason(self):
        said = run(*arguments.cxx, '-std=c++17', '-fsyntax-only', f'-I{folder}', *consumer.cuda_includes(),
                   CONSUMERS / 'amalgamation/app.cpp', fails=True)
        self.assertIn('cushim needs C++20', said)

    def test_folder_without_headers_is_rejected(self):
        empty = folder / 'empty'
        empty.mkdir()
        said = amalgamate('--headers', empty, '--output', empty, fails=True)
        self.assertIn(f'no cuda.h and cuda_runtime_api.h in {empty}', said)
        self.assertEqual(list(empty.iterdir()), [])
        self.assertIn("amalgamate has no option '--colour'", amalgamate('--colour', fails=True))


if __name__ == '__main__':
    consumer.main()
