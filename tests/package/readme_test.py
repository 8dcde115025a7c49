#!/usr/bin/env python3
"""The code blocks of README.md, as a reader copies them: the program is compiled and run, its output is compared,
and the build systems build it. Long builds are left to tests that make them anyway, subproject_test.py and
simulator_test.py."""

import os
import pathlib
import re
import shlex
import shutil
import unittest

import consumer
import readme
from consumer import CONSUMERS, arguments, run

consumer.need('pkg-config', 'meson')
install = consumer.Install(__file__)
WRAP = 'subprojects/cushim.wrap'
# The blocks in the order of the page, each with a word that it contains.
BLOCKS = [('cpp', 'int main'), ('text', ''), ('ini', WRAP), ('meson', 'executable'),
          ('cmake', 'find_package'), ('sh', 'c++'), ('sh', 'nvcc'), ('sh', 'cushim-sim'), ('sh', 'tools/dev')]


class Readme(consumer.ConsumerTest):
    def setUp(self):
        """A reader's project, and commands that stand for the programs on the reader's machine."""
        self.folder = install.folder / self.id().rsplit('.', maxsplit=1)[-1]
        (self.folder / 'bin').mkdir(parents=True)
        shutil.copy(CONSUMERS / 'existing.c', self.folder / 'app.c')
        shutil.copy(CONSUMERS / 'existing.cu', self.folder / 'app.cu')
        (self.folder / 'app.cpp').write_text(readme.block('cpp'), encoding='utf-8')
        self.command('c++', *arguments.cxx, *consumer.cuda_includes())
        self.command('cc', *arguments.cc, *consumer.cuda_includes())
        self.command('nvcc', *arguments.nvcc)
        self.command('pkg-config', shutil.which('pkg-config'), f'--define-variable=prefix={install.prefix}')

    def command(self, name, *words):
        path = self.folder / 'bin' / name
        # "ccache cc" would find this file again.
        words = [shutil.which(str(word)) or word for word in words]
        path.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, words))} "$@"\n', encoding='utf-8')
        path.chmod(0o755)

    def shell(self, text):
        path = f'{self.folder / "bin"}:{os.environ["PATH"]}'
        run('sh', '-ec', f'cd {shlex.quote(str(self.folder))}\n{text}', PATH=path,
            PKG_CONFIG_PATH=str(install.libdir / 'pkgconfig'))

    def test_every_block_is_run(self):
        found = readme.blocks()
        self.assertEqual([language for language, _ in found], [language for language, _ in BLOCKS])
        for (_, text), (_, word) in zip(found, BLOCKS):
            self.assertIn(word, text)

    def test_program_prints_the_output_of_the_page(self):
        self.shell(readme.block('sh', 'c++'))
        readme.check_app(self, self.folder / 'app')

    def test_cpp_of_other_pages_compiles(self):
        if arguments.cuda_version < 12040:
            self.skipTest('the pages use functions of CUDA 12.4')
        for page in ('src/api/README.md', 'src/loader/README.md'):
            found = [text for language, text in readme.blocks(page) if language == 'cpp']
            self.assertTrue(found, page)
            (self.folder / 'page.cpp').write_text('\n'.join(['#include <cushim/cushim.hpp>', *found]), encoding='utf-8')
            with self.subTest(page):
                self.shell('c++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror page.cpp $(pkg-config --cflags cushim)')

    def test_commands_of_the_page_exist(self):
        known = run(arguments.source / 'tools/dev', 'help')
        for line in readme.block('sh', 'tools/dev').splitlines():
            command = line.split()[1]
            self.assertRegex(known, rf'(?m)^  {re.escape(command)} ')

    @unittest.skipUnless(shutil.which('git'), 'git is not installed')
    def test_wrap_file_is_accepted_by_meson(self):
        """Only sets the project up: subproject_test.py does the long build."""
        wrap = readme.block('ini', WRAP)
        (self.folder / 'subprojects').mkdir()
        (self.folder / WRAP).write_text(wrap, encoding='utf-8')
        (self.folder / 'meson.build').write_text("project('app', 'cpp')\n" + readme.block('meson'), encoding='utf-8')
        # A repository with this source replaces the address in the block.
        address = re.search(r'^url = (.*)$', wrap, re.MULTILINE)[1]
        git = {'GIT_CONFIG_COUNT': '2', 'GIT_CONFIG_KEY_0': f'url.file://{self.repository()}.insteadOf',
               'GIT_CONFIG_VALUE_0': address, 'GIT_CONFIG_KEY_1': 'safe.directory', 'GIT_CONFIG_VALUE_1': '*'}
        said = run('meson', 'setup', self.folder / 'build', self.folder, '--buildtype=plain', *consumer.headers_option('cushim:headers_dir'), **git)
        self.assertRegex(said, r'Dependency cushim found: YES|Subproject cushim finished')

    def repository(self):
        folder = self.folder / 'repository'
        folder.mkdir()
        for part in ('LICENSE', 'meson.build', 'meson_options.txt', 'include', 'src', 'tests', 'tools'):
            source = arguments.source / part
            if source.is_dir():
                shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns('__pycache__'))
            else:
                shutil.copy(source, folder)
        git = ['git', '-C', folder, '-c', 'user.name=reader', '-c', 'user.email=reader@localhost']
        run(*git, 'init', '--quiet')
        run(*git, 'add', '--all')
        run(*git, 'commit', '--quiet', '--message=release')
        return folder

    @unittest.skipUnless(shutil.which('cmake'), 'cmake is not installed')
    def test_cmake_block_builds(self):
        (self.folder / 'CMakeLists.txt').write_text(
            'cmake_minimum_required(VERSION 3.16)\nproject(app CXX)\n' + readme.block('cmake'), encoding='utf-8')
        run('cmake', '-S', self.folder, '-B', self.folder / 'build', '-G', 'Ninja',
            *consumer.cmake_place(install.prefix, install.libdir), *consumer.headers_option('CUSHIM_CUDA_INCLUDE_DIR'))
        run('cmake', '--build', self.folder / 'build')
        readme.check_app(self, self.folder / 'build/app')

    def test_existing_cuda_code_block_builds(self):
        if not arguments.nvcc:
            self.skipTest(arguments.no_nvcc)
        self.shell(readme.block('sh', 'nvcc'))
        self.check_existing(self.folder / 'app', False)

    def test_commands_of_the_dropin_page_work(self):
        commands = [text for language, text in readme.blocks('src/dropin/README.md') if language == 'sh']
        self.assertEqual(len(commands), 5)
        for command in commands:
            check = self.check_driver_api if 'cushim-dropin-driver' in command else self.check_existing
            if self.can_run(command):
                with self.subTest(command):
                    self.shell(command)
                    check(self.folder / 'app', False)

    @staticmethod
    def can_run(command):
        library = '/usr/local/cuda/lib64'
        if library in command:
            return pathlib.Path(library, 'libcudart_static.a').exists()
        return arguments.nvcc or not command.startswith('nvcc')

    def test_links_between_pages_exist(self):
        pages = [page for page in arguments.source.rglob('*.md')
                 if not page.relative_to(arguments.source).parts[0].startswith(('build', 'subprojects', '.'))]
        self.assertGreater(len(pages), 10)
        for page in pages:
            prose = re.sub(r'(?ms)^```.*?^```$', '', page.read_text(encoding='utf-8'))
            for link in re.findall(r'\]\(([^)#]+)', prose):
                if '://' not in link:
                    self.assertTrue((page.parent / link).exists(), f'{page}: {link}')

    def test_files_that_contributing_names_exist(self):
        text = (arguments.source / 'CONTRIBUTING.md').read_text(encoding='utf-8')
        names = [name for name in re.findall(r'`([\w./-]+/[\w.-]+\.\w+)`', text)
                 if not re.search('FOLDER|TOPIC|NAME', name)]
        self.assertGreater(len(names), 3)
        for name in names:
            self.assertTrue((arguments.source / name).is_file(), name)


if __name__ == '__main__':
    consumer.main()
