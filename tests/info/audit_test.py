#!/usr/bin/env python3
"""cushim-audit on programs that the build linked with stand-ins for CUDA libraries, on generated files, and on damaged
ones.

usage: audit_test.py --audit SCRIPT --info CUSHIM_INFO --built FOLDER --version VERSION --libraries FOLDER [--windows]
"""

import importlib.util
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../support'))
import made_elf  # noqa: E402
import made_pe  # noqa: E402
import options  # noqa: E402

given = options.of_command_line()
AUDIT = [sys.executable, given.text('audit')]
WINDOWS = 'windows' in given.words
STARTS, NEEDS_CUDA, NOT_AUDITED = 0, 1, 2  # exit statuses
DRIVER, RUNTIME, TOOLKIT = ('nvcuda.dll', 'cudart64_13.dll', 'cublas64_13.dll') if WINDOWS else (
    'libcuda.so.1', 'libcudart.so.13', 'libcublas.so.13')


def module():
    spec = importlib.util.spec_from_file_location('audit', given.text('audit'))
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def built(name, library=False):
    """The path of a program or library of the build."""
    ending = ('.dll' if library else '.exe') if WINDOWS else '.so' if library else ''
    return os.path.join(os.path.abspath(given.text('built')), name + ending)


def run(*arguments, **more):
    return subprocess.run([*AUDIT, *arguments], capture_output=True, check=False, timeout=300, **more)


class AuditCase(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def write(self, name, data):
        path = pathlib.Path(self.folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return str(path)

    def audit(self, path, *more):
        """The audit of one file. The exit status and the text agree with it."""
        done = run('--json', *more, path)
        self.assertEqual(done.stderr, b'')
        [found] = json.loads(done.stdout)['audits']
        text = run(*more, path)
        self.text = text.stdout.decode()
        verdict = self.text.splitlines()[0]
        if found['problem']:
            self.assertEqual(verdict, f'{path}: cannot be audited: {found["problem"]}')
            expected = NOT_AUDITED
        else:
            self.assertRegex(verdict, ': needs CUDA (at start-up|to be loaded)$' if found['needs_cuda'] else
                             ': (starts|can be loaded) without CUDA')
            expected = NEEDS_CUDA if found['needs_cuda'] else STARTS
            for needed in found['needed']:
                self.assertIn(' -> '.join(needed['chain']), self.text)
            self.hints = '\n'.join(found['hints'])
        self.assertEqual((done.returncode, text.returncode), (expected, expected))
        return found

    def chains(self, found):
        return [needed['chain'] for needed in found['needed']]


class Linked(AuditCase):
    """Files made by the compiler and the linker."""

    def check_needs(self, name, *chain):
        found = self.audit(built(name))
        self.assertTrue(found['program'])
        self.assertIn([os.path.basename(built(name)), *chain], self.chains(found))
        return found

    def test_program_that_needs_the_driver(self):
        found = self.check_needs('needs_driver', DRIVER)
        self.assertEqual(len(found['needed']), 1)
        self.assertEqual(found['uses'][0]['functions'], ['cuInit'])
        self.assertIn(f'link cushim-dropin-driver in place of {"cuda.lib" if WINDOWS else "-lcuda"}.', self.hints)

    def test_program_that_needs_the_runtime(self):
        found = self.check_needs('needs_runtime', RUNTIME)
        self.assertEqual(found['uses'][0]['functions'], ['cudaSetDevice'])
        self.assertIn(f'link cushim-dropin in place of {"cudart.lib" if WINDOWS else "-lcudart"}.', self.hints)
        self.assertIn('unless they are passed -cudart shared', self.hints)

    def test_program_that_needs_the_driver_through_a_library(self):
        middle = os.path.basename(built('libmiddle', library=True))
        found = self.check_needs('needs_middle', middle, DRIVER)
        self.assertEqual(len(found['needed']), 1)
        self.assertEqual(found['uses'], [{'file': middle, 'functions': ['cuInit']}])
        self.assertIn(f'{middle} links {DRIVER}: link cushim-dropin-driver', self.hints)
        self.assertIn('If you do not build it, load it when', self.hints)

    def test_program_that_needs_a_toolkit_library(self):
        found = self.check_needs('needs_toolkit', TOOLKIT)
        self.check_needs('needs_toolkit', TOOLKIT, RUNTIME)
        self.assertEqual([needed['drop_in'] for needed in found['needed']], ['cushim-cublas-dropin', 'cushim-dropin'])
        self.assertIn('link cushim-cublas-dropin in place of it (built with -Dlibraries=cublas).', self.hints)
        self.assertEqual(len(found['hints']), 1)

    def test_library_that_needs_the_driver(self):
        found = self.audit(built('libmiddle', library=True))
        self.assertFalse(found['program'])
        self.assertIn('needs CUDA to be loaded', self.text)

    def test_program_without_cuda(self):
        found = self.audit(built('needs_nothing'))
        self.assertEqual([found[key] for key in ('needs_cuda', 'needed', 'uses', 'cushim', 'hints', 'static_runtime')],
                         [False, [], [], [], [], False])

    def test_missing_library_is_reported(self):
        path = os.path.join(self.folder, 'app')
        shutil.copy(built('needs_middle'), path)
        found = self.audit(path)
        self.assertFalse(found['needs_cuda'])
        middle = os.path.basename(built('libmiddle', library=True))
        self.assertIn({'library': middle, 'needed_by': 'app', 'problem': None}, found['not_found'])
        self.assertIn(f'not found  {middle}, needed by app', self.text)
        self.assertIn('as far as its libraries were found', self.text)

    @unittest.skipIf(WINDOWS, 'needs symbolic links')
    def test_symbolic_links_are_followed(self):
        path = os.path.join(self.folder, 'link')
        os.symlink(built('needs_middle'), path)
        self.assertTrue(self.audit(path)['needs_cuda'])  # $ORIGIN is the folder of the program itself

    @unittest.skipUnless(os.path.exists(built('links_without_use')), 'needs a linker that keeps unused libraries')
    def test_unused_link_is_reported(self):
        self.assertTrue(self.audit(built('links_without_use'))['needs_cuda'])
        self.assertIn('uses none of its functions: leave it out of the link', self.hints)

    @unittest.skipIf(WINDOWS, 'an import always names its DLL')
    def test_functions_that_are_linked_nowhere_are_reported(self):
        self.assertFalse(self.audit(built('libundefined', library=True))['needs_cuda'])
        self.assertIn('libundefined.so uses cuInit but no file that is loaded with it defines them: '
                      'link cushim-dropin into it, or cushim-dropin-exported', self.hints)
        self.assertTrue(self.audit(built('needs_undefined'))['needs_cuda'])
        self.audit(built('links_for_others'))
        self.assertIn('libundefined.so uses cuInit but finds them only because links_for_others links libcuda.so.1',
                      self.hints)

    def test_parts_of_cushim_are_found_in_stripped_programs(self):
        [part] = self.audit(built('with_core'))['cushim']
        self.assertRegex(part['version'], rf'^cushim {given.text("version")}, built with the headers of CUDA \d+\.\d$')
        self.assertEqual(part['dropins'], [])
        [part] = self.audit(built('with_dropin'))['cushim']
        self.assertEqual(part['version'], 'cushim 1.2.3, built with the headers of CUDA 12.6')
        self.assertEqual(part['dropins'], [
            'cushim-dropin', 'cushim-nvml-dropin', 'cushim-a_library_with_a_long_name-dropin'])
        self.assertIn('contains   with_dropin', self.text)

    def test_cushim_info_needs_no_cuda(self):
        found = self.audit(given.text('info'))
        self.assertFalse(found['needs_cuda'])
        self.assertIn(f'cushim {given.text("version")},', found['cushim'][0]['version'])

    def test_static_runtime_is_found(self):
        names = [name for name in ('runtime_texts', 'static_runtime', 'static_runtime_stripped')
                 if os.path.exists(built(name))]
        self.assertIn('runtime_texts', names)
        for name in names:
            found = self.audit(built(name))
            self.assertEqual((found['static_runtime'], found['needs_cuda']), (True, False), name)
            self.assertIn('loads the driver on its first call', self.hints)

    def test_exit_status_is_that_of_the_worst_file(self):
        nothing, driver = built('needs_nothing'), built('needs_driver')
        self.assertEqual(run(nothing, nothing).returncode, STARTS)
        self.assertEqual(run(driver, nothing).returncode, NEEDS_CUDA)
        self.assertEqual(run(driver, self.folder, nothing).returncode, NOT_AUDITED)


class Root(AuditCase):
    """Generated files of any machine, in the file system of another one."""

    def place(self, name, **what):
        return self.write(name, made_elf.make(**what))

    def audit_app(self, **what):
        return self.audit(self.place('app', **what), '--root', self.folder)

    def test_libraries_are_found_where_systems_have_them(self):
        self.write('etc/ld.so.conf', b'# folders\ninclude ld.so.conf.d/*.conf\n/opt/a\n')
        self.write('etc/ld.so.conf.d/b.conf', b'/opt/b # more\n')
        for place, program in (('opt/a', {}), ('opt/b', {}), ('usr/lib', {}), ('lib64', {}),
                               ('usr/lib/x86_64-linux-gnu', {}), ('usr/aarch64-linux-gnu/lib', {}),
                               ('beside', {'runpath': '$ORIGIN/beside'}), ('x/lib64', {'rpath': '/y:/x/${LIB}'})):
            path = self.place(f'{place}/libfoo.so', program=False, needed=['libcuda.so.1'])
            found = self.audit_app(needed=['libfoo.so'], **program)
            self.assertEqual(self.chains(found), [['app', 'libfoo.so', 'libcuda.so.1']], place)
            os.remove(path)
        self.assertEqual(self.audit_app(needed=['libfoo.so'])['not_found'][0]['library'], 'libfoo.so')

    def test_runpath_is_for_its_own_library_and_rpath_for_its_dependencies_too(self):
        self.place('a/libfoo.so', program=False, needed=['libbar.so'])
        self.place('a/libbar.so', program=False, needed=['libcuda.so.1'])
        self.assertTrue(self.audit_app(needed=['libfoo.so'], rpath='/a')['needs_cuda'])
        found = self.audit_app(needed=['libfoo.so'], runpath='/a')
        self.assertFalse(found['needs_cuda'])
        self.assertEqual(found['not_found'][0], {'library': 'libbar.so', 'needed_by': 'libfoo.so', 'problem': None})

    def test_what_the_driver_needs_is_not_audited(self):
        self.place('lib/libcuda.so.1', program=False, needed=['libgone.so.1', 'libcudart.so.13'])
        found = self.audit_app(needed=['libcuda.so.1'])
        self.assertEqual(found['not_found'], [])
        self.assertEqual(self.chains(found), [['app', 'libcuda.so.1']])

    @unittest.skipIf(os.name == 'nt', 'needs symbolic links')
    def test_links_are_resolved_in_the_root(self):
        self.place('real/libfoo.so.1', program=False, needed=['libcuda.so.1'])
        os.makedirs(os.path.join(self.folder, 'usr'))
        os.symlink('/real', os.path.join(self.folder, 'usr/lib'))
        os.symlink('libfoo.so.1', os.path.join(self.folder, 'real/libfoo.so'))
        os.symlink('loop', os.path.join(self.folder, 'loop'))
        self.assertTrue(self.audit_app(needed=['libfoo.so'])['needs_cuda'])
        self.assertEqual(len(self.audit_app(needed=['x.so'], rpath='/loop')['not_found']), 1)

    def test_other_machines(self):
        for bits, big, machine in made_elf.KINDS:
            self.place('lib64/libfoo.so', program=False)
            self.place('lib/libfoo.so', program=False, needed=['libcuda.so.1'], bits=bits, big=big, machine=machine)
            found = self.audit_app(needed=['libfoo.so'], bits=bits, big=big, machine=machine)
            self.assertEqual(found['needs_cuda'], machine != made_elf.X86_64)
            self.assertIn(f'ELF{bits}, {"big" if big else "little"} endian', found['format'])

    def test_dropin_beside_the_library_is_reported(self):
        notes = made_elf.note('GNU', 0x102, 'not ours') + made_elf.note('cushim', 0x102, '0.1.0 13000')
        self.assertTrue(self.audit_app(needed=['libcuda.so.1'], notes=notes)['needs_cuda'])
        self.assertIn("also contains cushim's drop-in: remove -lcuda from its link.", self.hints)
        found = self.audit_app(bits=32, big=True, machine=made_elf.POWERPC,
                               notes=made_elf.note('cushim', 0x102, '2.0.1 13000', big=True))
        self.assertEqual(found['cushim'][0]['version'], 'cushim 2.0.1, built with the headers of CUDA 13.0')

    def test_unreadable_library_is_reported(self):
        self.write('lib/libfoo.so', b'text')
        found = self.audit_app(needed=['libfoo.so'])
        self.assertIn('lib/libfoo.so: neither an ELF nor a PE file', found['not_found'][0]['problem'])


class Windows(AuditCase):
    """Generated Windows programs."""

    def audit_app(self, **what):
        return self.audit(self.write('app.exe', made_pe.make(**what)))

    def test_imports(self):
        for wide, machine in ((True, made_pe.X86_64), (False, made_pe.I386)):
            found = self.audit_app(wide=wide, machine=machine, needed={
                'KERNEL32.dll': ['ExitProcess'], 'nvcuda.dll': ['cuInit', 12], 'CUDART64_13.DLL': ['cudaMalloc']})
            self.assertEqual(self.chains(found), [['app.exe', 'nvcuda.dll'], ['app.exe', 'CUDART64_13.DLL']])
            self.assertEqual(found['uses'][0]['functions'], ['cuInit', 'cudaMalloc'])
            self.assertIn('link cushim-dropin in place of cuda.lib and cudart.lib', self.hints)

    def test_dll_beside_the_program_is_found_in_any_case(self):
        self.write('Foo.DLL', made_pe.make(dll=True, needed={'nvcuda.dll': ['cuInit']}))
        found = self.audit_app(needed={'foo.dll': ['foo'], 'bar.dll': ['bar']})
        self.assertEqual(self.chains(found), [['app.exe', 'foo.dll', 'nvcuda.dll']])
        self.assertEqual([each['library'] for each in found['not_found']], ['bar.dll'])
        self.assertFalse(self.audit(os.path.join(self.folder, 'Foo.DLL'))['program'])

    def test_delayed_imports_do_not_need_cuda_at_start_up(self):
        found = self.audit_app(needed={'KERNEL32.dll': ['ExitProcess']}, delayed={'nvcuda.dll': ['cuInit']})
        self.assertEqual((found['needs_cuda'], found['loads_later']), (False, True))
        self.assertIn('DLLs on the first call, which objdump does not name', self.text)

    def test_functions_that_the_dropin_lacks(self):
        self.audit_app(needed={'nvcuda.dll': ['cuInit', 'cuGraphicsGLRegisterBuffer']})
        self.assertIn('link cushim-dropin-driver. Keep cuda.lib after the drop-in for cuGraphicsGLRegisterBuffer, '
                      'which it lacks; to start without CUDA, move that code into a library', self.hints)
        self.audit_app(needed={'nvcuda.dll': ['cuD3D11GetDevice']})
        self.assertNotIn('link cushim', self.hints)


class Names(unittest.TestCase):
    def test_libraries(self):
        kind = module().library_kind
        for name, expected in (('libcuda.so.1', 'driver'), ('libcuda.so', 'driver'), ('NVCUDA.dll', 'driver'),
                               ('libcudart.so.13', 'runtime'), ('libcudart-d0da41ae.so.11.0', 'runtime'),
                               ('cudart64_130_0.dll', 'runtime'), ('libnvidia-ml.so.1', 'toolkit'),
                               ('libnppig.so.13', 'toolkit'), ('cudnn_ops64_9.dll', 'toolkit'),
                               ('libnvrtc-builtins.so.13.0', 'toolkit'), ('libcuda_helpers.so', 'other'),
                               ('cuda', 'other'), ('libc.so.6', 'other')):
            self.assertEqual(kind(name)[0], expected, name)

    def test_every_description_of_a_library_is_a_dropin(self):
        described = {path.stem for path in pathlib.Path(given.text('libraries')).iterdir() if path.suffix}
        self.assertEqual(set(module().DROPINS.values()), described)

    def test_functions(self):
        interop = module().INTEROP_FUNCTION.fullmatch
        for name in ('cuGLInit', 'cuWGLGetDevice', 'cuEGLStreamConsumerConnect', 'cuGraphicsEGLRegisterImage',
                     'cuGraphicsResourceGetMappedEglFrame', 'cuEventCreateFromEGLSync', 'cuVDPAUCtxCreate_v2',
                     'cuGraphicsD3D9RegisterResource', 'cudaGLSetGLDevice', 'cudaGraphicsVDPAURegisterVideoSurface'):
            self.assertTrue(interop(name), name)
        for name in ('cuGraphicsMapResources', 'cuGraphicsUnregisterResource', 'cuEventCreate', 'cudaGetDevice'):
            self.assertFalse(interop(name), name)
        for name, kind in (('cuInit', 'driver'), ('cuFileOpen', 'other'), ('cublasCreate_v2', 'other'),
                           ('__cudaRegisterFatBinary', 'runtime'), ('__cudaRegisterLinkedBinary_1', 'other')):
            self.assertEqual(module().function_kind(name), kind, name)


class Damaged(AuditCase):
    """Other files than programs, and damaged ones: a plain message, and never a traceback."""

    def check_refused(self, path, words):
        self.assertIn(words, self.audit(path)['problem'])

    def test_other_files_are_rejected_with_a_reason(self):
        self.check_refused(os.path.join(self.folder, 'nothing'), 'no such file')
        self.check_refused(self.folder, 'not a regular file')
        for data, words in ((b'', 'neither an ELF nor a PE file'), (b'#!/bin/sh\n', 'neither an ELF nor a PE file'),
                            (b'!<arch>\n', 'neither an ELF nor a PE file'),
                            (made_elf.make(kind=1), 'neither a program nor a library: REL'),
                            (made_elf.make(kind=4), 'neither a program nor a library: CORE'),
                            (made_elf.without_dynamic_contents(made_elf.make(needed=['libcuda.so.1'])),
                             'debug information only'),
                            (made_pe.make(needed={'nvcuda.dll': ['cuInit']})[:0x440], 'truncated'),
                            (b'MZ' + bytes(100), 'truncated'), (b'\x7fELF', 'truncated')):
            self.check_refused(self.write('file', data), words)

    @unittest.skipUnless(hasattr(os, 'mkfifo'), 'needs named pipes')
    def test_named_pipe_is_rejected_without_waiting(self):
        path = os.path.join(self.folder, 'pipe')
        os.mkfifo(path)
        self.check_refused(path, 'not a regular file')

    def check_all(self, files):
        """The audits of all files in one run."""
        paths = [self.write(f'{i}.bin', data) for i, data in enumerate(files)]
        done = run('--json', *paths)
        self.assertEqual(done.stderr, b'')
        audits = json.loads(done.stdout)['audits']
        self.assertEqual([audit['path'] for audit in audits], paths)
        return audits

    def test_truncated_files_are_rejected(self):
        elf = made_elf.make(needed=['libcuda.so.1'], notes=bytes(32))
        for data, end in (elf, len(elf)), (made_pe.make(needed={'nvcuda.dll': ['cuInit']}), 0x440):
            for audit in self.check_all([data[:at] for at in range(0, end, 48)]):
                self.assertTrue(audit['problem'], audit)

    def test_truncated_programs_of_the_linker_are_rejected(self):
        data = pathlib.Path(built('needs_driver')).read_bytes()
        end = len(data) // 2 if WINDOWS else made_elf.end_of_segments(data)
        for audit in self.check_all([data[:at] for at in range(0, end, end // 40)]):
            self.assertTrue(audit['problem'], audit)

    def test_flipped_bytes_do_not_crash(self):
        chance = random.Random(20261122)
        for data in (made_elf.make(needed=['libcuda.so.1'], runpath='$ORIGIN/$LIB', soname='x', defined=['cuInit']),
                     pathlib.Path(built('needs_driver')).read_bytes(), made_pe.make(needed={'nvcuda.dll': ['cuInit']})):
            files = []
            for _ in range(60):
                damaged = bytearray(data)
                damaged[chance.randrange(min(len(data), 4096))] ^= chance.choice((0xFF, 0x01, 0x80, 0x7F))
                files.append(bytes(damaged))
            self.check_all(files)


class CommandLine(AuditCase):
    def test_missing_tools_are_named(self):
        for name, tool in (('needs_driver', 'objdump' if WINDOWS else 'readelf'),):
            done = run(built(name), env={**os.environ, 'PATH': self.folder})
            self.assertEqual((done.returncode, done.stderr), (NOT_AUDITED, b''))
            self.assertIn(f'this file is read with {tool}, which was not found: install binutils or LLVM',
                          done.stdout.decode())

    def test_usage(self):
        for arguments in ((), ('--nonsense', 'x'), ('x', '--root')):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stdout), (NOT_AUDITED, b''))
            self.assertIn(b'usage: cushim-audit', done.stderr)
        self.assertIn(b'--json: cannot be audited: no such file', run('--', '--json').stdout)
        self.assertIn(b'LD_LIBRARY_PATH is ignored', run('--help').stdout)

    @unittest.skipIf(os.name == 'nt', 'Windows does not allow such file names')
    def test_names_are_escaped(self):
        path = self.write('a "b"\n\x1b[31m', made_elf.make(needed=['lib\x1b"\\.so', 'libcuda.so.1']))
        self.assertIn('app', json.loads(run('--json', path).stdout)['audits'][0]['path'] + 'app')
        self.assertNotIn(b'\x1b', run(path).stdout)

    @unittest.skipUnless(os.path.exists('/dev/full'), 'needs a device that is always full')
    def test_output_that_cannot_be_written_is_an_error(self):
        with open('/dev/full', 'wb') as full:
            done = subprocess.run([*AUDIT, built('needs_driver')], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, NOT_AUDITED)
        self.assertRegex(done.stderr.decode(), '^cushim-audit: cannot write the output: .*\n$')


if __name__ == '__main__':
    unittest.main(verbosity=2)
