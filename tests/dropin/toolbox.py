"""Shared by the tests of the drop-in: link C programs that know nothing of cushim, as their makefiles would, and
run them without CUDA or on the simulator."""

import functools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import types

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'support'))
import binaries  # noqa: E402
import options  # noqa: E402
import versions  # noqa: E402

LINKERS = ('bfd', 'gold', 'lld', 'mold')
PROGRAMS = pathlib.Path(__file__).parent / 'programs'
UNSET = ('CFLAGS', 'CXXFLAGS', 'CPPFLAGS', 'LDFLAGS', 'CUDA_PATH', 'CUDA_HOME', 'CONDA_PREFIX',
         'VIRTUAL_ENV', 'LD_LIBRARY_PATH', 'LD_PRELOAD')


given = options.of_command_line()
arguments = types.SimpleNamespace(cc=given.command('cc'), headers=given.text('headers'), **{
    name: given.path(name.replace('_', '-')) for name in (
        'work', 'dropin', 'exported', 'version_script', 'core', 'fake_driver', 'fake_runtime',
        'other_runtime',  # of another major version
        'sim_driver', 'sim_runtime')})  # None: not built
CORE_IS_SHARED = '.so' in arguments.core.name
CORE = [arguments.core, '-ldl', '-pthread',
        *([f'-Wl,-rpath,{arguments.core.parent}'] if CORE_IS_SHARED else [])]
HIDDEN = [arguments.dropin, *CORE]
EXPORTED = [arguments.exported, *CORE]


def environment(**more):
    kept = {name: value for name, value in os.environ.items()
            if name not in UNSET and not name.startswith('CUSHIM_')}
    return {**kept, 'LC_ALL': 'C', **more}


def absent(**more):
    return environment(CUSHIM_DISABLE='1', **more)


def present(**more):
    """The environment that selects the simulated driver and runtime."""
    return environment(CUSHIM_DRIVER=str(arguments.sim_driver),
                       CUSHIM_RUNTIME=str(arguments.sim_runtime), **more)


def has_simulator():
    return arguments.sim_driver is not None and arguments.sim_driver.exists()


def real_libraries(folder, driver, runtime):
    """A folder with both libraries under the names that -lcuda, -lcudart and the dynamic linker look for."""
    real = folder / 'real'
    real.mkdir()
    for library, name in ((driver, 'libcuda'), (runtime, 'libcudart')):
        for link_name in (f'{name}.so', library.name):
            (real / link_name).symlink_to(library)
    return real


def static_runtime():
    """NVIDIA's libcudart_static.a of the drop-in's major version, beside the headers or in an installed
    toolkit; otherwise None."""
    include = pathlib.Path(arguments.headers or '/usr/local/cuda/include').resolve()
    if major_of_headers(include) != versions.major_of_archive(arguments.exported):
        return None
    root = include.parent
    places = (root / name / 'libcudart_static.a' for name in ('lib64', 'lib'))
    return next((place for place in places if place.exists()), None)


def major_of_headers(include):
    """The major version of the headers, or None without cuda.h."""
    header = include / 'cuda.h'
    text = header.read_text(errors='replace') if header.exists() else ''
    found = re.search(r'^#define CUDA_VERSION +([0-9]+)', text, re.MULTILINE)
    return int(found.group(1)) // 1000 if found else None


def run(*command, env=None):
    """Exit status and combined output of a command."""
    done = subprocess.run([str(word) for word in command], env=env or environment(), text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


def must_run(*command, env=None):
    status, output = run(*command, env=env)
    if status != 0:
        raise AssertionError(f'{shlex.join(map(str, command))}: status {status}\n{output[-8000:]}')
    return output


def fresh_folder(script):
    folder = arguments.work / pathlib.Path(script).stem
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def headers():
    return ['-isystem', arguments.headers] if arguments.headers else []


def link_command(output, source, *options, libraries=()):
    return [*arguments.cc, '-std=gnu11', '-O1', '-Wall', '-Wextra', '-Werror', *headers(),
            PROGRAMS / source, *options, *without_debug_information(options), '-o', output, *libraries]


def without_debug_information(options):
    """Leaves out the archives' debug information, two megabytes per program. Some versions of mold leave out
    all symbols with this option."""
    return [] if '-fuse-ld=mold' in options else ['-Wl,-S']


def link(output, source, *options, libraries=()):
    must_run(*link_command(output, source, *options, libraries=libraries))
    return output


@functools.cache
def has_linker(name):
    """Whether the compiler can use this linker."""
    with tempfile.TemporaryDirectory() as empty:
        return shutil.which(f'ld.{name}') is not None and run(*link_command(
            pathlib.Path(empty) / 'nothing', 'nothing.c', f'-fuse-ld={name}'))[0] == 0


def linkers():
    return [name for name in LINKERS if has_linker(name)]


def with_each_linker(test):
    """Runs the test as a subtest for each linker on this machine."""
    @functools.wraps(test)
    def tests(self):
        for linker in linkers():
            with self.subTest(linker=linker):
                test(self, linker)
    return tests


def needed(path):
    return binaries.read(path).needed()


def needed_of_cuda(path):
    return [name for name in needed(path) if 'cuda' in name]


def defined(path):
    """The names that a program or library defines, without the versions that some linkers add and without the
    stubs that mold names ("cuInit$plt")."""
    names = (name.partition('@')[0] for name, here, _ in binaries.read(path).symbols() if here)
    return {name for name in names if not name.endswith('$plt')}


def exported(path):
    """The names that a program or library exports."""
    elf = binaries.read(path)
    return {name for name, here, binding in elf.symbols(dynamic=True)
            if here and binding != elf.LOCAL}


def defines_versions(path):
    """Whether a program or library defines versions of its functions."""
    return any(name == '.gnu.version_d' for name, *_ in binaries.read(path).sections())


def of_cuda(names):
    """The CUDA functions among the names."""
    return {name for name in names if re.match('cu(da)?[A-Z]', name)}
