#!/usr/bin/env python3
"""Two shared libraries of one process, each containing an archive of cushim."""

import consumer
from consumer import CONSUMERS, arguments, run

install = consumer.Install(__file__)


class TwoCopies(consumer.ConsumerTest):
    def library(self, name, *options):
        path = install.folder / f'lib{name}.so'
        run(*arguments.cxx, '-std=c++20', '-shared', '-fPIC', f'-DNAME={name}', f'-I{install.include}',
            *consumer.cuda_includes(), CONSUMERS / 'two_copies/copy.cpp', '-o', path, *options)
        return path

    def copy(self, name, *options):
        return self.library(name, '-DCUSHIM_STATIC', *options, install.library('libcushim.a'),
                            install.library('libcushim-core.a'), '-ldl', '-pthread')

    def shared_copy(self, name):
        """The same source, linked to the shared libraries."""
        return self.library(name, '-fvisibility=hidden', install.library('libcushim.so'),
                            install.library('libcushim-core.so'), f'-Wl,-rpath,{install.libdir}')

    def program(self, *options):
        libraries = [self.copy(name, *options) for name in ('first', 'second')]
        return self.linked_to(libraries), libraries

    @staticmethod
    def linked_to(libraries):
        """A program that exports a function that the libraries call."""
        program = install.folder / 'two_copies'
        run(*arguments.cxx, '-rdynamic', CONSUMERS / 'two_copies/main.cpp', '-o', program,
            *libraries, f'-Wl,-rpath,{install.folder}')
        return program

    def check_runs(self, program, *words):
        self.assertEqual(run(program, *words, CUSHIM_DISABLE='1'), 'both return 303\n')
        loaded = run(program, *words, CUSHIM_DRIVER=arguments.fake_driver,
                     CUSHIM_RUNTIME=arguments.fake_runtime)
        self.assertRegex(loaded, r'^both return (?!303|0\b)\d+\n$')

    def test_two_copies_are_independent(self):
        program, libraries = self.program('-fvisibility=hidden')
        self.check_runs(program, 'apart')
        for library in libraries:
            self.assertTrue(consumer.exported_names(library, library.stem[3:] + '_init'))
            self.assertEqual(consumer.exported_names(library, 'cushim'), set(),
                             'a library exports its copy')

    def test_archive_is_independent_of_a_shared_library(self):
        """An override in one copy does not affect the other; see override.hpp."""
        if arguments.type != 'both':
            self.skipTest('only one kind is installed')
        libraries = self.copy('first', '-fvisibility=hidden'), self.shared_copy('second')
        self.check_runs(self.linked_to(libraries), 'apart')

    def test_two_copies_work_if_everything_is_exported(self):
        """In this case the inline functions of one library may serve both."""
        program, libraries = self.program('-DWITH_GRAPHS')
        self.check_runs(program)
        for library in libraries:
            self.assertEqual(consumer.exported_names(library, '^cushim_'), set())


if __name__ == '__main__':
    consumer.main()
