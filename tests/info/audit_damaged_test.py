#!/usr/bin/env python3
"""cushim-info --audit on other files than programs and on damaged ones: each is rejected, or audited as far as
its contents allow; the tool never crashes."""

import json
import os
import random
import shutil
import struct
import subprocess
import unittest

from audit_case import CORE, NEEDS_CUDA, NOT_AUDITED, STARTS, AuditCase, Given, built, made_elf, made_pe


class NotAudited(AuditCase):
    """Files that are neither programs nor libraries, and damaged ones. Each is rejected with a reason."""

    def check_refused(self, path, words):
        found = self.audit(path)
        self.assertIn(words, found['problem'])

    def test_other_files_are_rejected_with_a_reason(self):
        self.check_refused(os.path.join(self.folder, 'nothing'), 'no such file')
        self.check_refused(self.folder, 'a folder')
        for data, words in ((b'', 'empty'), (b'x', 'neither an ELF nor a PE file'),
                            (b'A text.\n' * 20, 'neither an ELF nor a PE file'),
                            (b'#!/bin/sh\n', 'a script: audit the programs that it starts'),
                            (b'/* GNU ld script\n', 'a script for the linker'),
                            (b'!<arch>\n', 'a static library'),
                            (b'!<thin>\n' + bytes(60), 'a static library'),
                            (made_elf.make(kind=1), 'an object file'),
                            (b'\x64\x86\x03\x00' + bytes(60), 'an object file'),
                            (b'BC\xc0\xde' + bytes(60), 'an object file'),
                            (made_elf.make(kind=4), 'a core dump'),
                            (b'MZ' + bytes(100), 'for DOS'), (b'MZ', 'truncated'),
                            (b'\x7fELF', 'truncated'),
                            (b'\x7fELF\x07' + bytes(100), 'no known class')):
            self.check_refused(self.write('file', data), words)

    DEBUG = 'it holds debug information only: audit the file that it was split from'

    def test_debug_information_is_rejected(self):
        for bits in (64, 32):
            data = made_elf.make(bits=bits, machine=made_elf.X86_64 if bits == 64 else made_elf.I386,
                                 needed=['libcuda.so.1'])
            self.check_refused(self.write('app.debug', made_elf.without_dynamic_contents(data)),
                               self.DEBUG)
        code = ('.text', 0x1000, 0, 0, made_pe.CODE)
        self.check_refused(self.write('app.exe', made_pe.make(sections=[code])), self.DEBUG)

    def test_packed_program_does_not_count_as_debug_information(self):
        """Its code is unpacked into a section that is empty in the file."""
        empty = ('UPX0', 0x1000, 0, 0, made_pe.CODE)
        packed = ('UPX1', 16, 16, made_pe.FILE_AT, made_pe.CODE)
        found = self.audit_exe(sections=[empty, packed], needed={'nvcuda.dll': ['cuInit']})
        self.assertTrue(found['needs_cuda'])

    def test_debug_information_from_objcopy_is_rejected(self):
        objcopy = shutil.which('x86_64-w64-mingw32-objcopy' if Given.tool.windows else 'objcopy')
        if not objcopy or (not Given.tool.windows and Given.tool.command[:-1]):
            self.skipTest('needs an objcopy for these programs')
        for program in (built('needs_driver'), built('libmiddle', library=True)):
            path = os.path.join(self.folder, 'app.debug')
            subprocess.run([objcopy, '--only-keep-debug', program, path], check=True)
            self.check_refused(path, self.DEBUG)

    @unittest.skipUnless(hasattr(os, 'mkfifo'), 'needs named pipes')
    def test_named_pipe_is_rejected_without_waiting(self):
        path = os.path.join(self.folder, 'pipe')
        os.mkfifo(path)
        self.check_refused(path, 'not a regular file')

    def test_overflowing_numbers_do_not_crash(self):
        for bits, word in ((64, 'Q'), (32, 'I')):
            good = made_elf.make(bits=bits, needed=['libcuda.so.1'], undefined=['cuInit'])
            width, most = struct.calcsize('<' + word), 2 ** (bits - 4)
            header = 64 if bits == 64 else 52
            for at in [24 + width] + [header + i * 4 for i in range(1, 26)]:
                for value in (most, 2 ** bits - 1, 2 ** bits - 8, len(good), len(good) - 1):
                    data = bytearray(good)
                    data[at:at + width] = struct.pack('<' + word, value)
                    path = self.write('file', bytes(data))
                    done = self.run_tool('--audit', Given.tool.path(path))
                    self.assertIn(done.returncode, (STARTS, NEEDS_CUDA, NOT_AUDITED))
                    if Given.tool.windows:
                        return  # under Wine each takes seconds; the batches below cover them

    # Overlapping parts let a small file claim any size, so the tool limits how much it reads.
    LARGE = 8 << 20

    def test_number_of_notes_is_limited(self):
        notes = made_elf.note('cushim', CORE, '0.1.0 13000') * (self.LARGE // 32)
        data = made_elf.make(notes=notes)
        self.check_refused(self.write('app', data), 'more notes than any program')
        part = made_elf.make(notes=notes[:800000])
        self.assertIsNone(self.audit(self.write('app', part))['problem'])
        at = part.index(notes[:32])
        self.check_refused(self.write('app', made_elf.with_more_segments(part, [(4, at, 800000)] * 4000)),
                           'more notes than any program')
        section = ('.cushim', 600000, 600000, made_pe.FILE_AT, 0)
        for sections, problem in ((1, None), (2, 'more notes than any program')):
            data = made_pe.make(sections=[section] * sections).ljust(600000 + made_pe.FILE_AT, b'\0')
            found = self.audit(self.write('app.exe', data))
            self.assertIn(problem or '', found['problem'] or '')
            self.assertEqual(bool(found['problem']), bool(problem))

    def test_number_of_segments_is_limited(self):
        data = made_elf.make(needed=['libcuda.so.1'])
        load = (1, 0, len(data))
        found = self.audit(self.write('app', made_elf.with_more_segments(data, [load] * 4000)))
        self.assertTrue(found['needs_cuda'])
        self.check_refused(self.write('app', made_elf.with_more_segments(data, [load] * 60000)),
                           'more segments than any program')

    def test_size_of_dynamic_sections_is_limited(self):
        """The last of several counts, as for glibc's dynamic linker."""
        entries = struct.pack('<QQ', 0x6FFFFEF0, 0)
        long = made_elf.make().ljust(self.LARGE, b'\0')
        at = len(long)
        data = made_elf.with_segment_of(long + entries * 20000, at + 16 * 20000)
        self.check_refused(self.write('app', made_elf.with_more_segments(data, [(2, at, 16 * 20000)])),
                           'its dynamic section is longer')
        own = made_elf.make(needed=['libcuda.so.1'])
        place, size = struct.unpack_from('<Q', own, 64 + 56 + 8)[0], struct.unpack_from('<Q', own, 64 + 56 + 32)[0]
        many = [(2, 0, len(own)), (2, place, size)] * 2000
        found = self.audit(self.write('app', made_elf.with_more_segments(own, many)))
        self.assertEqual(len(found['needed']), 1)
        found = self.audit(self.write('app', made_elf.with_more_segments(own, [*many, (2, place, 0)])))
        self.assertEqual(found['needed'], [])

    def test_sections_are_limited_and_may_not_overlap(self):
        data = made_pe.make()
        count = struct.unpack_from('<I', data, 60)[0] + 6
        many = data[:count] + struct.pack('<H', 65535) + data[count + 2:] + bytes(40 * 65536)
        self.check_refused(self.write('app.exe', many), 'more sections than any program')
        # The second section covers the whole file, and its first bytes are the name of a library.
        data = bytearray(made_pe.make(needed={'nvcuda.dll': ['cuInit']}, sections=[('x', 1, 1, 0, 0)]))
        listed = data.index(b'x\0\0\0\0\0\0\0')
        struct.pack_into('<II', data, listed + 8, len(data), 0x200000)
        struct.pack_into('<II', data, listed + 16, len(data), 0)
        self.assertIsNone(self.audit(self.write('app.exe', bytes(data)))['problem'])
        name = data.index(b'nvcuda.dll') - made_pe.FILE_AT + made_pe.ADDRESS
        at = data.index(struct.pack('<I', name), made_pe.FILE_AT)
        struct.pack_into('<I', data, at, 0x200000)
        self.check_refused(self.write('app.exe', bytes(data)), 'its sections overlap')

    def check_batch(self, files, must_be_refused=False, must_be_audited=False):
        """Audits all in one run; a crash would lose results, and each file must have one."""
        paths = [self.write(f'damaged/{i}/file', data) for i, data in enumerate(files)]
        for start in range(0, len(paths), 100):
            some = [Given.tool.path(path) for path in paths[start:start + 100]]
            done = self.run_tool('--audit', '--json', '--root', Given.tool.path(self.folder), *some)
            self.assertIn(done.returncode, (STARTS, NEEDS_CUDA, NOT_AUDITED), done.stderr[-2000:])
            audits = json.loads(done.stdout)['audits']
            self.assertEqual([audit['path'] for audit in audits], some)
            for audit in audits:
                if must_be_refused:
                    self.assertTrue(audit['problem'], audit)
                elif must_be_audited:
                    self.assertIsNone(audit['problem'], audit)
                    self.assertTrue(audit['needs_cuda'], audit)
                    self.assertEqual([use['functions'] for use in audit['uses']], [['cuInit']])
                else:
                    self.assertTrue(audit['problem'] or 'needs_cuda' in audit)

    def samples(self):
        rich = {'needed': ['libfoo.so', 'libcuda.so.1'], 'undefined': ['cuInit', 'cudaMalloc@V1'],
                'defined': ['cuMine', 'cudaMine@@V2', 'cudaMine@V3'],
                'stored': ['cuInit'], 'soname': 'libx.so', 'runpath': '$ORIGIN/$LIB'}
        note = made_elf.note('cushim', CORE, '0.1.0 13000')
        for bits, big, machine, _ in made_elf.KINDS[:5]:
            yield made_elf.make(bits=bits, big=big, machine=machine, notes=note, **rich)
        for wide in (True, False):
            yield made_pe.make(wide=wide, needed={'nvcuda.dll': ['cuInit', 12]},
                               exported=['cuMine'], notes=note,
                               delayed={'nvcuda.dll': ['cuInit', 3]})

    def real_samples(self):
        for name in (built('needs_driver'), built('libmiddle', library=True)):
            with open(name, 'rb') as file:
                yield file.read()

    def test_truncated_files_are_rejected(self):
        for data in self.samples():
            self.check_batch([data[:at] for at in range(0, len(data), 64)], must_be_refused=True)

    def test_truncated_built_files_are_rejected(self):
        for data in self.real_samples():
            step = max(64, len(data) // 400 // 64 * 64)
            if Given.tool.windows:  # the symbols follow the sections
                self.check_batch([data[:at] for at in range(0, len(data), step)])
                continue
            end = made_elf.end_of_segments(data)
            self.assertLess(end, len(data))
            self.check_batch([data[:at] for at in [*range(0, end, step), end - 1]],
                             must_be_refused=True)
            # The rest is for linkers and debuggers: symbols and the list of sections.
            self.check_batch([data[:at] for at in range(end, len(data), step)],
                             must_be_audited=True)

    def test_flipped_bytes_do_not_crash(self):
        chance = random.Random(20261122)
        for data in [*self.samples(), *self.real_samples()]:
            files = []
            for at in [*range(0, 640), *(chance.randrange(len(data)) for _ in range(100))]:
                damaged = bytearray(data)
                damaged[at % len(data)] ^= chance.choice((0xFF, 0x01, 0x80, 0x7F))
                files.append(bytes(damaged))
            self.check_batch(files[::8] if Given.tool.windows else files, must_be_refused=False)


if __name__ == '__main__':
    unittest.main(verbosity=2)
