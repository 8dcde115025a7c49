#!/usr/bin/env python3
"""A program imports the module, and the module exports every public name of cushim.hpp."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'support'))
import options  # noqa: E402

arguments = options.of_command_line()
module = arguments.path('module')


def find_clang():
    """A clang that imports a module after a header of the same namespace: 16 or newer."""
    for name in ('clang++', *(f'clang++-{version}' for version in range(22, 15, -1))):
        if shutil.which(name):
            version = subprocess.run([name, '-dumpversion'], capture_output=True, text=True, check=True).stdout
            if int(version.split('.')[0]) >= 16:
                return name
    return None


clang = find_clang()
if clang is None:
    print('clang 16 or newer is missing')
    sys.exit(77)


class Module(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.options = ['-std=c++20', '-Wall', '-Wextra', '-Werror', '-Wno-unused-command-line-argument',
                       *(f'-D{name}' for name in arguments.all('define')),
                       *(f'-I{folder}' for folder in arguments.all('include')),
                       *(f'-isystem{folder}' for folder in arguments.all('system-include'))]
        cls.compiled, cls.object = cls.path('cushim.pcm'), cls.path('cushim.o')
        cls.run_clang('--precompile', module, '-o', cls.compiled)
        cls.run_clang('-c', cls.compiled, '-o', cls.object)
        cls.importing = [f'-fmodule-file=cushim={cls.compiled}']

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def run_clang(cls, *words, check=True):
        done = subprocess.run([clang, *cls.options, *words], capture_output=True, text=True, check=False,
                              env={**os.environ, 'LC_ALL': 'C'})
        if check and done.returncode != 0:
            raise AssertionError(done.stderr[:4000])
        return done

    def write(self, name, text):
        pathlib.Path(self.path(name)).write_text(text, encoding='utf-8')
        return self.path(name)

    def names_in(self, namespace):
        """All names of a namespace, as completions of a using-declaration."""
        headers = ('cushim.hpp', 'entry.hpp', 'override.hpp')
        source = self.write('names.cpp', ''.join(f'#include <cushim/{name}>\n' for name in headers) +
                            f'using {namespace}::\n')
        place = f'-code-completion-at={source}:{len(headers) + 1}:{len("using ::") + len(namespace) + 1}'
        text = self.run_clang('-fsyntax-only', '-Xclang', place, source, check=False).stdout
        return set(re.findall(r'^COMPLETION: (?:Pattern : )?(\w+)', text, re.MULTILINE))

    def test_program(self):
        """Without a driver, it prints the reason."""
        program, main = self.path('program'), self.path('main.o')
        self.run_clang(*self.importing, '-c', arguments.text('main'), '-o', main)
        self.run_clang(main, self.object, *arguments.all('libraries'), '-ldl', '-pthread', '-o', program,
                       *(f'-Wl,-rpath,{os.path.dirname(library)}' for library in arguments.all('libraries')))
        done = subprocess.run([program], capture_output=True, text=True, check=False,
                              env={**os.environ, 'CUSHIM_DRIVER': '/nonexistent/libcuda.so.1'})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r'^303: .*/nonexistent/libcuda.so.1.* \(Device::get: cuInit 303\)\. Hint: ')

    def test_every_public_name_is_exported(self):
        for namespace, inner in {'cushim': {'detail', 'entry', 'rt'}, 'cushim::rt': set(),
                                 'cushim::entry': set()}.items():
            with self.subTest(namespace):
                names = self.names_in(namespace) - inner
                self.assertGreater(len(names), 5)
                code = 'import cushim;\n' + ''.join(f'using {namespace}::{name};\n' for name in sorted(names))
                done = self.run_clang(*self.importing, '-fsyntax-only', '-ferror-limit=0',
                                      self.write('exported.cpp', code), check=False)
                self.assertEqual(re.findall(r'error: (.*)', done.stderr)[:20], [])

    def test_missing_name_is_noticed(self):
        code = 'import cushim;\nusing cushim::detail::Access;\n'
        done = self.run_clang(*self.importing, '-fsyntax-only', self.write('missing.cpp', code), check=False)
        self.assertNotEqual(done.returncode, 0)


if __name__ == '__main__':
    unittest.main(verbosity=2)
