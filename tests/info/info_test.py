#!/usr/bin/env python3
"""cushim-info on simulated machines: without libraries, with invalid files, with a fake driver and devices."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from tool import Tool, options

given = options.of_command_line()
TOOL = Tool(given.words)
FAKE = TOOL.path(os.path.abspath(given.text('fake')))
HEADERS = int(given.text('headers'))  # CUDA_VERSION

NO_LIBRARY = {'CUSHIM_DISABLE': '1'}

LIBRARY_KEYS = {'state': str, 'reason': (str, type(None)), 'path': (str, type(None)),
                'cuda_version': (str, type(None)), 'candidates': list, 'entry_points': dict}


def fake(**variables):
    return {'CUSHIM_DRIVER': FAKE, 'CUSHIM_RUNTIME': FAKE, **variables}


def version(packed):
    return f'{packed // 1000}.{packed % 1000 // 10}'


class Shape(unittest.TestCase):
    """The JSON object always has the documented keys."""

    def check_library(self, library):
        for key, kind in LIBRARY_KEYS.items():
            self.assertIn(key, library)
            self.assertIsInstance(library[key], kind, key)
        self.assertIn(library['state'], ('loaded', 'absent'))
        for candidate in library['candidates']:
            self.assertIsInstance(candidate['path'], str)
            self.assertIsInstance(candidate['outcome'], str)
        entries = library['entry_points']
        self.assertGreater(entries['total'], 300)
        if entries['asked']:
            self.assertEqual(entries['total'], entries['resolved'] + len(entries['missing']))
        self.assertEqual(len(set(entries['missing'])), len(entries['missing']))

    def check_object(self, found):
        self.assertRegex(found['cushim'], r'^\d+\.\d+\.\d+$')
        self.assertEqual(found['headers']['cuda'], version(HEADERS))
        self.check_library(found['driver'])
        self.check_library(found['runtime'])
        for device in found['devices']:
            self.assertIsInstance(device['ordinal'], int)
            self.assertIsInstance(device['name'], str)
            self.assertRegex(device['compute_capability'], r'^\d+\.\d+$')
            self.assertIsInstance(device['total_memory'], int)
        for hint in found['hints']:
            self.assertIsInstance(hint, str)

    def test_without_library(self):
        self.check_object(TOOL.json(**NO_LIBRARY))

    def test_with_devices(self):
        found = TOOL.json(**fake(FAKE_COUNT='2'))
        self.check_object(found)
        self.assertEqual(len(found['devices']), 2)

    def test_on_this_machine(self):
        self.check_object(TOOL.json())


class NoLibrary(unittest.TestCase):
    def test_prints_the_reason_and_succeeds(self):
        text = TOOL.text(**NO_LIBRARY)
        self.assertIn('driver: absent', text)
        self.assertIn('runtime: absent', text)
        self.assertIn('CUSHIM_DISABLE', text)
        self.assertIn('devices: none', text)
        self.assertIn('hints:', text)

    def test_json_reports_absent(self):
        found = TOOL.json(**NO_LIBRARY)
        for name in ('driver', 'runtime'):
            self.assertEqual(found[name]['state'], 'absent')
            self.assertIn('CUSHIM_DISABLE', found[name]['reason'])
            self.assertEqual(found[name]['reason_code'], 'disabled')
            self.assertIsNone(found[name]['path'])
            self.assertIsNone(found[name]['cuda_version'])
            self.assertEqual(found[name]['entry_points']['resolved'], 0)
        self.assertEqual(found['devices'], [])
        self.assertIsNone(found['init_status'])
        self.assertFalse(found['usable'])

    def test_check_fails_with_one_line(self):
        done = TOOL.run('--check', **NO_LIBRARY)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, b'')
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn(b'no CUDA driver', done.stderr)


class RuntimeAlone(unittest.TestCase):
    """A libcudart without a driver may be healthy: its missing entry points are not reported."""

    def variables(self):
        if TOOL.windows or not sys.platform.startswith('linux'):
            self.skipTest('Windows has another search order')
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        major = '11.0' if HEADERS < 12000 else HEADERS // 1000
        os.symlink(FAKE, os.path.join(holder.name, f'libcudart.so.{major}'))
        return {'LD_LIBRARY_PATH': holder.name}

    def test_runtime_is_not_queried(self):
        variables = self.variables()
        found = TOOL.json('--symbols', **variables)
        if found['driver']['state'] == 'loaded':
            self.skipTest('this machine has a driver')
        self.assertEqual(found['runtime']['state'], 'loaded')
        entries = found['runtime']['entry_points']
        self.assertFalse(entries['asked'])
        self.assertEqual((entries['resolved'], entries['missing']), (0, []))
        self.assertEqual({entry['state'] for entry in entries['symbols']}, {'not_asked'})
        text = TOOL.text(**variables)
        self.assertIn(f"{entries['total']}, not queried: the runtime is not used", text)
        self.assertNotIn(f"{entries['total']} missing", text)
        self.assertIn('not queried', TOOL.text('--symbols', **variables))


class ChosenPath(unittest.TestCase):
    """If a chosen library cannot be loaded, that is the reason, and no other library is used instead."""

    def check_absent(self, path):
        found = TOOL.json(CUSHIM_DRIVER=TOOL.path(path))
        driver = found['driver']
        self.assertEqual(driver['state'], 'absent')
        self.assertIn(TOOL.path(path), driver['reason'])
        self.assertEqual(driver['reason_code'], 'chosen_path')
        self.assertEqual([c['path'] for c in driver['candidates']], [TOOL.path(path)])
        self.assertIn(TOOL.path(path), TOOL.text(CUSHIM_DRIVER=TOOL.path(path)))
        check = TOOL.run('--check', CUSHIM_DRIVER=TOOL.path(path))
        self.assertEqual(check.returncode, 1)
        return driver['candidates'][0]['outcome']

    def test_text_file_is_rejected(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'libcuda.so.1')
            with open(path, 'w', encoding='utf-8') as file:
                file.write('this is not a library\n' * 100)
            self.assertNotEqual(self.check_absent(path), 'loaded')

    def test_missing_file_is_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.check_absent(os.path.join(folder, 'nothing.so')), 'not_found')

    def test_folder_is_rejected(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertNotEqual(self.check_absent(folder), 'loaded')

    def test_truncated_dependency_is_reported(self):
        compiler = shutil.which('cc')
        if TOOL.windows or compiler is None:
            self.skipTest('needs cc')
        with tempfile.TemporaryDirectory() as folder:
            path, needed = (os.path.join(folder, name) for name in ('libcuda.so.1', 'libneeded.so'))
            build = [compiler, '-shared', '-fPIC', '-x', 'c', '-']
            subprocess.run([*build, '-o', needed], input=b'int needed(void) { return 0; } char large[100000] = {1};',
                           check=True)
            subprocess.run([*build, '-Wl,--no-as-needed', '-o', path, '-x', 'none', needed, '-Wl,-rpath,$ORIGIN'],
                           input=b'int cuInit(unsigned flags) { return (int)flags; }', check=True)
            os.truncate(needed, 5000)
            done = TOOL.run(CUSHIM_DRIVER=path)
            self.assertEqual((done.returncode, done.stdout), (1, b''))
            self.assertIn(b'truncated', done.stderr)

    def test_path_is_escaped(self):
        if TOOL.windows:
            self.skipTest('Windows does not allow such file names')
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'a "quoted"\n\tnot \\ found é')
            driver = TOOL.json(CUSHIM_DRIVER=path)['driver']
            self.assertEqual([c['path'] for c in driver['candidates']], [path])
            self.assertIn(path, driver['reason'])
            for line in TOOL.text(CUSHIM_DRIVER=path).splitlines():
                self.assertTrue(line.isprintable(), line)


class Devices(unittest.TestCase):
    def test_are_listed(self):
        found = TOOL.json(**fake(FAKE_COUNT='2'))
        self.assertEqual(found['init_status'], 0)
        self.assertTrue(found['usable'])
        devices = [{key: device[key] for key in
                    ('ordinal', 'name', 'compute_capability', 'total_memory')}
                   for device in found['devices']]
        self.assertEqual(devices, [
            {'ordinal': 0, 'name': 'Fake GPU 7', 'compute_capability': '9.1',
             'total_memory': 80 * 2**30 + 7},
            {'ordinal': 1, 'name': 'Fake GPU 8', 'compute_capability': '9.1',
             'total_memory': 80 * 2**30 + 8}])
        text = TOOL.text(**fake(FAKE_COUNT='2'))
        self.assertIn('0  Fake GPU 7, compute capability 9.1, 80.0 GiB', text)
        self.assertIn('1  Fake GPU 8', text)

    def test_check_prints_nothing(self):
        done = TOOL.run('--check', **fake(FAKE_COUNT='1'))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b'', b''))

    def test_failed_init_is_described(self):
        found = TOOL.json(**fake(FAKE_INIT='100', FAKE_COUNT='1'))
        self.assertEqual(found['init_status'], 100)
        self.assertEqual(found['devices'], [])
        self.assertTrue(found['hints'])
        text = TOOL.text(**fake(FAKE_INIT='100'))
        self.assertIn('100 (CUDA_ERROR_NO_DEVICE: says the fake driver)', text)
        check = TOOL.run('--check', **fake(FAKE_INIT='100'))
        self.assertEqual(check.returncode, 1)
        self.assertIn(b'cuInit returned 100', check.stderr)

    def check_unusable(self, words, **variables):
        done = TOOL.run('--check', **fake(**variables))
        self.assertEqual(done.returncode, 1)
        self.assertIn(words, done.stderr)
        found = TOOL.json(**fake(**variables))
        self.assertFalse(found['usable'])
        return found['devices']

    def test_zero_devices_are_not_usable(self):
        self.check_unusable(b'reports no device', FAKE_COUNT='0')

    def test_failed_count_is_reported(self):
        self.check_unusable(b'cuDeviceGetCount returned 3', FAKE_COUNT_STATUS='3')

    def test_device_in_prohibited_mode_is_not_usable(self):
        self.check_unusable(b'compute mode', FAKE_COUNT='1', FAKE_COMPUTE_MODE='2')

    def test_device_with_a_failed_query_is_not_usable(self):
        devices = self.check_unusable(b'cuDeviceTotalMem returned 999', FAKE_COUNT='1',
                                      FAKE_MEMORY_STATUS='999')
        self.assertIsNone(devices[0]['total_memory'])
        self.assertEqual(devices[0]['name'], 'Fake GPU 7')

    def test_names_are_escaped(self):
        name = 'a "b" \\ \x1b[31m\n'
        found = TOOL.json(**fake(FAKE_COUNT='1', FAKE_NAME=name))
        self.assertEqual(found['devices'][0]['name'], name + ' 7')
        self.assertNotIn('\x1b', TOOL.text(**fake(FAKE_COUNT='1', FAKE_NAME=name)))

    def test_names_that_are_not_utf8_are_replaced(self):
        if TOOL.windows:
            self.skipTest('environment variables are Unicode on Windows')
        name = os.fsdecode(b'\xff\xc0x')
        found = TOOL.json(**fake(FAKE_COUNT='1', FAKE_NAME=name))
        self.assertEqual(found['devices'][0]['name'], '\ufffd\ufffdx 7')

    def test_stub_does_not_count_as_a_driver(self):
        found = TOOL.json(**fake(FAKE_VERSION_STATUS='34'))
        self.assertEqual(found['driver']['state'], 'absent')
        self.assertEqual(found['driver']['candidates'][0]['outcome'], 'link_stub')


class Symbols(unittest.TestCase):
    def rows(self, **variables):
        return [line.split(None, 3) for line in TOOL.text('--symbols', **variables).splitlines()]

    def check_count(self, **variables):
        found = TOOL.json(**variables)
        rows = self.rows(**variables)
        for name in ('driver', 'runtime'):
            entries = found[name]['entry_points']
            own = [row for row in rows if row[0] == name]
            self.assertEqual(len(own), entries['total'])
            self.assertEqual(len([row for row in own if row[3] == 'resolved']), entries['resolved'])
        return rows

    def test_one_line_for_each_entry_point(self):
        rows = self.check_count(**NO_LIBRARY)
        self.assertEqual({row[3] for row in rows}, {'no library'})

    def test_state_of_each_entry_point(self):
        variables = fake(FAKE_DRIVER_VERSION='11040')
        rows = {row[1]: row for row in self.check_count(**variables)}
        self.assertEqual(rows['cuInit'][3], 'resolved')
        self.assertEqual(rows['cuDeviceTotalMem_v2'][3], 'resolved')
        self.assertEqual(rows['cuDeviceTotalMem'][3], 'missing')
        newer = [row for row in rows.values() if row[3].startswith('needs')]
        for row in newer:
            self.assertEqual(row[3], 'needs CUDA ' + row[2])
        self.assertEqual(rows['cudaRuntimeGetVersion'][3], 'resolved')
        self.assertEqual(rows['cudaMalloc'][3], 'missing')
        if HEADERS >= 12000:
            self.assertEqual(rows['cuLibraryLoadData'][3], 'needs CUDA 12.0')

    def test_older_driver_is_a_hint(self):
        if HEADERS < 12000:
            self.skipTest('the headers have no newer entry points')
        hints = TOOL.json(**fake(FAKE_DRIVER_VERSION='11040', FAKE_COUNT='1'))['hints']
        self.assertTrue(any('older than the headers' in hint for hint in hints), hints)

    def test_symbols_in_json(self):
        found = TOOL.json('--symbols', **NO_LIBRARY)
        for name in ('driver', 'runtime'):
            entries = found[name]['entry_points']
            self.assertEqual(len(entries['symbols']), entries['total'])
            self.assertEqual({entry['state'] for entry in entries['symbols']}, {'no_library'})

    def test_columns_are_aligned(self):
        lines = TOOL.text('--symbols', **NO_LIBRARY).splitlines()
        self.assertEqual(len({line.index('no library') for line in lines}), 1)


class CommandLine(unittest.TestCase):
    def test_unknown_option_is_rejected(self):
        for argument in ('--nonsense', 'word', '--check=1'):
            done = TOOL.run(argument, **NO_LIBRARY)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stdout, b'')
            self.assertIn(argument.encode(), done.stderr)

    def test_help_is_printed(self):
        text = TOOL.text('--help')
        for option in ('--symbols', '--check', '--json', '--version', 'CUSHIM_DRIVER'):
            self.assertIn(option, text)

    def test_version_is_printed(self):
        found = TOOL.json(**NO_LIBRARY)
        self.assertIn(found['cushim'], TOOL.text('--version'))
        self.assertIn(version(HEADERS), TOOL.text('--version'))

    @unittest.skipUnless(os.path.exists('/dev/full'), 'needs a device that is always full')
    def test_output_that_cannot_be_written_is_an_error(self):
        with open('/dev/full', 'wb') as full:
            done = subprocess.run([*TOOL.command, '--help'], stdout=full, stderr=subprocess.PIPE,
                                  check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'cannot write', done.stderr)

    def test_check_can_be_combined_with_json(self):
        done = TOOL.run('--check', '--json', **NO_LIBRARY)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith(b'{'))


if __name__ == '__main__':
    unittest.main(verbosity=2)
