"""Shared by the tests of consumers: a staged install of cushim, commands that print their output on failure, and
the two machines on which a consumer's program must run."""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'support'))
import binaries  # noqa: E402
import options  # noqa: E402

CONSUMERS = pathlib.Path(__file__).parent / 'consumers'
OWN_LIBRARY = CONSUMERS / 'own_library'
PREFIX = pathlib.PurePosixPath('/opt/cushim')  # exists on no machine, so that only the staged copy can be found
# These builds are independent: no variable of the outer build may affect them.
UNSET = ('CFLAGS', 'CXXFLAGS', 'CPPFLAGS', 'LDFLAGS', 'DESTDIR', 'MAKEFLAGS', 'PKG_CONFIG_PATH',
         'CUDA_PATH', 'CUDA_HOME', 'CUSHIM_DRIVER', 'CUSHIM_RUNTIME', 'CUSHIM_DISABLE',
         'CONDA_PREFIX', 'VIRTUAL_ENV', 'LD_LIBRARY_PATH')


given = options.of_command_line()
arguments = types.SimpleNamespace(
    source=given.path('source'), work=given.path('work'), version=given.text('version'),
    cuda_version=int(given.text('cuda-version')), cxx=given.command('cxx'), cc=given.command('cc'),
    headers=given.text('headers'),  # empty: the default path of the compiler
    fake_driver=given.text('fake-driver'), fake_runtime=given.text('fake-runtime'),
    nvcc=given.command('nvcc') if given.text('nvcc') else [],  # with its options
    no_nvcc=given.text('no-nvcc'),  # why nvcc is missing
    outer_build=given.path('outer-build'),  # the build that runs these tests
    simulator=given.text('simulator'),  # empty: that build has no simulator
    type=given.text('type', 'static'))  # or shared, or both


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    return {**kept, 'CXX': shlex.join(arguments.cxx), 'CC': shlex.join(arguments.cc),
            'PYTHONDONTWRITEBYTECODE': '1', 'LC_ALL': 'C', **more}


def run(*command, fails=False, **more):
    """Both output streams of a command; with `fails`, of a command that must fail."""
    result = subprocess.run([str(word) for word in command], env=environment(**more), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if (result.returncode != 0) != fails:
        raise AssertionError(f'{shlex.join(map(str, command))}: status {result.returncode}\n'
                             f'{result.stdout[-8000:]}')
    return result.stdout


def need(*programs):
    """Skips the whole script if this machine lacks a program."""
    for program in programs:
        if shutil.which(program) is None:
            print(f'SKIPPED: {program} is not installed')
            sys.exit(77)


def has_nvrtc():
    """Whether the headers of NVRTC are here."""
    includes = ['--include', arguments.headers] if arguments.headers else []
    probe = subprocess.run([sys.executable, arguments.source / 'tools/generate_library.py', '--probe', 'nvrtc',
                            *includes, '--', *arguments.cxx], env=environment(), capture_output=True, check=False)
    return probe.returncode == 0


# Further libraries whose headers are always there, and one with wrappers.
WITH_NVRTC = has_nvrtc()
LIBRARIES = [f'{OWN_LIBRARY}/greeter.txt', 'cusolver', 'cublas'] + ['nvrtc'] * WITH_NVRTC
LIBRARY_HEADERS = [OWN_LIBRARY, CONSUMERS / 'linked_libraries/headers']


@contextlib.contextmanager
def lock(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, 'w', encoding='ascii') as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def setup_options():
    # Tools are installed only beside shared libraries, which their start-up must find. One kind is installed
    # into Meson's default folder, the other into another system's.
    shared = arguments.type != 'static'
    return [f'-Ddefault_library={arguments.type}', '-Doptimization=0', '-Ddebug=false', '-Dwerror=true',
            '-Dtests=disabled',
            f'-Dtools={"enabled" if shared else "disabled"}', '-Dexamples=disabled',
            f'-Dheaders_dir={arguments.headers}', f'--prefix={PREFIX}',
            f'-Dlibraries={",".join(LIBRARIES)}', f'-Dlibrary_headers={",".join(map(str, LIBRARY_HEADERS))}',
            *(['--libdir=lib64'] if arguments.type == 'shared' else [])]


def build():
    """Builds cushim once for all scripts with this kind of library, and returns the folder. With ccache, it is compiled
    again only if the outer build differs: both have the same options, and CUSHIM_PACKAGE_BUILDS puts both folders
    equally deep below the source tree, since the commands name sources by relative paths."""
    folder = pathlib.Path(f'{os.environ.get("CUSHIM_PACKAGE_BUILDS", arguments.work / "cushim")}-{arguments.type}')
    configured = folder / 'configured-as.json'
    wanted = json.dumps([str(arguments.source), arguments.cxx, arguments.cc, setup_options()])
    if not configured.exists() or configured.read_text(encoding='utf-8') != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        run('meson', 'setup', folder, arguments.source, *setup_options())
        configured.write_text(wanted, encoding='utf-8')
    run('meson', 'compile', '-C', folder)
    return folder


def configured_libdir(build_folder):
    all_options = json.loads(run('meson', 'introspect', '--buildoptions', build_folder))
    return next(option['value'] for option in all_options if option['name'] == 'libdir')


@contextlib.contextmanager
def other_libdir(build_folder, libdir):
    before = configured_libdir(build_folder)
    run('meson', 'configure', build_folder, f'-Dlibdir={libdir}')
    run('meson', 'compile', '-C', build_folder)
    yield
    run('meson', 'configure', build_folder, f'-Dlibdir={before}')


class Install:
    """A separate staged install for each script, and for each `libdir` that a script requests."""

    def __init__(self, script, libdir=None):
        self.folder = fresh_folder(script, libdir)
        stage = self.folder / 'stage'
        with lock(arguments.work / f'cushim-{arguments.type}.lock'):
            self.build = build()
            with other_libdir(self.build, libdir) if libdir else contextlib.nullcontext():
                run('meson', 'install', '-C', self.build, '--no-rebuild', '--destdir', stage)
                libdir = configured_libdir(self.build)
        self.prefix = stage / PREFIX.relative_to('/')
        self.include = self.prefix / 'include'
        self.libdir = self.prefix / libdir

    def library(self, name):
        return self.libdir / name

    def files(self):
        return [path for path in self.prefix.rglob('*') if path.is_file()]


def cmake_place(prefix, libdir):
    """The options for find_package(cushim)."""
    place = [f'-DCMAKE_PREFIX_PATH={prefix}']
    # On a Debian without dpkg-dev, Meson also installs into lib64, which Debian's CMake does not search.
    if pathlib.Path(libdir).name == 'lib64':
        place.append(f'-Dcushim_DIR={libdir}/cmake/cushim')
    return place


def fresh_folder(script, part=None):
    words = pathlib.Path(script).stem, arguments.type, part
    folder = arguments.work / '-'.join(filter(None, words)).replace('/', '-')
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def headers_option(name):
    """The option for CMake or Meson that names the CUDA headers."""
    return [f'-D{name}={arguments.headers}'] if arguments.headers else []


def cuda_includes():
    return ['-isystem', arguments.headers] if arguments.headers else []


def exported_names(library, pattern):
    """The exported names that match the pattern."""
    return {name for name, here, binding in binaries.read(library).symbols(dynamic=True)
            if here and binding != binaries.Elf.LOCAL and re.search(pattern, name)}


class ConsumerTest(unittest.TestCase):
    """Checks of the programs of consumers."""

    def check_cpp(self, program, **more):
        """Runs it without a driver and with one."""
        absent = run(program, CUSHIM_DRIVER='/nonexistent/libcuda.so.1', **more)
        self.assertIn(f'cushim {arguments.version}, cuInit 303\n', absent)
        self.assertIn('no CUDA driver: /nonexistent/libcuda.so.1', absent)
        loaded = run(program, CUSHIM_DRIVER=arguments.fake_driver, **more)
        self.assertRegex(loaded, r'cuInit (?!303|0\b|34)\d+\nCUDA driver \d+\.\d, /')

    def check_compiled(self, program, **more):
        """Code that uses the wrappers of NVRTC."""
        self.assertIn('no NVRTC: /nonexistent/nvrtc', run(program, CUSHIM_NVRTC='/nonexistent/nvrtc', **more))

    def check_c(self, program, **more):
        absent = run(program, CUSHIM_DISABLE='1', **more)
        self.assertIn(f'cushim {arguments.version}, absent status 303\n', absent)
        self.assertIn('driver: CUSHIM_DISABLE is set', absent)
        loaded = run(program, CUSHIM_DRIVER=arguments.fake_driver,
                     CUSHIM_RUNTIME=arguments.fake_runtime, **more)
        self.assertRegex(loaded, r'absent status 0\ndriver: CUDA driver \d+\.\d, /')
        self.assertRegex(loaded, r'runtime: CUDA runtime \d+\.\d, /')
        self.assertFalse([name for name in self.needed(program) if 'stdc++' in name],
                         'a C program needs a C++ runtime')

    def check_existing(self, program, shared, **more):
        """Code that does not know cushim, linked to the drop-in."""
        absent = run(program, CUSHIM_DISABLE='1', **more)
        self.assertEqual(absent, 'cuInit 303, cudaGetDeviceCount 35, 0 devices\n')
        loaded = run(program, CUSHIM_DRIVER=arguments.fake_driver,
                     CUSHIM_RUNTIME=arguments.fake_runtime, **more)
        self.assertRegex(loaded, r'cuInit (?!303|0\b|34)\d+, cudaGetDeviceCount (?!303|0\b|35)\d+, ')
        self.check_linked(program, shared)

    def check_driver_api(self, program, shared, **more):
        """Code that takes only the driver API from the drop-in."""
        self.assertRegex(run(program, CUSHIM_DISABLE='1', **more), r'^cuInit 303\b')
        self.assertRegex(run(program, CUSHIM_DRIVER=arguments.fake_driver, **more), r'^cuInit (?!303|0\b|34)\d+\b')
        self.check_linked(program, shared)

    def check_man_page(self, page, program):
        """It describes every option that the program's help names, and is formatted without a warning."""
        text = page.read_text(encoding='ascii')
        self.assertTrue(text.startswith(f'.TH {program.name.upper()} 1 "" "cushim {arguments.version}"\n'), text[:80])
        for section in ('NAME', 'SYNOPSIS', 'DESCRIPTION', 'OPTIONS', 'EXIT STATUS', 'SEE ALSO'):
            self.assertIn(f'\n.SH {section}\n', text)
        # Requests of the man macros alone.
        for line in text.splitlines():
            self.assertRegex(line, r'^([^.\']|\.(TH|SH|B|I|BR|BI|TP|PP|br)\b)', page.name)
        plain = re.sub(r'\\f[BIR]', '', text).replace('\\-', '-')
        options = set(re.findall(r'(?<![\w-])--[a-z][a-z-]*', run(program, '--help')))
        self.assertIn('--help', options)
        self.assertEqual({name for name in options if not re.search(rf'{name}(?![a-z-])', plain)}, set())
        for tool in (['mandoc', '-T', 'lint', '-W', 'warning'], ['groff', '-ww', '-man', '-z', '-T', 'ascii']):
            if shutil.which(tool[0]):
                said = subprocess.run([*tool, page], capture_output=True, text=True, check=False)
                warnings = [line for line in (said.stdout + said.stderr).splitlines() if 'missing date' not in line]
                self.assertEqual(warnings, [])

    def check_small(self, program, *called):
        """The program contains of a drop-in only the functions that it calls."""
        names = {name.split('@')[0] for name, here, _ in binaries.read(program).symbols() if here}
        self.assertEqual({name for name in names if re.match(r'cu(da|solver|blas)?[A-Z]', name)}, set(called))

    def check_linked(self, program, shared):
        needed = self.needed(program)
        self.assertEqual(any('cushim' in name for name in needed), shared, needed)
        self.assertFalse([name for name in needed if 'cuda' in name], needed)

    @staticmethod
    def needed(program):
        return binaries.read(program).needed()


def main():
    unittest.main(verbosity=2)
