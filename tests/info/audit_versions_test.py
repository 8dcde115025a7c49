#!/usr/bin/env python3
"""cushim-info --audit on ELF files with symbol versions: which library's function each file gets."""

import os
import struct
import unittest

from audit_case import AuditCase, built, made_elf

RUNTIME, OTHER_RUNTIME, FUNCTION = 'libcudart.so.13', 'libcudart.so.12', 'cudaGetDeviceCount'


class Versions(AuditCase):
    """A program with libraries in a separate root."""

    def library(self, name, **what):
        super().library(f'lib/{name}', soname=name, **what)

    def definers(self, **program):
        """The library whose function is called, by calling file and function."""
        found = self.audit_app(**program)
        self.assertIsNone(found['problem'])
        return {(use['file'], function): use['library']
                for use in found['uses'] for function in use['functions']}

    def check(self, expected, **program):
        self.assertEqual(self.definers(needed=['libuses.so'], **program),
                         {('libuses.so', FUNCTION): expected})

    def test_library_gets_the_functions_of_its_runtime(self):
        for bits, big, machine, name in made_elf.KINDS:
            with self.subTest(machine=name):
                kind = {'bits': bits, 'big': big, 'machine': machine}
                self.library(RUNTIME, **kind, defined=[f'{FUNCTION}@@{RUNTIME}'])
                self.library('libuses.so', **kind, needed=[RUNTIME],
                             undefined=[f'{FUNCTION}@{RUNTIME}'])
                self.check(RUNTIME, **kind, defined=[f'{FUNCTION}@@CUSHIM'])
                # lld gives the functions of a program no version by default.
                self.check('app', **kind, defined=[FUNCTION])

    def test_library_without_a_runtime_gets_the_programs_functions(self):
        self.library('libuses.so', undefined=[FUNCTION])
        self.check('app', defined=[f'{FUNCTION}@@CUSHIM'])
        self.check('app', defined=[FUNCTION, 'cudaMine@@CUSHIM'])

    def test_versions_of_symbols_counted_by_relocations(self):
        for hash_table in ('gnu', None):
            self.library(RUNTIME, defined=[f'{FUNCTION}@@{RUNTIME}'])
            self.library('libuses.so', needed=[RUNTIME], undefined=[f'{FUNCTION}@{RUNTIME}'],
                         stored=[FUNCTION], hash_table=hash_table)
            self.check(RUNTIME, defined=[f'{FUNCTION}@@CUSHIM'])

    def test_functions_with_and_without_version(self):
        self.library('libuses.so', undefined=['cuInit@V1', f'{FUNCTION}@CUSHIM', 'cuMine@V1'])
        self.assertEqual(
            self.definers(needed=['libuses.so'], defined=['cuInit', f'{FUNCTION}@@CUSHIM']),
            {('libuses.so', 'cuInit'): 'app', ('libuses.so', FUNCTION): 'app',
             ('libuses.so', 'cuMine'): None})

    def test_missing_runtimes_are_named(self):
        self.library('liba.so', needed=[OTHER_RUNTIME], undefined=[f'{FUNCTION}@{OTHER_RUNTIME}'])
        self.library('libb.so', needed=[RUNTIME], undefined=[f'{FUNCTION}@{RUNTIME}'])
        self.library('libc.so', undefined=[f'{FUNCTION}@NEW'], version_of={'NEW': RUNTIME})
        self.library('libd.so', undefined=[f'{FUNCTION}@NEW'])
        self.assertEqual(
            self.definers(needed=['liba.so', 'libb.so', 'libc.so', 'libd.so'],
                          defined=[f'{FUNCTION}@@CUSHIM']),
            {('liba.so', FUNCTION): OTHER_RUNTIME, ('libb.so', FUNCTION): RUNTIME,
             ('libc.so', FUNCTION): RUNTIME, ('libd.so', FUNCTION): OTHER_RUNTIME})

    def test_function_with_several_versions(self):
        self.library('libnew.so', defined=['cuInit@@NEW', 'cuInit@OLD', 'cuInit@OLDER'])
        self.library('libother.so', defined=['cuInit@@OTHER'])
        needed = ['libother.so', 'libnew.so']
        for asked, expected in (('cuInit@NEW', 'libnew.so'), ('cuInit@OLD', 'libnew.so'),
                                ('cuInit@OTHER', 'libother.so'), ('cuInit', 'libother.so'),
                                ('cuInit@NONE', None)):
            with self.subTest(asked=asked):
                self.assertEqual(self.definers(needed=needed, undefined=[asked]),
                                 {('app', 'cuInit'): expected})
        found = self.audit_in_root(os.path.join(self.folder, 'lib/libnew.so'))
        self.assertEqual(found['own_functions'], ['cuInit'])

    def test_hidden_versions_serve_only_explicit_uses(self):
        self.library('libfirst.so', defined=['cuMine@@V1', 'cuInit@V2'])
        self.library('libsecond.so', defined=['cuInit@V1'])  # its oldest version also serves unversioned uses
        needed = ['libfirst.so', 'libsecond.so']
        self.assertEqual(self.definers(needed=needed, undefined=['cuInit']),
                         {('app', 'cuInit'): 'libsecond.so'})
        self.assertEqual(self.definers(needed=needed, undefined=['cuInit@V2']),
                         {('app', 'cuInit'): 'libfirst.so'})

    def test_missing_version_prevents_the_start(self):
        self.library('libfoo.so', defined=['cuInit@@V1'])
        for version, needs_cuda in (('V1', False), ('V2', True)):
            found = self.audit_app(needed=['libfoo.so'], undefined=[f'cuInit@{version}'], flags=made_elf.NOW)
            self.assertEqual(found['needs_cuda'], needs_cuda)

    def test_damaged_tables_are_reported(self):
        good = {'undefined': ['cuInit@V1'], 'defined': ['cuMine@@V2']}
        self.assertIsNone(self.audit_app(**good)['problem'])
        for tag in (0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFE):
            for address in (0, made_elf.BASE - 1, made_elf.BASE + 2 ** 31, 2 ** 64 - 1):
                found = self.audit_app(**good, first=[(tag, address)])
                self.assertIn('the file is damaged', found['problem'], (hex(tag), hex(address)))

    def test_number_of_versions_is_limited(self):
        file_itself = struct.pack('<HHHHIII', 1, 1, 1, 1, 0, 0, 20)
        start = len(made_elf.make(undefined=['cuInit'], first=[(0x6FFFFFF0, 0), (0x6FFFFFFC, 0)]))
        data = made_elf.make(undefined=['cuInit'], first=[
            (0x6FFFFFF0, made_elf.BASE), (0x6FFFFFFC, made_elf.BASE + start)])
        for count, problem in ((0x7FFF, None), (0x9000, 'more versions than version numbers')):
            whole = data + file_itself * count + bytes(20)
            path = self.write('app', made_elf.with_segment_of(whole, len(whole)))
            found = self.audit_in_root(path)
            if problem:
                self.assertIn(problem, found['problem'])
            else:
                self.assertIsNone(found['problem'])


class Linked(AuditCase):
    """Versions as linkers write them."""

    def test_program_that_exports_functions_of_the_runtime(self):
        program, library = built('exports_runtime'), built('libkeeps', library=True)
        if not os.path.exists(program):
            self.skipTest('needs a linker that writes versions')
        found = self.audit(program)
        self.assertEqual(found['own_functions'], ['cudaSetDevice'])
        self.assertEqual(
            [(use['file'], use['functions'], use['library']) for use in found['uses']],
            [(os.path.basename(library), ['cudaSetDevice'], RUNTIME)])
        self.assertIn(f'{os.path.basename(library)}: cudaSetDevice of {RUNTIME}', self.text)


if __name__ == '__main__':
    unittest.main(verbosity=2)
