#!/usr/bin/env python3
"""cushim-info --audit on Windows programs, generated where no linker can make them."""

import os
import shutil
import subprocess
import unittest

from audit_case import AuditCase, made_pe


class MadePe(AuditCase):
    """Windows programs in shapes that the linkers on this machine cannot make."""

    NEEDED = {'KERNEL32.dll': ['ExitProcess'], 'nvcuda.dll': ['cuInit', 'cuMemAlloc_v2', 12],
              'CUDART64_13.DLL': ['cudaMalloc']}

    def test_imports_need_cuda(self):
        for wide, machine, name in ((True, made_pe.X86_64, 'x86-64'),
                                    (True, made_pe.AARCH64, 'AArch64'),
                                    (False, made_pe.I386, 'i386')):
            with self.subTest(machine=name):
                found = self.audit_exe(wide=wide, machine=machine, needed=self.NEEDED)
                self.assertEqual((found['format'], found['machine']), ('PE', name))
                self.assertEqual(found['bits'], 64 if wide else 32)
                self.assertEqual(self.chains(found),
                                 [['app.exe', 'nvcuda.dll'], ['app.exe', 'CUDART64_13.DLL']])
                uses = {use['library']: use['functions'] for use in found['uses']}
                self.assertEqual(uses['nvcuda.dll'], ['#12', 'cuInit', 'cuMemAlloc_v2'])
                self.assertEqual(found['of_windows'], ['KERNEL32.dll'])
                self.assertIn('KERNEL32.dll: not examined', self.text)
                self.assertEqual(found['not_found'], [])

    def test_delayed_imports_do_not_need_cuda_at_start_up(self):
        for wide, old in ((True, False), (False, False), (False, True)):
            found = self.audit_exe(wide=wide, old_delayed=old, needed={'KERNEL32.dll': ['ExitProcess']},
                delayed={'nvcuda.dll': ['cuInit'], 'cublas64_13.dll': ['cublasCreate_v2']})
            self.assertFalse(found['needs_cuda'])
            self.assertEqual(self.chains(found, 'delayed'),
                             [['app.exe', 'nvcuda.dll'], ['app.exe', 'cublas64_13.dll']])
            self.assertRegex(self.text, r'on first call +app\.exe -> nvcuda\.dll')
            self.assertIn('loaded by the first call', self.advice(found))
            self.assertEqual([use['functions'] for use in found['uses']
                              if use['library'] == 'nvcuda.dll'], [['cuInit']])

    def test_dll_beside_the_program_is_found(self):
        self.dll('Foo.DLL', needed={'nvcuda.dll': ['cuInit']}, exported=['foo', 'cuMine'])
        found = self.audit_exe(needed={'foo.dll': ['foo']})
        self.assertEqual(self.chains(found), [['app.exe', 'foo.dll', 'nvcuda.dll']])
        found = self.audit(os.path.join(self.folder, 'Foo.DLL'))
        self.assertFalse(found['program'])
        self.assertEqual(found['own_functions'], ['cuMine'])

    @unittest.skipUnless(shutil.which('x86_64-w64-mingw32-gcc'), 'needs mingw-w64')
    def test_program_linked_by_mingw(self):
        """On Windows, Built of audit_test.py does the same with the programs of the build."""
        sources = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'fakes')

        def link(name, source, *arguments):
            subprocess.run(['x86_64-w64-mingw32-gcc', '-o', os.path.join(self.folder, name),
                            os.path.join(sources, source), *arguments], check=True)
            return os.path.join(self.folder, name)

        driver = link('nvcuda.dll', 'library.c', '-shared', '-DDEFINED=cuInit')
        middle = link('middle.dll', 'library.c', '-shared', '-DDEFINED=middle', '-DCALLED=cuInit',
                      driver)
        found = self.audit(link('app.exe', 'program.c', '-DCALLED=middle', middle))
        self.assertEqual(self.chains(found), [['app.exe', 'middle.dll', 'nvcuda.dll']])
        self.assertEqual([(use['file'], use['functions']) for use in found['uses']],
                         [('middle.dll', ['cuInit'])])

    def check_not_found(self, path, *expected):
        """As for an ELF file: it starts as far as its libraries were found, and this one was not."""
        found = self.audit(path)
        self.assertFalse(found['needs_cuda'])
        self.assertEqual([(library['library'], library['needed_by'])
                          for library in found['not_found']], list(expected))
        self.assertEqual('as far as its libraries were found' in self.text.splitlines()[0],
                         bool(expected))
        for library, needed_by in expected:
            self.assertRegex(self.text, rf'(not found| {{9}}) +{library}, needed by {needed_by}')
        return found

    def test_missing_dll_is_reported(self):
        windows = {'KERNEL32.dll': ['ExitProcess']}
        app = self.write('app.exe', made_pe.make(needed={**windows, 'foo.dll': ['foo']}))
        self.check_not_found(app, ('foo.dll', 'app.exe'))
        self.dll('foo.dll', needed={'bar.dll': ['bar'], 'baz.dll': ['baz']})
        self.check_not_found(app, ('bar.dll', 'foo.dll'), ('baz.dll', 'foo.dll'))
        self.dll('foo.dll', needed=windows)
        self.assertEqual(self.check_not_found(app)['of_windows'], ['KERNEL32.dll'])

    def test_dlls_of_windows_are_not_searched(self):
        own = ['ntdll.dll', 'api-ms-win-crt-runtime-l1-1-0.dll', 'VCRUNTIME140_1.dll',
               'MSVCP140.dll', 'ucrtbase.dll', 'WINSPOOL.DRV']
        others = ['libstdc++-6.dll', 'kernel.dll', 'atlas.dll', 'msvcrt.dll.exe', 'vulkan-1.dll']
        found = self.audit_exe(needed={name: ['function'] for name in own + others})
        self.assertEqual(found['of_windows'], own)
        self.assertEqual(self.not_found(found), others)

    def test_names_are_case_insensitive(self):
        self.dll('foo.dll', needed={'BAR.dll': ['bar'], 'NVCUDA.dll': [1]})
        found = self.audit_exe(needed={'Foo.dll': ['foo'], 'FOO.DLL': ['foo'], 'bar.DLL': ['bar']})
        self.assertEqual(self.chains(found), [['app.exe', 'Foo.dll', 'NVCUDA.dll']])
        self.assertEqual(self.not_found(found), ['bar.DLL'])

    def test_dll_of_another_machine_is_skipped(self):
        self.dll('foo.dll', machine=made_pe.AARCH64, needed={'nvcuda.dll': ['cuInit']})
        app = self.write('app.exe', made_pe.make(needed={'foo.dll': ['foo']}))
        self.check_not_found(app, ('foo.dll', 'app.exe'))

    def test_damaged_dll_is_reported(self):
        self.write('foo.dll', made_pe.make(dll=True, needed={'nvcuda.dll': ['cuInit']})[:0x500])
        app = self.write('app.exe', made_pe.make(needed={'foo.dll': ['foo']}))
        found = self.check_not_found(app, ('foo.dll', 'app.exe'))
        self.assertIn('truncated', found['not_found'][0]['problem'])
        self.assertIn('truncated', self.text)


if __name__ == '__main__':
    unittest.main(verbosity=2)
