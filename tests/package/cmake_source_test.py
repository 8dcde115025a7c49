#!/usr/bin/env python3
"""Consumers that build cushim with CMake: with FetchContent from a git repository, and with add_subdirectory from a
copy. And the messages for what such a build cannot use."""

import re
import shutil
import unittest

import consumer
import readme
from consumer import CONSUMERS, arguments, run

consumer.need('cmake')
folder = consumer.fresh_folder(__file__)
TOOL_CHAINS = arguments.source / 'tools/cross'


def project(name):
    """A copy of a consumer, beside the sources that it shares with the others."""
    copy = folder / 'source' / name
    shutil.copytree(CONSUMERS, folder / 'source', dirs_exist_ok=True)
    return copy


def default_path(include):
    return {'C_INCLUDE_PATH': include, 'CPLUS_INCLUDE_PATH': include}


def configure(source, build, *options, **more):
    chosen = any('CUDA' in str(option) for option in options)
    headers = [] if chosen else consumer.headers_option('CUSHIM_CUDA_INCLUDE_DIR')
    # CMake wraps long messages.
    return re.sub(r'\s+', ' ', run('cmake', '-S', source, '-B', build, *headers, *options, **more))


class OptionsOfTheProject(unittest.TestCase):
    def test_options_of_cpp_do_not_reach_the_loader(self):
        source = folder / 'cpp_options'
        source.mkdir()
        (source / 'CMakeLists.txt').write_text(f'''cmake_minimum_required(VERSION 3.20)
project(consumer CXX)
add_compile_options(-std=c++20 -fno-rtti -Wold-style-cast -Werror)
add_subdirectory({arguments.source}/tools/cmake cushim)
add_executable(absent absent.cpp)
target_link_libraries(absent PRIVATE cushim::dropin)
''', encoding='utf-8')
        (source / 'absent.cpp').write_text('#include <cuda.h>\nint main() { return cuInit(0) == CUDA_SUCCESS; }\n',
                                           encoding='utf-8')
        configure(source, source / 'build')
        self.assertNotIn('warning: ', run('cmake', '--build', source / 'build', '--parallel', '2'))
        run(source / 'build/absent', CUSHIM_DISABLE='1')


@unittest.skipUnless(arguments.type == 'static', 'the other script run builds shared libraries')
@unittest.skipUnless(shutil.which('git'), 'git is not installed')
class FetchContent(consumer.ConsumerTest):
    @classmethod
    def setUpClass(cls):
        source = project('fetch_content')
        page = readme.blocks('tools/simulator/README.md')
        for name in ('doubled.cpp', 'doubled_kernels.cpp'):
            (text,) = [text for _, text in page if text.startswith(f'// {name}\n')]
            (source / name).write_text(text, encoding='utf-8')
        cls.build = folder / 'fetch'
        # Of no build type that CMake knows, so that the simulator is not optimized: that takes twice as long.
        cls.said = configure(source, cls.build, '-G', 'Unix Makefiles', '-DCMAKE_BUILD_TYPE=Fast',
                             f'-DCUSHIM_LIBRARIES={"nvrtc" if consumer.WITH_NVRTC else ""}', **cls.repository(source))
        run('cmake', '--build', cls.build, '--parallel', '2')

    @staticmethod
    def repository(source):
        """The variables with which git takes a local repository for the address in the project: one with the parts
        of a release that CMake needs."""
        copy = folder / 'repository'
        for part in ('include', 'src', 'tools'):
            shutil.copytree(arguments.source / part, copy / part, ignore=shutil.ignore_patterns('__pycache__'))
        shutil.copy(arguments.source / 'meson.build', copy)
        git = ('git', '-C', copy, '-c', 'user.name=test', '-c', 'user.email=test')
        run(*git, 'init', '--quiet')
        run(*git, 'add', '--all', '--force')
        run(*git, 'commit', '--quiet', '--message=release')
        address = re.search(r'https://\S+', (source / 'CMakeLists.txt').read_text(encoding='utf-8'))[0]
        return {'GIT_CONFIG_COUNT': '2', 'GIT_CONFIG_KEY_0': f'url.file://{copy}.insteadOf',
                'GIT_CONFIG_VALUE_0': address, 'GIT_CONFIG_KEY_1': 'safe.directory', 'GIT_CONFIG_VALUE_1': '*'}

    def test_programs_run(self):
        self.check_cpp(self.build / 'hello')
        self.check_c(self.build / 'hello_c')
        self.check_existing(self.build / 'existing_cpp', False)
        if consumer.WITH_NVRTC:
            self.check_compiled(self.build / 'compiled')
        for program in ('hello', 'hello_c'):
            self.check_linked(self.build / program, False)

    def test_project_has_the_versions(self):
        self.assertIn(f'found {arguments.version} for {arguments.cuda_version}', self.said)

    def test_plugin_exports_nothing_of_cushim(self):
        self.assertEqual(consumer.exported_names(self.build / 'plugin.so', 'cushim_'), set())

    def test_installed_programs_run(self):
        prefix = folder / 'installed-static'
        run('cmake', '--install', self.build, '--prefix', prefix)
        self.assertEqual(sorted(path.relative_to(prefix).as_posix() for path in prefix.rglob('*') if path.is_file()),
                         ['bin/hello', 'bin/hello_c'])
        self.check_cpp(prefix / 'bin/hello')
        self.check_c(prefix / 'bin/hello_c')

    def test_tests_on_the_simulated_gpu_pass(self):
        said = run('ctest', '--test-dir', self.build, '--output-on-failure', '--exclude-regex', 'leaking')
        self.assertIn('100% tests passed, 0 tests failed out of 3', said)

    def test_failing_test_on_the_simulated_gpu_is_reported(self):
        said = run('ctest', '--test-dir', self.build, '--output-on-failure', '--tests-regex', 'leaking', fails=True)
        self.assertRegex(said, r'leaking \.+\**Failed')
        self.assertRegex(said, r'leak: device memory .* 1000 bytes, made by cudaMalloc')


class Page(unittest.TestCase):
    def test_projects_have_the_lines_of_the_page(self):
        text = ''.join((CONSUMERS / name / 'CMakeLists.txt').read_text(encoding='utf-8')
                       for name in ('fetch_content', 'add_subdirectory'))
        found = [block for language, block in readme.blocks('tools/cmake/README.md') if language == 'cmake']
        self.assertEqual(len(found), 4)
        for line in ''.join(found).splitlines():
            self.assertIn(line.replace('(app ', '(hello '), text)


@unittest.skipUnless(arguments.type == 'shared', 'the other script run builds archives')
class AddSubdirectory(consumer.ConsumerTest):
    @classmethod
    def setUpClass(cls):
        source = project('add_subdirectory')
        (source / 'third_party').mkdir()
        (source / 'third_party/cushim').symlink_to(arguments.source)
        cls.source, cls.build = source, folder / 'subdirectory'
        # FetchContent builds the simulator, which takes long.
        cls.said = configure(source, cls.build, '-G', 'Ninja', '-DBUILD_SHARED_LIBS=ON', '-DCUSHIM_SIMULATOR=OFF')
        run('cmake', '--build', cls.build)

    def test_programs_run(self):
        self.check_c(self.build / 'hello_c')
        for program in ('existing_c', 'existing_exported'):
            self.check_existing(self.build / program, True)
            self.check_small(self.build / program, 'cuInit', 'cudaGetDeviceCount')
        self.check_driver_api(self.build / 'driver', True)
        self.check_small(self.build / 'driver', 'cuInit')
        self.check_linked(self.build / 'hello_c', True)

    def test_shared_library_needs_no_cpp_runtime(self):
        (library,) = self.build.rglob('libcushim-core.so')
        self.assertFalse([name for name in self.needed(library) if 'stdc++' in name])

    def test_only_used_libraries_are_built(self):
        self.assertEqual(list(self.build.rglob('libcushim.so*')), [])

    def test_cache_of_the_project_gets_no_other_entries(self):
        self.assertIn('other cache entries: <>', self.said)

    def test_installed_program_runs_with_the_installed_library(self):
        prefix = folder / 'installed-shared'
        run('cmake', '--install', self.build, '--prefix', prefix)
        self.check_c(prefix / 'bin/hello_c')
        loaded = run('env', 'LD_TRACE_LOADED_OBJECTS=1', prefix / 'bin/hello_c')
        self.assertIn(f'=> {prefix / "bin"}/../lib/libcushim-core.so.0 ', loaded)

    def test_tests_without_the_simulator_are_built_and_disabled(self):
        said = run('ctest', '--test-dir', self.build)
        for name in ('devices', 'kernels'):
            self.assertIn(f'cushim_add_gpu_test({name}): disabled', self.said)
            self.assertRegex(said, rf'{name} \.+\**Not Run \(Disabled\)')

    def test_ninja_can_build_the_simulator(self):
        """It generates the sources, and finds a way to make every other file: FetchContent builds it with make."""
        build = folder / 'simulator'
        configure(self.source, build, '-G', 'Ninja', '-DBUILD_SHARED_LIBS=ON')
        run('cmake', '--build', build, '--target', 'cushim_sim_exports')
        shutil.copy(build / 'build.ninja', build / 'plan.ninja')  # which does not ask for another cmake run
        planned = run('ninja', '-C', build, '-f', 'plan.ninja', '-n', '-v', 'existing_c')
        for name in ('libcuda.so.1', 'libcudart.so.'):
            self.assertRegex(planned, rf' -shared .* -o \S*/simulator/{re.escape(name)}')

    def test_wrong_arguments_of_the_test_function_are_rejected(self):
        for words, reason in (('KERNELS;absent', 'absent is not a target'),
                              ('COLOUR;red', 'not understood: COLOUR;red')):
            with self.subTest(words):
                said = configure(self.source, folder / 'wrong-words', f'-DMORE_WORDS={words}', fails=True)
                self.assertIn(f'cushim_add_gpu_test(devices): {reason}', said)

    def test_version_script_is_passed_to_linkers_that_need_it(self):
        for linker, wanted in (('bfd', False), ('gold', False), ('lld', True), ('mold', True)):
            if not shutil.which(f'ld.{linker}'):
                print(f'{linker}: not on this machine')
                continue
            with self.subTest(linker=linker):
                build = folder / linker
                configure(self.source, build, '-G', 'Ninja', f'-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld={linker}')
                links = re.findall(r'^build (\w+): C_EXECUTABLE_LINKER.*\n((?:  .*\n)*)',
                                   (build / 'build.ninja').read_text(encoding='utf-8'), re.MULTILINE)
                self.assertEqual([name for name, text in links if 'cushim-dropin-exported.map' in text],
                                 ['existing_exported'] if wanted else [])
                self.assertIn('existing_exported', [name for name, _ in links])

    def test_cross_compilers_build_the_programs(self):
        for name, suffix in (('aarch64-linux-gnu', ''), ('x86_64-w64-mingw32', '.exe')):
            tool_chain = TOOL_CHAINS / f'{name}.cmake'
            compiler = re.search(r'CMAKE_CXX_COMPILER (\S+)\)', tool_chain.read_text(encoding='ascii'))[1]
            if shutil.which(compiler) is None:
                print(f'SKIPPED: {compiler} is not installed')
                continue
            with self.subTest(name):
                build = folder / name
                configure(self.source, build, '-G', 'Ninja', '--toolchain', tool_chain, '-DCUSHIM_SIMULATOR=OFF',
                          CC='', CXX='')
                run('cmake', '--build', build)
                for program in ('hello_c', 'existing_c', 'driver'):
                    self.assertTrue((build / (program + suffix)).exists())


@unittest.skipUnless(arguments.type == 'shared', 'the same for each kind of library; the other script run takes longer')
class Requirements(unittest.TestCase):
    """Only configured."""

    def setUp(self):
        self.folder = folder / self.id().rsplit('.', maxsplit=1)[-1]
        self.folder.mkdir()

    def headers(self, name, version):
        """A folder with the parts of CUDA headers that CMake reads."""
        include = self.folder / name
        include.mkdir(parents=True)
        (include / 'cuda.h').write_text(f'#define CUDA_VERSION {version}\n', encoding='ascii')
        (include / 'cuda_runtime_api.h').touch()
        return include

    def unusable(self):
        include = self.folder / 'unusable'
        include.mkdir(exist_ok=True)
        (include / 'cuda.h').write_text('#error no headers here\n', encoding='ascii')
        return include

    def compiler(self, name, words):
        """The path of a g++ that has these options first."""
        path = self.folder / name
        path.write_text(f'#!/bin/sh\nexec g++ {words} "$@"\n', encoding='ascii')
        path.chmod(0o755)
        return str(path)

    def configure(self, *options, **more):
        build = self.folder / 'build'
        shutil.rmtree(build, ignore_errors=True)
        return configure(arguments.source / 'tools/cmake', build, '-DCUSHIM_SIMULATOR=OFF', *options, **more)

    def check_rejected(self, *options, **more):
        """The message of the only error."""
        said = self.configure(*options, fails=True, **more)
        self.assertEqual(said.count('CMake Error'), 1, said)
        return said

    def test_headers_are_searched_in_order(self):
        chosen, found = self.headers('chosen', 13010), self.headers('found', 13020)
        default, toolkit = self.headers('default', 13000), self.headers('toolkit/include', 12090)
        more = {'CUDA_PATH': toolkit.parent, 'CUDA_HOME': self.headers('home/include', 12080).parent}
        for options, variables, version, place in (
                ([f'-DCUSHIM_CUDA_INCLUDE_DIR={chosen}', f'-DCUDAToolkit_INCLUDE_DIRS={found}'], more, '13.1', chosen),
                ([f'-DCUDAToolkit_INCLUDE_DIRS={found};{default}'], more, '13.2', f'{found};{default}'),
                (['-DCUDA=unused'], {**more, **default_path(default)}, '13.0', "the compiler's default path"),
                (['-DCUDA=unused'], {**more, **default_path(default), 'C_INCLUDE_PATH': chosen}, '13.0', default),
                (['-DCUDA=unused'], {**more, **default_path(self.unusable())}, '12.9', toolkit)):
            with self.subTest(place):
                self.assertIn(f'headers of CUDA {version} in {place}',
                              self.configure(*options, **{name: str(value) for name, value in variables.items()}))

    def test_chosen_folder_without_headers_is_rejected(self):
        empty = self.folder / 'empty'
        empty.mkdir()
        for option in ('CUSHIM_CUDA_INCLUDE_DIR', 'CUDAToolkit_INCLUDE_DIRS'):
            for wrong, reason in ((self.unusable(), 'no headers here'), (empty, 'the file does not exist'),
                                  (empty / 'missing', 'the file does not exist')):
                with self.subTest(option, wrong=wrong):
                    said = self.check_rejected(f'-D{option}={wrong}')
                    self.assertIn(f'no usable cuda.h and cuda_runtime_api.h in {option}={wrong}', said)
                    self.assertIn(reason, said)

    def test_missing_headers_are_reported(self):
        # Comes before every folder that CMake tries.
        compiler = self.compiler('g++', f'-I{self.unusable()}')
        said = self.check_rejected('-DCUDA=unused', CXX=compiler)
        self.assertIn('the CUDA headers (cuda.h, cuda_runtime_api.h) were not found', said)
        for way in ('conda', 'pip', 'NVIDIA', 'distribution'):
            self.assertIn(f' - {way}: ', said)
        self.assertIn('cmake -DCUSHIM_CUDA_INCLUDE_DIR=FOLDER_WITH_CUDA_H', said)

    def test_unknown_library_is_rejected(self):
        said = self.check_rejected('-DCUSHIM_LIBRARIES=unknown')
        self.assertIn('CUSHIM_LIBRARIES: no library is called unknown; known: cublas, ', said)

    def test_missing_header_of_a_library_is_reported(self):
        description = (consumer.OWN_LIBRARY / 'greeter.txt').read_text(encoding='utf-8')
        path = self.folder / 'missing.txt'
        path.write_text(description.replace('greeter.h', 'missing.h'), encoding='utf-8')
        said = self.check_rejected(f'-DCUSHIM_LIBRARIES={path}', f'-DCUSHIM_LIBRARY_HEADERS={self.folder}')
        self.assertIn(f'missing.h, a header of Greeter, was not found in: {self.folder} ', said)
        self.assertIn('CUSHIM_LIBRARY_HEADERS names more folders', said)

    def test_headers_that_are_too_old_are_rejected(self):
        old = self.headers('old', 11030)
        said = self.check_rejected(f'-DCUSHIM_CUDA_INCLUDE_DIR={old}')
        self.assertIn(f'the CUDA headers in {old} are version 11.3; cushim needs 11.4 or newer.', said)

    def test_damaged_headers_stop_the_build_with_the_line(self):
        damaged = self.headers('damaged', 13000)
        self.configure(f'-DCUSHIM_CUDA_INCLUDE_DIR={damaged}')
        said = run('cmake', '--build', self.folder / 'build', fails=True)
        self.assertRegex(said, rf'(?m)^generate_tables: {damaged}/cuda.h:1: ')
        self.assertNotIn('Traceback', said)

    def test_missing_python_is_reported(self):
        old = self.folder / 'python3'
        old.write_text('#!/bin/sh\nexit 1\n', encoding='ascii')
        old.chmod(0o755)
        for wrong in (self.folder / 'missing', old):
            for option in ('cushim_PYTHON', 'Python3_EXECUTABLE'):
                with self.subTest(option, wrong=wrong):
                    said = self.check_rejected(f'-D{option}={wrong}')
                    self.assertIn('cushim needs Python 3.7 or newer', said)
                    self.assertIn(f'(now: {wrong})', said)

    def test_machine_without_python_is_reported(self):
        # What the project() of cushim includes; the compiler is found before.
        hide = self.folder / 'hide.cmake'
        hide.write_text('set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)\nset(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)\n',
                        encoding='ascii')
        said = self.check_rejected(f'-DCMAKE_PROJECT_cushim_INCLUDE={hide}')
        self.assertIn('cushim needs Python 3.7 or newer', said)
        self.assertIn('(now: none found)', said)

    def test_cmake_that_is_too_old_is_rejected(self):
        """The first error is that of a CMake older than the page says, shown by a list that wants a newer one."""
        text = (arguments.source / 'tools/cmake/CMakeLists.txt').read_text(encoding='utf-8')
        needed = re.search(r'cmake_minimum_required\(VERSION ([\d.]+)\)', text)[1]
        page = (arguments.source / 'tools/cmake/README.md').read_text(encoding='utf-8')
        self.assertIn(f'| `CMake {needed} or higher is required` |', page)
        (self.folder / 'CMakeLists.txt').write_text(text.replace(f'VERSION {needed})', 'VERSION 99.0)'), encoding='utf-8')
        said = configure(self.folder, self.folder / 'build', fails=True)
        self.assertIn('CMake 99.0 or higher is required. You are running version', said)
        self.assertEqual(said.count('CMake Error'), 1, said)

    def test_compiler_that_is_too_old_is_rejected(self):
        compiler = self.compiler('g++-7', '-U__GNUC__ -D__GNUC__=7')
        said = self.check_rejected(CXX=compiler)
        self.assertIn(f'cushim needs a compiler with C++20, such as g++ 12 or clang++ 14: {compiler} is GNU 7.', said)


if __name__ == '__main__':
    consumer.main()
