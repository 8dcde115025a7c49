"""Code that a compiler registers before main reaches libcudart: not before the first use, then all of it, in
order, before the call that needs it."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent.parent / 'support'))
import quiet  # noqa: E402

PROGRAM, PLUGIN, RUNTIME, DRIVER, CORE = sys.argv[1:6]
SHARED_CORE = CORE == 'shared'  # the program and its plugin share one loader
WINDOWS = PROGRAM.endswith('.exe')

ALL_KINDS = [
    'RegisterFatBinary 0x100',
    'RegisterFunction 0x101 0x101 0x102 kernel 3 0x4 0x5 0x6 0x7 0x8',
    'RegisterVar 0x101 0x111 0x112 variable 1 2 3 4',
    'RegisterManagedVar 0x101 0x121 0x122 managed 5 6 7 8',
    'RegisterHostVar 0x101 host 0x131 9',
    'RegisterTexture 0x101 0x141 0x142 texture 1 2 3',
    'RegisterSurface 0x101 0x151 0x152 surface 4 5',
    'RegisterUnifiedTable 0x101 0x161 0x162 0x163 0x164',
    'RegisterFatBinaryEnd 0x101',
]


def kernel(binary, code, name):
    return (f'RegisterFunction {binary + 1:#x} {code + 2:#x} {code + 3:#x} {name} -1'
            ' (nil) (nil) (nil) (nil) (nil)')


def one(code, name):
    return [f'RegisterFatBinary {code:#x}', kernel(code, code, name),
            f'RegisterFatBinaryEnd {code + 1:#x}']


BEFORE_MAIN = ALL_KINDS + one(0x200, 'second')
USED = ['cudaDeviceSynchronize']
GONE = ['libcudart is gone']


def end(second=0x200, first=0x100):
    """The program's own exit handler unregisters everything, then libcudart ends. On Windows that handler runs
    before those of all DLLs; elsewhere a shared core learns of the end of libcudart before it runs."""
    return [f'UnregisterFatBinary {second + 1:#x}', f'UnregisterFatBinary {first + 1:#x}'] + GONE \
        if WINDOWS and SHARED_CORE else GONE


# Addresses as Windows prints them.
ADDRESS = r'\b[0-9A-F]{16}\b'


def address(found):
    """The same address as other systems print it."""
    number = int(found.group(0), 16)
    return f'{number:#x}' if number else '(nil)'


def path(name):
    """The path for the program; Wine shows the root folder as drive Z."""
    return 'Z:' + os.path.abspath(name) if WINDOWS and os.name != 'nt' else name


class Registration(unittest.TestCase):
    def run_program(self, *arguments, **environment):
        """The lines that the fake libcudart logged."""
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, 'log')
            variables = {'CUSHIM_RUNTIME': path(RUNTIME), 'CUSHIM_DRIVER': path(DRIVER),
                         'REGISTRATION_LOG': path(log)}
            done = subprocess.run(
                [*quiet.wrapper(), PROGRAM, *arguments], capture_output=True, text=True, timeout=120,
                env={**quiet.environment(PROGRAM), 'CUSHIM_DISABLE': '', **variables, **environment})
            if done.returncode == 77:
                self.skipTest(done.stdout.strip())
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            if not os.path.exists(log):
                return []
            with open(log, encoding='utf-8') as file:
                return [re.sub(ADDRESS, address, line) for line in file.read().splitlines()]

    def test_nothing_is_loaded_without_a_use(self):
        self.assertEqual(self.run_program('unused'), [])

    def test_the_first_use_registers_everything_in_order(self):
        self.assertEqual(self.run_program('first'), BEFORE_MAIN + USED + end())

    def test_later_registrations_take_effect_at_once(self):
        self.assertEqual(
            self.run_program('late'),
            BEFORE_MAIN + USED + one(0x300, 'late') + USED + ['UnregisterFatBinary 0x301'] + USED + end())

    def test_code_unregistered_before_the_first_use_is_never_passed_on(self):
        self.assertEqual(self.run_program('withdrawn'),
                         ALL_KINDS + one(0x400, 'in its place') + USED + end(0x400))

    def test_code_that_libcudart_has_can_register_more(self):
        self.assertEqual(self.run_program('more-for-older'), [
            *BEFORE_MAIN, *USED, *one(0x300, 'newest'), kernel(0x200, 0x600, 'more for the second'),
            kernel(0x300, 0x700, 'more for the newest'), 'UnregisterFatBinary 0x301',
            kernel(0x200, 0x800, 'yet more'), *USED, *end()])

    def test_the_first_code_can_be_unregistered_before_the_first_use(self):
        self.assertEqual(self.run_program('withdrawn-first'), [
            *one(0x200, 'second'), kernel(0x200, 0x600, 'more for the second'),
            *one(0x400, 'in its place'), *USED, *end(first=0x400)])

    def test_launch_calls_are_forwarded(self):
        self.assertEqual(self.run_program('launch'), BEFORE_MAIN + [
            'PushCallConfiguration 1,2,3 4,5,6 7 0x8', 'GetKernel 0x101', 'PopCallConfiguration',
            'LaunchKernel 0x77 1,2,3 4,5,6 0x7 8 0x9',
            'LaunchKernel_ptsz 0x77 6,5,4 3,2,1 0x10 17 0x12', 'InitModule 0x101'] + end())

    def test_without_a_runtime_launches_fail(self):
        self.assertEqual(self.run_program('absent', CUSHIM_DISABLE='1'), [])

    def test_a_call_finds_everything_registered_before_it(self):
        for _ in range(1 if WINDOWS else 5):  # under Wine each takes seconds
            lines = self.run_program('threads')
            self.assertEqual(lines[-1:], GONE)
            self.assertFalse([line for line in lines if line.startswith('too late')])

    @unittest.skipIf(WINDOWS, 'no fork on Windows')
    def test_the_child_of_a_fork_passes_on_what_its_parent_registered(self):
        # The child ends with _exit, so its libcudart logs no end.
        self.assertEqual(self.run_program('fork'), BEFORE_MAIN + USED)

    @unittest.skipIf(WINDOWS, 'no fork on Windows')
    def test_a_fork_during_registrations_of_another_thread_does_not_block_the_child(self):
        self.run_program('fork-in-between')

    @unittest.skipIf(WINDOWS, 'clock() measures elapsed time there, not CPU time')
    def test_thousands_are_unregistered_in_linear_time(self):
        self.assertEqual(self.run_program('many'), BEFORE_MAIN + USED + end())

    def test_a_plugin_registers_its_own_code(self):
        self.check_plugin('plugin')

    def test_a_plugin_that_used_nothing_can_be_unloaded(self):
        self.check_plugin('plugin-unused')

    def check_plugin(self, what):
        lines = self.run_program(what, path(PLUGIN))
        plugin = one(0x500, 'plugin')
        self.assertEqual(lines, BEFORE_MAIN + plugin + USED + ['UnregisterFatBinary 0x501'] + USED + end()
                         if SHARED_CORE else plugin + USED + BEFORE_MAIN + USED + end())

    def test_a_plugin_after_the_first_use(self):
        lines = self.run_program('plugin-after', path(PLUGIN))
        # A plugin with its own loader stays loaded.
        leaves = ['UnregisterFatBinary 0x501'] if SHARED_CORE else []
        self.assertEqual(lines,
                         BEFORE_MAIN + USED + one(0x500, 'plugin') + USED + leaves + USED + end())

    def test_a_plugin_that_stays_until_the_end(self):
        lines = self.run_program('plugin-stays', path(PLUGIN))
        plugin = one(0x500, 'plugin')
        self.assertEqual(lines, BEFORE_MAIN + plugin + USED + USED + end()
                         if SHARED_CORE else plugin + USED + BEFORE_MAIN + USED + end())

    def test_a_plugin_after_the_first_use_that_stays_until_the_end(self):
        # The plugin's handlers run first, before the program's loader learns of the end.
        leaves = ['UnregisterFatBinary 0x501'] if SHARED_CORE and not WINDOWS else []
        self.assertEqual(self.run_program('plugin-stays-after', path(PLUGIN)),
                         BEFORE_MAIN + USED + one(0x500, 'plugin') + USED + USED + leaves + end())


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[6:]], verbosity=2)
