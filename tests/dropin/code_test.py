#!/usr/bin/env python3
"""The machine code of the drop-in: a function is a jump through its slot, and nothing else.

usage: code_test.py ARCHIVE... --rows ROWS_JSON --objdump OBJDUMP --machine CPU --core static|shared
                    --compiler ID [--core-archive ARCHIVE] [--readelf READELF]
                    [--landing-pads FLAG --work FOLDER --compile WORDS --sources FILE...]

On x86-64 Linux the number of instructions is a promise; elsewhere it is printed.
"""

import argparse
import collections
import functools
import json
import pathlib
import re
import subprocess
import sys
import unittest

# An instruction that only says that an indirect jump may land here.
LANDING_PADS = ('endbr64', 'bti')
PADDING = re.compile(r'(data16 |cs )*(nop|xchg +%ax,%ax|int3|udf)')
# With an archive of cushim-core; one more where a shared library has the slot.
MOST = {'gcc': 1, 'clang': 2}
# What a calling convention makes longer: arguments smaller than a register, which g++ extends once more;
# structures by value in registers, which it also writes to the stack; a structure as the result. Of the
# longest rows, none is one that programs call in a tight loop but the launch.
LONGER = {
    'gcc': {r'cuMemsetD(2D)?(8|16)(Async)?(_v2)?(_ptds|_ptsz)?': 3,
            r'cudaLaunch(Cooperative)?Kernel(_ptds|_ptsz)?': 5,
            r'cudaCreateChannelDesc': 7},
    'clang': {r'cudaCreateChannelDesc': 7},
}

arguments = None


def words(text):
    return text.split('\x1f')


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True,
                          text=True).stdout


@functools.lru_cache
def functions(path):
    """The instructions of each function, landing pads and padding apart, and the landing pads."""
    code, pads, sections, name, section = {}, collections.Counter(), {}, None, None
    for line in run(arguments.objdump, '-d', '--no-show-raw-insn', path).splitlines():
        if found := re.match(r'Disassembly of section (.+):$', line):
            section = found.group(1)
        elif found := re.match(r'[0-9a-f]+ <(.+)>:$', line):
            name = found.group(1)
            code[name], sections[name] = [], section
        elif name and (found := re.match(r' +[0-9a-f]+:\t(\S.*?)(\s+[#<].*)?$', line)):
            instruction = found.group(1)
            if instruction.split()[0] in LANDING_PADS:
                pads[name] += 1
            elif not PADDING.match(instruction):
                code[name].append(instruction)
    return code, pads, sections


def rows():
    with open(arguments.rows, encoding='utf-8') as file:
        tables = json.load(file)['tables']
    return [row['export'] for table in tables.values() for row in table['rows']]


def most(name):
    """How many instructions a function may have."""
    count = next((longer for pattern, longer in LONGER[arguments.compiler].items()
                  if re.fullmatch(pattern, name)), MOST[arguments.compiler])
    return count + (1 if arguments.core == 'shared' else 0)


def print_counts(code):
    counts = collections.Counter(len(code[name]) for name in rows())
    print(', '.join(f'{count} functions of {length} instructions'
                    for length, count in sorted(counts.items())))
    usual = counts.most_common(1)[0][0]
    for name in rows():
        if len(code[name]) > usual:
            print(f'  {name}: {len(code[name])}')


class Code(unittest.TestCase):
    maxDiff = None

    def test_has_every_row(self):
        names = rows()
        self.assertGreater(len(names), 800)
        for archive in arguments.archives:
            code, _, _ = functions(archive)
            self.assertEqual(set(names) - set(code), set())
            more = {name for name in set(code) - set(names) if re.match('cu(da)?[A-Z]', name)}
            self.assertEqual(more, set(), 'functions that no header declares')

    def test_each_is_in_a_section_of_its_own(self):
        """Else a program would carry what it never calls."""
        for archive in arguments.archives:
            _, _, sections = functions(archive)
            for name in rows():
                self.assertRegex(sections[name], rf'^\.text[.$]{name}$')

    def test_each_is_a_jump(self):
        for archive in arguments.archives:
            code, _, _ = functions(archive)
            print(f'{archive.name}: ', end='')
            print_counts(code)
            self.check_lengths(code)

    def check_lengths(self, code):
        if arguments.machine != 'x86_64-linux' or arguments.compiler not in MOST:
            self.skipTest(f'reported only for {arguments.compiler} on {arguments.machine}')
        too_long = {name: code[name] for name in rows() if len(code[name]) > most(name)}
        self.assertEqual(too_long, {})
        for name in rows():
            if len(code[name]) == 1:
                self.assertRegex(code[name][0], r'^jmp +\*0x0\(%rip\)$', name)


class LandingPads(unittest.TestCase):
    """For processors that check where jumps land. One object without the note that it is fit for them, and
    the linker gives up the check for the whole program."""

    def test_no_object_is_behind_the_others(self):
        """What this build's compiler makes of itself, or was told to."""
        if not arguments.readelf:
            self.skipTest('not of this format')
        archives = arguments.archives + ([arguments.core_archive] if arguments.core_archive else [])
        for archive in archives:
            notes = run(arguments.readelf, '-n', archive)
            objects = [part for part in re.split(r'^File: ', notes, flags=re.M) if part.strip()]
            fit = [part for part in objects if re.search(r'\b(IBT|BTI)\b', part)]
            print(f'{archive.name}: {len(fit)} of {len(objects)} objects are fit')
            self.assertIn(len(fit), (0, len(objects)), archive.name)

    def test_generated_code_has_them(self):
        """The sources once more, compiled for such a processor."""
        if not arguments.landing_pads:
            self.skipTest('this compiler makes none')
        arguments.work.mkdir(parents=True, exist_ok=True)
        for source in arguments.sources:
            compiled = arguments.work / (source.stem + '.o')
            run(*words(arguments.compile), arguments.landing_pads, '-c', source, '-o', compiled)
            with self.subTest(source.name):
                self.check_notes(compiled)
                self.check_pads(compiled)

    def check_notes(self, path):
        wanted = 'x86 feature: IBT, SHSTK' if arguments.machine.startswith('x86_64') else \
            'AArch64 feature: BTI'
        self.assertIn(wanted, run(arguments.readelf, '-n', path))

    def check_pads(self, path):
        code, pads, _ = functions(path)
        mine = [name for name in rows() if name in code]
        self.assertTrue(mine)
        self.assertEqual({name for name in mine if pads[name] != 1}, set())
        print(f'{path.name}: {len(mine)} functions, each with a landing pad')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('archives', type=pathlib.Path, nargs='+')
    parser.add_argument('--rows', required=True)
    parser.add_argument('--objdump', required=True)
    parser.add_argument('--machine', required=True)
    parser.add_argument('--core', choices=('static', 'shared'), required=True)
    parser.add_argument('--compiler', required=True)
    parser.add_argument('--core-archive', type=pathlib.Path)
    parser.add_argument('--readelf')
    parser.add_argument('--landing-pads')
    parser.add_argument('--work', type=pathlib.Path)
    parser.add_argument('--compile', help='words separated by the unit separator (0x1f)')
    parser.add_argument('--sources', type=pathlib.Path, nargs='*', default=[])
    global arguments
    arguments = parser.parse_args()
    unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == '__main__':
    main()
