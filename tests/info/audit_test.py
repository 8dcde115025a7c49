#!/usr/bin/env python3
"""cushim-info --audit on programs that the build linked, with stand-ins for the CUDA libraries that they need."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from audit_case import CORE, DROPIN, NEEDS_CUDA, NOT_AUDITED, STARTS, AuditCase, Given, built, made_elf, made_pe


def cuda_name(kind):
    names = {'driver': ('libcuda.so.1', 'nvcuda.dll'),
             'runtime': ('libcudart.so.13', 'cudart64_13.dll'),
             'toolkit': ('libcublas.so.13', 'cublas64_13.dll')}
    return names[kind][Given.tool.windows]


class Built(AuditCase):
    """Files made by the compiler and linker."""

    def check_needs(self, name, *chain, kind):
        found = self.audit(built(name))
        self.assertTrue(found['needs_cuda'])
        self.assertTrue(found['program'])
        program = os.path.basename(built(name))
        self.assertIn([program, *chain], self.chains(found))
        last = found['needed'][self.chains(found).index([program, *chain])]
        self.assertEqual((last['library'], last['kind']), (chain[-1], kind))
        return found

    def test_program_that_needs_the_driver(self):
        found = self.check_needs('needs_driver', cuda_name('driver'), kind='driver')
        self.assertEqual(len(found['needed']), 1)
        [use] = found['uses']
        self.assertEqual(use['functions'], ['cuInit'])
        self.assertEqual(use['library'], cuda_name('driver'))
        self.assertIn('cushim-dropin', self.advice(found))
        self.assertIn('cuda.lib' if Given.tool.windows else '-lcuda', self.advice(found))
        self.assertNotIn('cudart', self.advice(found))

    def test_program_that_needs_the_runtime(self):
        found = self.check_needs('needs_runtime', cuda_name('runtime'), kind='runtime')
        self.assertEqual(found['uses'][0]['functions'], ['cudaSetDevice'])
        self.assertIn('remove -cudart shared', self.advice(found))
        self.assertNotIn('-cudart none', self.advice(found))  # with it nvcc links no device code

    def test_program_that_needs_the_driver_through_a_library(self):
        middle = os.path.basename(built('libmiddle', library=True))
        found = self.check_needs('needs_middle', middle, cuda_name('driver'), kind='driver')
        self.assertEqual(len(found['needed']), 1)
        self.assertEqual(found['uses'][0]['file'], middle)
        self.assertIn(f'{middle} links {cuda_name("driver")}', self.advice(found))

    def test_program_that_needs_a_toolkit_library(self):
        found = self.check_needs('needs_toolkit', cuda_name('toolkit'), kind='toolkit')
        self.check_needs('needs_toolkit', cuda_name('toolkit'), cuda_name('runtime'),
                         kind='runtime')
        self.assertIn('cushim-cublas-dropin', self.advice(found))
        self.assertNotIn('cushim-dropin', self.advice(found))

    def test_library_that_needs_the_driver(self):
        found = self.audit(built('libmiddle', library=True))
        self.assertTrue(found['needs_cuda'])
        self.assertFalse(found['program'])
        self.assertIn('needs CUDA to be loaded', self.text)

    def test_program_without_cuda(self):
        found = self.audit(built('needs_nothing'))
        self.assertFalse(found['needs_cuda'])
        for key in ('needed', 'delayed', 'uses', 'cushim', 'own_functions', 'not_found',
                    'what_to_do'):
            self.assertEqual(found[key], [], key)
        self.assertIsNone(found['static_runtime'])

    def test_missing_library_is_reported(self):
        name = os.path.basename(built('needs_middle'))
        path = os.path.join(self.folder, name)
        shutil.copy(built('needs_middle'), path)
        found = self.audit(path)
        self.assertFalse(found['needs_cuda'])
        middle = os.path.basename(built('libmiddle', library=True))
        self.assertIn(middle, self.not_found(found))
        self.assertRegex(self.text, f'not found +{middle}, needed by {name}')
        self.assertIn('as far as its libraries were found', self.text)

    def test_symbolic_links_are_followed(self):
        if Given.tool.windows:
            self.skipTest('needs symbolic links')
        path = os.path.join(self.folder, 'link')
        os.symlink(built('needs_middle'), path)
        self.assertTrue(self.audit(path)['needs_cuda'])  # $ORIGIN is the folder of the program itself

    def test_exit_status_is_that_of_the_worst_file(self):
        nothing = Given.tool.path(built('needs_nothing'))
        driver = Given.tool.path(built('needs_driver'))
        self.assertEqual(self.run_tool('--audit', nothing, nothing).returncode, STARTS)
        done = self.run_tool('--audit', driver, nothing)
        self.assertEqual(done.returncode, NEEDS_CUDA)
        self.assertEqual(done.stdout.decode().count('CUDA at start-up'), 1)
        self.assertEqual(done.stdout.decode().count('starts without CUDA'), 1)
        done = self.run_tool('--audit', driver, Given.tool.path(self.folder), nothing)
        self.assertEqual(done.returncode, NOT_AUDITED)
        self.assertIn(b'a folder', done.stdout)

    @unittest.skipUnless(sys.platform == 'linux', 'needs a linker that keeps unused libraries')
    def test_unused_link_is_reported(self):
        if Given.tool.windows:
            self.skipTest('linkers for Windows leave out unused DLLs')
        found = self.audit(built('links_without_use'))
        self.assertTrue(found['needs_cuda'])
        self.assertFalse(found['needed'][0]['used'])
        self.assertIn('uses none of its functions. Leave it out of the link', self.advice(found))
        self.assertIn('(none of its functions is used)', self.text)

    def test_undefined_functions_are_reported(self):
        if Given.tool.windows:
            self.skipTest('an import always names its DLL')
        found = self.audit(built('libundefined', library=True))
        self.assertFalse(found['needs_cuda'])
        [use] = found['uses']
        self.assertEqual((use['functions'], use['library']), (['cuInit'], None))
        self.assertIn('cuInit, defined nowhere', self.text)
        self.assertIn('cushim-dropin-exported', self.advice(found))

    def test_symbols_are_counted_without_section_headers(self):
        """By the compiler's default hash table, which on Linux is the GNU one."""
        if Given.tool.windows:
            self.skipTest('needs ELF files')
        with open(built('needs_driver'), 'rb') as file:
            data = bytearray(file.read())
        wide = data[4] == 2
        data[40 if wide else 32:48 if wide else 36] = bytes(8 if wide else 4)
        data[60 if wide else 48:62 if wide else 50] = bytes(2)
        with tempfile.NamedTemporaryFile(dir=Given.built, suffix='.tmp') as file:
            file.write(data)
            file.flush()
            found = self.audit(file.name)
        self.assertEqual(found['uses'][0]['functions'], ['cuInit'])


class Contents(AuditCase):
    """The parts of CUDA or cushim inside a file."""

    def test_loader_is_found_in_a_stripped_program(self):
        found = self.audit(built('with_core'))
        self.assertFalse(found['needs_cuda'])
        [part] = found['cushim']
        self.assertEqual(part['version'], Given.version)
        self.assertRegex(part['headers'], r'^\d+\.\d+$')
        self.assertFalse(part['dropin'])
        self.assertIn(f'cushim {Given.version}, built with the headers of CUDA', self.text)

    def test_dropin_is_found_in_a_stripped_program(self):
        found = self.audit(built('with_dropin'))
        [part] = found['cushim']
        self.assertEqual((part['version'], part['headers']), ('1.2.3', '12.6'))
        self.assertTrue(part['dropin'])
        self.assertEqual(part['libraries'], ['nvml', 'a_library_with_a_long_name'])
        self.assertIn('with its drop-in', self.text)

    def test_the_tool_itself_needs_no_cuda(self):
        """It contains the loader and the texts that it looks for, but no libcudart."""
        path = Given.tool.command[-1]
        found = self.audit(path)
        self.assertFalse(found['needs_cuda'])
        self.assertEqual({part['version'] for part in found['cushim']}, {Given.version})
        self.assertIsNone(found['static_runtime'])

    def test_dropin_beside_libcuda_is_reported(self):
        path = self.write('program', made_elf.make(
            needed=['libcuda.so.1'], undefined=['cuInit'], notes=self.notes(DROPIN)))
        found = self.audit(path, '--root', Given.tool.path(self.folder))
        self.assertTrue(found['needs_cuda'])
        self.assertIn("also contains cushim's drop-in: remove -lcuda from", self.advice(found))

    def test_static_runtime_is_found_by_its_texts(self):
        found = self.audit(built('runtime_texts'))
        self.assertIn('table of function names', found['static_runtime'])
        self.assertIn("seems to contain NVIDIA's static libcudart", self.text)
        self.assertFalse(found['needs_cuda'])

    def test_texts_across_read_boundaries_are_found(self):
        texts = b'\0cudaD3D9UnmapVertexBuffer\0libcuda.so.1\0'
        program = made_elf.make()
        for before in (len(texts), len(texts) // 2, 1, 0):
            data = program.ljust((1 << 20) - before, b'\0') + texts
            self.assertIsNotNone(self.audit(self.write('program', data))['static_runtime'])
        data = program + texts.replace(b'D3D9', b'D3D8')
        self.assertIsNone(self.audit(self.write('program', data))['static_runtime'])

    def test_static_runtime_of_nvidia_is_found(self):
        if not os.path.exists(built('static_runtime')):
            self.skipTest('libcudart_static for this platform was not found')
        found = self.audit(built('static_runtime'))
        self.assertIn('symbols', found['static_runtime'])
        self.assertFalse(found['needs_cuda'])
        found = self.audit(built('static_runtime_stripped'))
        self.assertIn('table of function names', found['static_runtime'])
        self.assertFalse(found['needs_cuda'])

    def test_hidden_functions_of_the_program_are_reported(self):
        found = self.audit(built('defines_function'))
        self.assertFalse(found['needs_cuda'])
        self.assertEqual(found['own_functions'], ['cuInit'])
        self.assertIn("cuInit, without the mark of cushim's drop-in", self.text)

    def test_exported_functions_of_the_program_are_reported(self):
        path = self.write('program', made_elf.make(defined=['cuInit', 'other'], needed=['libc.so']))
        found = self.audit(path, '--root', Given.tool.path(self.folder))
        self.assertEqual(found['own_functions'], ['cuInit'])
        path = self.write('program', made_elf.make(defined=['cuInit'], notes=self.notes(DROPIN)))
        self.assertEqual(self.audit(path)['own_functions'], [])

    def test_notes_of_other_owners_are_ignored(self):
        notes = made_elf.note('GNU', DROPIN, 'not ours') + self.notes(CORE) + b'\xff' * 12
        found = self.audit(self.write('program', made_elf.make(notes=notes)))
        [part] = found['cushim']
        self.assertFalse(part['dropin'])

    def test_notes_of_big_endian_files_are_read(self):
        notes = made_elf.note('cushim', DROPIN, '2.0.1 13000', big=True)
        data = made_elf.make(bits=32, big=True, machine=made_elf.POWERPC, notes=notes)
        [part] = self.audit(self.write('program', data))['cushim']
        self.assertEqual((part['version'], part['headers']), ('2.0.1', '13.0'))
        self.assertTrue(part['dropin'])

    def test_notes_in_windows_programs_are_read(self):
        data = made_pe.make(notes=self.notes(CORE) + self.notes(DROPIN))
        [part] = self.audit(self.write('program.exe', data))['cushim']
        self.assertTrue(part['dropin'])

    @staticmethod
    def notes(kind):
        return made_elf.note('cushim', kind, '0.1.0 13000')


class CommandLine(AuditCase):
    def check_usage(self, *arguments, words):
        done = self.run_tool(*arguments)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, b'')
        self.assertIn(words, done.stderr.decode())

    def test_invalid_combinations_are_rejected(self):
        self.check_usage('--audit', words='needs the files')
        self.check_usage('--audit', '--check', 'x', words='combined with --symbols or --check')
        self.check_usage('--symbols', '--audit', 'x', words='combined with --symbols or --check')
        self.check_usage('--root', '/', words='--root requires --audit')
        self.check_usage('--audit', 'x', '--root', words="'--root'")
        self.check_usage('x', words="unexpected argument 'x'")
        self.check_usage('--audit', '--nonsense', 'x', words="'--nonsense'")

    def test_names_after_two_dashes_are_not_options(self):
        done = self.run_tool('--audit', '--', '--json')
        self.assertEqual(done.returncode, NOT_AUDITED)
        self.assertIn(b'--json: cannot be audited: no such file', done.stdout)

    def test_help_describes_the_audit(self):
        text = Given.tool.text('--help')
        for words in ('--audit', '--root', 'LD_LIBRARY_PATH', 'start without CUDA',
                      'a file needs CUDA at', 'could not be read'):
            self.assertIn(words, text)

    def test_names_are_escaped(self):
        if Given.tool.windows:
            self.skipTest('Windows does not allow such file names')
        path = self.write('a "b"\n\x1b[31m',
                          made_elf.make(needed=['lib\x1b"\\.so', 'libcuda.so.1']))
        found = self.audit_of(path)
        self.assertEqual(found['not_found'][0]['library'], 'lib\x1b"\\.so')
        self.assertNotIn(b'\x1b', self.run_tool('--audit', path).stdout)

    def audit_of(self, path):
        return json.loads(self.run_tool('--audit', '--json', path).stdout)['audits'][0]

    @unittest.skipUnless(os.path.exists('/dev/full'), 'needs a device that is always full')
    def test_output_that_cannot_be_written_is_an_error(self):
        with open('/dev/full', 'wb') as full:
            path = Given.tool.path(built('needs_driver'))
            done = subprocess.run([*Given.tool.command, '--audit', path], stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, NOT_AUDITED)


if __name__ == '__main__':
    unittest.main(verbosity=2)
