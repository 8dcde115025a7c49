#!/usr/bin/env python3
"""cushim-info --audit on generated ELF programs of every machine, with libraries in a separate root."""

import os
import struct
import unittest

from audit_case import CORE, LIBRARY, STARTS, AuditCase, Given, made_elf


class MadeElf(AuditCase):
    """Programs of any machine, with libraries in a separate root."""

    def test_every_class_and_byte_order(self):
        for bits, big, machine, name in made_elf.KINDS:
            with self.subTest(machine=name):
                kind = {'bits': bits, 'big': big, 'machine': machine}
                self.library('usr/lib/libfoo.so', **kind, needed=['libcuda.so.1'],
                           undefined=['cuInit', 'malloc'], weak=['cuMemAlloc_v2'])
                found = self.audit_in_root(self.place('bin/app', **kind, needed=['libfoo.so']))
                self.assertEqual((found['format'], found['bits'], found['machine']),
                                 ('ELF', bits, name))
                self.assertEqual(found['byte_order'], 'big' if big else 'little')
                self.assertEqual(self.chains(found), [['app', 'libfoo.so', 'libcuda.so.1']])
                [use] = found['uses']
                self.assertEqual(use['functions'], ['cuInit', 'cuMemAlloc_v2'])
                self.assertEqual(use['library'], 'libcuda.so.1')

    def test_libraries_of_other_machines_are_skipped(self):
        self.library('lib/libfoo.so', machine=made_elf.AARCH64, needed=['libcuda.so.1'])
        app = self.place('app', needed=['libfoo.so'])
        self.assertEqual(self.not_found(self.audit_in_root(app)), ['libfoo.so'])
        self.library('usr/x86_64-linux-gnu/lib/libfoo.so', needed=['libcudart.so.12'])
        self.assertEqual(self.chains(self.audit_in_root(app)),
                         [['app', 'libfoo.so', 'libcudart.so.12']])

    def test_configured_folders_are_searched(self):
        self.write('etc/ld.so.conf', b'# first\ninclude ld.so.conf.d/*.conf # all\n/never\n')
        self.write('etc/ld.so.conf.d/a.conf', b'include /etc/ld.so.conf\n\n  /opt/foo/lib \n')
        self.write('etc/ld.so.conf.d/b.other', b'/opt/other\n')
        self.library('opt/foo/lib/libfoo.so', needed=['libcuda.so.1'])
        self.library('opt/other/libbar.so', needed=['libcuda.so.1'])
        app = self.place('app', needed=['libfoo.so', 'libbar.so'])
        found = self.audit_in_root(app)
        self.assertEqual(self.chains(found), [['app', 'libfoo.so', 'libcuda.so.1']])
        self.assertEqual(self.not_found(found), ['libbar.so'])

    def test_origin_and_lib_are_expanded(self):
        self.library('app/libs/libfoo.so', needed=['libcuda.so.1'])
        self.library('srv/lib64/libbar.so', needed=['libcudart.so.13'])
        for written in ('$ORIGIN/../libs:/srv/$LIB', '/nowhere:${ORIGIN}/../libs:/srv/${LIB}'):
            for tag in ('rpath', 'runpath'):
                app = self.place('app/bin/app', needed=['libfoo.so', 'libbar.so'], **{tag: written})
                self.assertEqual(len(self.audit_in_root(app)['needed']), 2)
        app = self.place('app/bin/app', needed=['libfoo.so'], runpath='$PLATFORM/../libs')
        self.assertEqual(self.audit_in_root(app)['needed'], [])

    def test_rpath_is_inherited_and_runpath_is_not(self):
        self.library('srv/libfoo.so', needed=['libbar.so'])
        self.library('srv/libbar.so', needed=['libcuda.so.1'])
        app = self.place('app', needed=['libfoo.so'], rpath='/srv')
        self.assertEqual(self.chains(self.audit_in_root(app)),
                         [['app', 'libfoo.so', 'libbar.so', 'libcuda.so.1']])
        app = self.place('app', needed=['libfoo.so'], runpath='/srv')
        self.assertEqual(self.audit_in_root(app)['needed'], [])
        app = self.place('app', needed=['libfoo.so'], rpath='/srv', runpath='/nowhere')
        self.assertEqual(self.not_found(self.audit_in_root(app)), ['libfoo.so'])
        self.library('srv/libfoo.so', needed=['libbar.so'], runpath='/nowhere')
        app = self.place('app', needed=['libfoo.so'], rpath='/srv')
        self.assertEqual(self.not_found(self.audit_in_root(app)), ['libbar.so'])

    def test_environment_is_ignored(self):
        self.library('srv/libfoo.so', needed=['libcuda.so.1'])
        app = self.place('app', needed=['libfoo.so'])
        done = Given.tool.run_again(('--audit', Given.tool.path(app)),
                              {'LD_LIBRARY_PATH': os.path.join(self.folder, 'srv')})
        self.assertEqual(done.returncode, STARTS)

    def test_circular_needs_are_followed_once(self):
        self.library('lib/liba.so', needed=['libb.so', 'liba.so'])
        self.library('lib/libb.so', needed=['liba.so', 'libc.so', 'libcuda.so.1'])
        self.library('lib/libc.so', needed=['liba.so', 'app'])
        found = self.audit_in_root(self.place('lib/app', needed=['liba.so']))
        self.assertEqual(self.chains(found), [['app', 'liba.so', 'libb.so', 'libcuda.so.1']])
        self.library('lib/other.so', needed=['liba.so'], soname='liba.so')
        app = self.place('app', needed=['other.so'])
        self.assertEqual(self.audit_in_root(app)['needed'], [])

    def test_every_link_is_reported(self):
        self.library('lib/liba.so', needed=['libcuda.so.1', 'libcudart.so.13'])
        self.library('lib/libb.so', needed=['libcuda.so.1'])
        app = self.place('app', needed=['liba.so', 'libb.so', 'libcudart.so.13'])
        self.assertEqual(sorted(self.chains(self.audit_in_root(app))), [
            ['app', 'liba.so', 'libcuda.so.1'], ['app', 'liba.so', 'libcudart.so.13'],
            ['app', 'libb.so', 'libcuda.so.1'], ['app', 'libcudart.so.13']])

    def test_toolkit_libraries_that_need_each_other(self):
        self.library('lib/libcublas.so.13', needed=['libcublasLt.so.13'])
        self.library('lib/libcublasLt.so.13', needed=['libcudart.so.13'])
        found = self.audit_app(needed=['libcublas.so.13'])
        self.assertEqual(self.chains(found), [
            ['app', 'libcublas.so.13'],
            ['app', 'libcublas.so.13', 'libcublasLt.so.13', 'libcudart.so.13']])
        self.assertNotIn('cushim-dropin', self.advice(found))

    def test_advice_names_the_drop_ins_of_toolkit_libraries(self):
        found = self.audit_app(needed=['libnvidia-ml.so.1', 'libnvrtc.so.13', 'libnppc.so.13'])
        self.assertEqual([chain['drop_in'] for chain in found['needed']],
                         ['cushim-nvml-dropin', 'cushim-nvrtc-dropin', None])
        self.assertIn('app links libnvidia-ml.so.1 and libnvrtc.so.13: link cushim-nvml-dropin and '
                      'cushim-nvrtc-dropin in place of them, from a cushim that was built with '
                      '-Dlibraries=nvml,nvrtc.', self.advice(found))
        self.assertIn('libnppc.so.13, linked by app: cushim does not replace it',
                      self.advice(found))

    def test_drop_ins_of_toolkit_libraries_are_recognized(self):
        notes = made_elf.note('cushim', CORE, '0.1.0 13000') + \
            made_elf.note('cushim', LIBRARY, 'nvml') + made_elf.note('cushim', LIBRARY, 'nvrtc')
        found = self.audit_app(notes=notes)
        [part] = found['cushim']
        self.assertEqual((part['version'], part['dropin'], part['libraries']),
                         ('0.1.0', False, ['nvml', 'nvrtc']))
        self.assertIn('with drop-ins of nvml and nvrtc', self.text)
        self.assertEqual(found['what_to_do'], [])
        found = self.audit_app(notes=notes, needed=['libnvidia-ml.so.1'])
        self.assertIn('app links libnvidia-ml.so.1 but also contains its drop-in: remove it from '
                      'its link.', self.advice(found))

    def test_functions_are_listed_with_the_library_that_defines_them(self):
        self.library('lib/libfoo.so', defined=['cuInit'])
        app = self.place('app', needed=['libfoo.so', 'libcudart.so.13'],
                         undefined=['cuInit', 'cudaMalloc', '__cudaRegisterFatBinary', 'curl_init',
                                    'cuFileRead', 'cublasCreate_v2', 'cudaGetDeviceCount'])
        uses = {use['library']: use['functions'] for use in self.audit_in_root(app)['uses']}
        self.assertEqual(uses, {
            'libfoo.so': ['cuInit'],
            'libcudart.so.13': ['__cudaRegisterFatBinary', 'cudaGetDeviceCount', 'cudaMalloc']})

    def check_undefined(self, needs_cuda, **what):
        found = self.audit_app(**what)
        self.assertEqual(found['needs_cuda'], needs_cuda, what)
        return found

    def test_undefined_functions_that_prevent_the_start(self):
        for bits, big, machine, name in made_elf.KINDS:
            with self.subTest(machine=name):
                kind = {'bits': bits, 'big': big, 'machine': machine, 'undefined': ['cuInit']}
                self.check_undefined(False, **kind)
                self.check_undefined(True, **kind, flags=made_elf.NOW)
                self.check_undefined(True, **kind, flags_1=1)
                if machine != made_elf.MIPS:  # whose relocations swap the halves of a word
                    self.check_undefined(True, **kind, stored=['cuInit'])
        found = self.check_undefined(True, undefined=['cuInit'], flags=made_elf.NOW)
        self.assertIn('no file loaded with it defines', self.advice(found))
        self.check_undefined(False, weak=['cuInit'], flags=made_elf.NOW)
        self.check_undefined(False, weak=['cuInit'], stored=['cuInit'])
        # A library that was not found may define it, and so may the program that loads a library.
        self.check_undefined(False, undefined=['cuInit'], flags=made_elf.NOW, needed=['libfoo.so'])
        self.check_undefined(False, undefined=['cuInit'], flags=made_elf.NOW, program=False)
        self.check_undefined(True, undefined=['cuInit'], flags=made_elf.NOW, program=False,
                             flags_1=made_elf.PIE)

    def test_registration_of_device_code_prevents_the_start(self):
        """It is called before main, and lazy binding does not delay that."""
        register = '__cudaRegisterFatBinary'
        self.check_undefined(True, undefined=[register])
        self.check_undefined(False, undefined=['__cudaPushCallConfiguration'])
        self.check_undefined(False, weak=[register])
        self.library('lib/libkernels.so', undefined=[register])
        self.check_undefined(True, needed=['libkernels.so'])
        self.check_undefined(False, needed=['libkernels.so'], defined=[register])

    def test_internal_functions_of_nvcc_are_ignored(self):
        names = ['__cudaUnregisterBinaryUtil', '__cudaRegisterLinkedBinary_95c6f5b2_4_k_cu_fbe442de']
        found = self.check_undefined(False, defined=names)
        self.assertEqual(found['own_functions'], [])
        found = self.check_undefined(False, undefined=names, flags=made_elf.NOW)
        self.assertEqual(found['uses'], [])

    def test_filters_load_their_filtees(self):
        """A library is loaded with its filtees; those of an auxiliary filter are optional."""
        self.library('lib/libreal.so', needed=['libcuda.so.1'])
        for how in ('filters', 'auxiliary'):
            self.library('lib/libfoo.so', **{how: ['libreal.so']})
            found = self.audit_app(needed=['libfoo.so'])
            self.assertEqual(self.chains(found), [['app', 'libfoo.so', 'libreal.so', 'libcuda.so.1']])
        found = self.audit_app(filters=['libcuda.so.1', 'libnone.so'])
        self.assertEqual(self.chains(found), [['app', 'libcuda.so.1']])
        self.assertEqual(self.not_found(found), ['libnone.so'])
        found = self.audit_app(auxiliary=['libcuda.so.1', 'libnone.so'])
        self.assertEqual((found['needed'], found['not_found']), ([], []))

    def test_variants_for_newer_processors_are_found(self):
        self.library('usr/lib/glibc-hwcaps/x86-64-v3/libfoo.so', needed=['libcuda.so.1'])
        self.library('srv/glibc-hwcaps/x86-64-v2/libbar.so', needed=['libcuda.so.1'])
        self.library('srv/glibc-hwcaps/x86-64-v4/libbar.so', needed=['libcudart.so.13'])
        self.library('srv/libbar.so')
        found = self.audit_app(needed=['libfoo.so', 'libbar.so'], runpath='/srv')
        self.assertEqual(self.chains(found), [['app', 'libfoo.so', 'libcuda.so.1'],
                                              ['app', 'libbar.so', 'libcudart.so.13']])
        self.assertEqual(found['not_found'], [])

    def test_cuda_libraries_are_recognized_by_name(self):
        for name, kind in (('libcuda.so', 'driver'), ('libcuda.so.1', 'driver'),
                           ('libcudart.so.11.0', 'runtime'),
                           ('libcudart-d0da41ae.so.12', 'runtime'),
                           ('libnvidia-ml.so.1', 'toolkit'), ('libcudnn_ops.so.9', 'toolkit'),
                           ('libnvrtc-builtins.so.13.0', 'toolkit'), ('libnccl.so.2', 'toolkit'),
                           ('/usr/local/cuda/lib64/libcufft.so.12', 'toolkit')):
            found = self.audit_app(needed=[name])
            self.assertEqual([chain['kind'] for chain in found['needed']], [kind], name)
        for name in ('libcuda_helpers.so', 'libcudart_shim.so', 'libcushim.so.0', 'libcurl.so.4',
                     'libnccl-net.so', 'libcu.so', 'libcudash.so'):
            found = self.audit_app(needed=[name])
            self.assertFalse(found['needs_cuda'], name)

    def test_static_program_needs_no_cuda(self):
        data = bytearray(made_elf.make(kind=2, program=False))
        at = 64 + 56  # the second segment, the dynamic one
        data[at:at + 4] = struct.pack('<I', 0)
        found = self.audit(self.write('app', bytes(data)))
        self.assertTrue(found['program'])
        self.assertFalse(found['needs_cuda'])

    def test_list_of_sections_is_ignored(self):
        """Systems ignore the list of sections; with any list the audit finds the same."""
        self.library('lib/libcuda.so.1', soname='libcuda.so.1', defined=['cuInit'])
        mark = made_elf.note('cushim', CORE, '0.1.0 13000')
        for bits, machine in ((64, made_elf.X86_64), (32, made_elf.I386)):
            good = made_elf.make(bits=bits, machine=machine, needed=['libcuda.so.1'],
                                 undefined=['cuInit'], notes=mark)
            expected = self.audit_in_root(self.write('app', good))
            self.assertEqual(len(expected['cushim']), 1)
            most = 2 ** bits - 1
            for offset, size, count in ((len(good), None, 5), (len(good) + 1, None, 5),
                                        (most, None, 5), (most // 2, None, 0xFFFF),
                                        (len(good), None, 0), (64, None, 3), (64, 1, 0xFFFF),
                                        (len(good) - 8, 7, 1), (0, None, 9)):
                path = self.write('app', made_elf.with_sections_at(good, offset, size, count))
                self.assertEqual(self.audit_in_root(path), expected, (bits, offset, size, count))

    def test_symbols_are_counted_by_relocations(self):
        for hash_table in ('gnu', None):
            for bits, machine in ((64, made_elf.X86_64), (32, made_elf.I386)):
                found = self.audit_app(bits=bits, machine=machine, needed=['libcuda.so.1'],
                    undefined=['cuInit', 'malloc', 'cuMemAlloc_v2', 'other'],
                    stored=['cuMemAlloc_v2'], hash_table=hash_table)
                [use] = found['uses']
                self.assertEqual(use['functions'], ['cuInit', 'cuMemAlloc_v2'])

    def test_notes_outside_of_the_file_are_ignored(self):
        mark = made_elf.note('cushim', CORE, '0.1.0 13000')
        data = bytearray(made_elf.make(needed=['libcuda.so.1'], notes=mark))
        at = 64 + 3 * 56  # the fourth segment
        self.assertEqual(struct.unpack_from('<I', data, at), (4,))
        struct.pack_into('<Q', data, at + 8, 2 ** 63)
        found = self.audit(self.write('app', bytes(data)))
        self.assertTrue(found['needs_cuda'])
        self.assertEqual(found['cushim'], [])

    def test_damaged_library_is_reported(self):
        self.write('lib/libfoo.so', made_elf.make(needed=['libcuda.so.1'])[:300])
        found = self.audit_app(needed=['libfoo.so'])
        [library] = found['not_found']
        self.assertEqual((library['library'], library['needed_by']), ('libfoo.so', 'app'))
        self.assertIn('truncated', library['problem'])
        self.assertIn('truncated', self.text)


if __name__ == '__main__':
    unittest.main(verbosity=2)
