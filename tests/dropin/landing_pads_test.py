#!/usr/bin/env python3
"""Processors may check that an indirect jump lands on a landing pad (Intel's CET, Arm's BTI). Linkers enable
the check only if every object is marked as ready for it. Linking the drop-in or the loader must not disable it:
their functions have landing pads, and each of their objects is marked.

usage: landing_pads_test.py HIDDEN EXPORTED --version-script FILE [--archives ARCHIVE...]
                            --protections NAME... --objdump OBJDUMP --readelf READELF --work FOLDER
                            --compile WORDS

--archives: the other archives that programs link besides one of the two, the loader and the wrappers.
"""

import pathlib
import subprocess
import sys
import unittest

import machine_code

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'support'))
import binaries  # noqa: E402
import marks  # noqa: E402
import options  # noqa: E402

LINKERS = ('bfd', 'gold', 'lld', 'mold')
# The linker option that rejects an unmarked object, and the compiler option that makes such an object.
REFUSE_UNFIT = {'IBT': ('-Wl,-z,cet-report=error', '-fcf-protection=none'),
                'BTI': ('-Wl,-z,force-bti,--fatal-warnings', '-mbranch-protection=none')}

given = options.of_command_line()
ARCHIVES = [pathlib.Path(word) for word in given.words + given.all('archives')]
DROPINS = ARCHIVES[:2]
PROTECTIONS = set(given.all('protections'))
OBJDUMP, READELF, COMPILE = given.text('objdump'), given.text('readelf'), given.command('compile')
WORK, VERSION_SCRIPT = given.path('work'), given.text('version-script')


def global_names(archive):
    """(member, name) of every function that other objects may call or take the address of."""
    return {(member, name)
            for member, data in binaries.archive_members(archive)
            for name, here, binding in binaries.Elf(data).symbols()
            if here and binding != binaries.Elf.LOCAL}


class Archives(unittest.TestCase):
    maxDiff = None

    def test_every_object_is_marked(self):
        for archive in ARCHIVES:
            members = machine_code.protections(READELF, archive)
            print(f'{archive.name}: {len(members)} objects')
            self.assertEqual(len(members), len(binaries.archive_members(archive)))
            for member in members:
                self.assertEqual(member, PROTECTIONS, archive.name)

    def test_every_function_has_a_landing_pad(self):
        """The CUDA functions, whose addresses programs take, and the functions that the slots point to."""
        for archive in ARCHIVES:
            names = {(member, name.partition('@')[0]) for member, name in global_names(archive)}
            code = [function for function in machine_code.functions(OBJDUMP, archive)
                    if (function.file, function.name) in names]
            print(f'{archive.name}: {len(code)} visible functions')
            self.assertGreater(len(code), 10)
            self.assertEqual([f'{function.file}: {function.name}' for function in code
                              if not function.has_landing_pad], [])


class Linked(unittest.TestCase):
    """Links only the whole archives: the system's start files and libraries may be unmarked."""

    def setUp(self):
        WORK.mkdir(parents=True, exist_ok=True)
        # With what the start files define for thread_local objects.
        self.empty = WORK / 'empty.c'
        self.empty.write_text('extern int nothing;\nint nothing;\n'
                              'extern __attribute__((visibility("hidden"))) void *__dso_handle;\n'
                              'void *__dso_handle;\n')

    def link(self, output, linker, *inputs, options=()):
        """Whether the link succeeds."""
        command = [*COMPILE, '-shared', '-nostdlib', f'-fuse-ld={linker}', *options,
                   f'-Wl,--version-script={VERSION_SCRIPT}', '-Wl,--whole-archive', *inputs,
                   '-Wl,--no-whole-archive', '-o', output]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              check=False)
        self.messages = done.stderr
        return done.returncode == 0

    def linkers(self):
        """The linkers that write the note."""
        for linker in LINKERS:
            empty = WORK / f'empty-{linker}.so'
            if not self.link(empty, linker, self.empty):
                print(f'{linker}: not on this machine')
            elif machine_code.protections(READELF, empty) != [PROTECTIONS]:
                print(f'{linker}: does not write the note')
            else:
                yield linker

    def test_linked_library_is_marked(self):
        checked = 0
        for linker in self.linkers():
            for archive in DROPINS:
                output = WORK / f'{archive.stem}-{linker}.so'
                with self.subTest(linker=linker, archive=archive.name):
                    self.assertTrue(self.link(output, linker, self.empty, archive,
                                              *ARCHIVES[2:]), self.messages)
                    self.assertEqual(machine_code.protections(READELF, output), [PROTECTIONS])
                    # `cushim-audit` still finds its own note beside that one.
                    self.assertLessEqual({marks.DROPIN}, marks.of(output))
                    print(f'{linker}, {archive.name}: {", ".join(sorted(PROTECTIONS))}')
                    checked += 1
        self.assertGreater(checked, 0, 'no linker on this machine writes the note')

    def test_strict_linkers_accept_the_archives(self):
        option, unfit_option = REFUSE_UNFIT['BTI' if 'BTI' in PROTECTIONS else 'IBT']
        unfit = WORK / 'unfit.o'
        subprocess.run([*COMPILE, unfit_option, '-c', self.empty, '-o', unfit], check=True)
        refusing = 0
        for linker in LINKERS:
            output = WORK / f'refusing-{linker}.so'
            if not self.link(output, linker, self.empty, options=[option]) or \
                    self.link(output, linker, unfit, options=[option]):
                print(f'{linker} {option}: not on this machine, or without the option')
                continue
            refusing += 1
            for archive in DROPINS:
                with self.subTest(linker=linker, archive=archive.name):
                    self.assertTrue(self.link(output, linker, self.empty, archive, *ARCHIVES[2:],
                                              options=[option]), self.messages)
                    print(f'{linker} {option}: takes {archive.name}')
        if refusing == 0:
            self.skipTest(f'no linker on this machine supports {option}')


if __name__ == '__main__':
    unittest.main(verbosity=2)
