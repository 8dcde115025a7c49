#!/usr/bin/env python3
"""Without CUDA headers, each public header that needs them causes exactly one error, which says what to do."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import compiler as compiler_module

MAX_LINES = 15
# Correct if there are CUDA headers.
CODE = '#include <cuda.h>\nCUdeviceptr address = cushim::Stream::legacy().native() != nullptr;\n'

arguments = compiler_module.Arguments()
headers = sorted(os.path.basename(path) for path in arguments.files)
temporary = tempfile.TemporaryDirectory()
work = pathlib.Path(temporary.name)


def compilers():
    """The compiler of the build, and other compilers on this machine."""
    build = arguments.cxx
    others = [[name] for name in ('g++', 'clang++') if shutil.which(name)]
    return [build] + [other for other in others if version(other) != version(build)]


def version(command):
    return subprocess.run([*command, '--version'], capture_output=True, check=True).stdout


def environment():
    paths = ('CPATH', 'C_INCLUDE_PATH', 'CPLUS_INCLUDE_PATH')
    return {**{name: value for name, value in os.environ.items() if name not in paths}, 'LC_ALL': 'C'}


def standard_folders(command):
    """The compiler's own include folders; a folder with CUDA headers is replaced by a copy without them."""
    done = subprocess.run([*command, '-E', '-v', '-x', 'c++', os.devnull], capture_output=True,
                          text=True, check=True, env=environment())
    listed = re.search(r'#include <\.\.\.> search starts here:\n(.*)End of search list', done.stderr, re.S)
    folders = [pathlib.Path(line.strip()) for line in listed[1].splitlines()]
    return [without_cuda(folder) if (folder / 'cuda.h').exists() else folder for folder in folders]


def without_cuda(folder):
    copy = work / 'standard' / str(folder).strip('/').replace('/', '-')
    if not copy.exists():
        copy.mkdir(parents=True)
        for entry in folder.iterdir():
            if entry.name not in ('cuda.h', 'cuda_runtime_api.h', 'crt'):
                (copy / entry.name).symlink_to(entry)
    return copy


class Without:
    """A compiler on a machine without CUDA headers."""

    def __init__(self, command):
        # Options such as --sysroot, by which some compilers find their folders, stay.
        self.command = [*command, '-std=c++20', '-fsyntax-only', '-nostdinc', '-nostdinc++']
        for folder in standard_folders(command):
            self.command += ['-isystem', str(folder)]
        self.command += [f'-I{folder}' for folder in arguments.include]

    def run(self, name, *options, code=''):
        source = work / f'{name}.cpp'
        source.write_text(f'#include <cushim/{name}>\n{code}', encoding='ascii')
        return subprocess.run([*self.command, *options, str(source)], capture_output=True, text=True,
                              check=False, env=environment())


class NoCudaHeaders(unittest.TestCase):
    def check(self, result, missing):
        output = result.stderr
        self.assertNotEqual(result.returncode, 0)
        self.assertLessEqual(len(output.splitlines()), MAX_LINES, output)
        errors = re.findall(r'^.*\berror: .*$', output, re.M)
        self.assertEqual(len(errors), 1, output)
        self.assertRegex(errors[0], rf'cushim: .*\b(?:{missing})\b.* not found\.')
        for remedy in ('-I', 'toolkit', 'nvidia-cuda-runtime', 'nvidia-cuda-crt'):
            self.assertIn(remedy, errors[0])

    def test_every_header_causes_one_error(self):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for command in compilers():
                results = dict(zip(headers, pool.map(Without(command).run, headers)))
                # Headers that need no CUDA headers compile.
                need_cuda = [name for name in headers if results[name].returncode != 0]
                self.assertGreater(len(need_cuda), 40)
                for name in need_cuda:
                    with self.subTest(compiler=command, header=name):
                        self.check(results[name], 'cuda.h|cuda_runtime_api.h')

    def test_later_code_causes_no_further_error(self):
        for command in compilers():
            with self.subTest(compiler=command):
                self.check(Without(command).run('cushim.hpp', code=CODE), 'cuda.h')

    def test_missing_second_package_is_reported(self):
        """The folder crt is in a separate package."""
        runtime = next(pathlib.Path(path) for path in arguments.compiler.dependencies(
            '#include <cuda_runtime_api.h>\n') if os.path.basename(path) == 'cuda_runtime_api.h')
        first = work / 'first-package'
        first.mkdir()
        for file in filter(pathlib.Path.is_file, runtime.parent.glob('*.h')):
            shutil.copy(file, first)
        for command in compilers():
            with self.subTest(compiler=command):
                self.check(Without(command).run('cushim.hpp', f'-I{first}'), 'crt/host_defines.h')


if __name__ == '__main__':
    unittest.main(verbosity=2)
