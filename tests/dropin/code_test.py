#!/usr/bin/env python3
"""The machine code of the drop-in: every function is a single jump through its slot.

usage: code_test.py ARCHIVE... --rows ROWS_JSON --objdump OBJDUMP --machine CPU --core static|shared
                    --compiler ID

On x86-64 Linux the number of instructions is limited; elsewhere it is only printed. Landing pads are not
counted; landing_pads_test.py checks them.
"""

import collections
import functools
import json
import pathlib
import re
import sys
import unittest

import machine_code

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'support'))
import options  # noqa: E402

# With a static cushim-core. If a shared library holds the slot, one instruction more is allowed.
MOST = {'gcc': 1, 'clang': 2}
# Functions that compilers call around a launch; no header declares them (src/dropin/compiler_calls.c).
AROUND_A_LAUNCH = ['__cudaPushCallConfiguration', '__cudaPopCallConfiguration', '__cudaGetKernel',
                   '__cudaLaunchKernel', '__cudaLaunchKernel_ptsz']
# The calling convention makes these longer: g++ extends small arguments a second time and writes structures
# that are passed in registers to the stack; cudaCreateChannelDesc returns a structure. The launch is the only
# one of the longest functions that programs call in tight loops.
LONGER = {
    'gcc': {r'cuMemsetD(2D)?(8|16)(Async)?(_v2)?(_ptds|_ptsz)?': 3,
            r'(__)?cudaLaunch(Cooperative)?Kernel(_ptds|_ptsz)?': 5,
            r'__cudaPushCallConfiguration': 7,
            r'cudaCreateChannelDesc': 7},
    'clang': {r'cudaCreateChannelDesc': 7},
}

arguments = options.of_command_line()
ARCHIVES = [pathlib.Path(word) for word in arguments.words]
COMPILER, MACHINE = arguments.text('compiler'), arguments.text('machine')


@functools.lru_cache
def functions(path):
    return {function.name: function
            for function in machine_code.functions(arguments.text('objdump'), path)}


def rows():
    with open(arguments.text('rows'), encoding='utf-8') as file:
        tables = json.load(file)['tables']
    return [row['export'] for table in tables.values() for row in table['rows']]


def most(name):
    """The largest number of instructions that this function may have."""
    count = next((longer for pattern, longer in LONGER[COMPILER].items()
                  if re.fullmatch(pattern, name)), MOST[COMPILER])
    return count + (1 if arguments.text('core') == 'shared' else 0)


def print_counts(lengths):
    counts = collections.Counter(lengths.values())
    print(', '.join(f'{count} functions of {length} instructions'
                    for length, count in sorted(counts.items())))
    usual = counts.most_common(1)[0][0]
    for name, length in lengths.items():
        if length > usual:
            print(f'  {name}: {length}')


class Code(unittest.TestCase):
    maxDiff = None

    def test_archive_defines_every_function_of_the_tables(self):
        names = rows()
        self.assertGreater(len(names), 800)
        for archive in ARCHIVES:
            code = set(functions(archive))
            self.assertEqual(set(names) - code, set())
            more = {name for name in code - set(names) if re.match('cu(da)?[A-Z]', name)}
            self.assertEqual(more, set(), 'functions that no header declares')

    def test_every_function_has_its_own_section(self):
        """Otherwise a program would contain functions that it never calls."""
        for archive in ARCHIVES:
            code = functions(archive)
            for name in rows() + AROUND_A_LAUNCH:
                self.assertRegex(code[name].section, rf'^\.text[.$]{name}$')

    def test_every_function_is_one_jump(self):
        code = {archive.name: self.work(archive) for archive in ARCHIVES}
        for name, work in code.items():
            print(f'{name}: ', end='')
            print_counts({row: len(instructions) for row, instructions in work.items()})
        if MACHINE != 'x86_64-linux' or COMPILER not in MOST:
            self.skipTest(f'reported only for {COMPILER} on {MACHINE}')
        for name, work in code.items():
            with self.subTest(name):
                self.check_lengths(work)

    @staticmethod
    def work(archive):
        """The instructions of each function that goes through a slot."""
        code = functions(archive)
        return {name: code[name].work for name in rows() + AROUND_A_LAUNCH}

    def check_lengths(self, work):
        too_long = {name: instructions for name, instructions in work.items()
                    if len(instructions) > most(name)}
        self.assertEqual(too_long, {})
        for name, instructions in work.items():
            if len(instructions) == 1:
                self.assertRegex(instructions[0], r'^jmp +\*0x0\(%rip\)$', name)


if __name__ == '__main__':
    unittest.main(verbosity=2)
