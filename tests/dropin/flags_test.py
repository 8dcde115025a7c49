#!/usr/bin/env python3
"""The drop-in is optimised even if CXXFLAGS asks for an unoptimised build: its machine code still passes
code_test.py.

usage: flags_test.py --source FOLDER --work FOLDER --cxx COMPILER --headers FOLDER -- OPTIONS OF code_test.py
"""

import argparse
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

ARCHIVES = ['libcushim-dropin.a', 'libcushim-dropin-exported.a']
FLAGS = '-O0 -fno-optimize-sibling-calls'


def run(*command):
    environment = {name: value for name, value in os.environ.items()
                   if name not in ('CPPFLAGS', 'LDFLAGS', 'DESTDIR', 'MAKEFLAGS')}
    environment |= {'CXX': shlex.join(arguments.cxx.split('\x1f')), 'CXXFLAGS': FLAGS, 'CFLAGS': FLAGS,
                    'PYTHONDONTWRITEBYTECODE': '1', 'LC_ALL': 'C'}
    done = subprocess.run([str(word) for word in command], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        sys.exit(f'{shlex.join(map(str, command))}: status {done.returncode}\n{done.stdout[-8000:]}')


parser = argparse.ArgumentParser()
parser.add_argument('--source', required=True)
parser.add_argument('--work', type=pathlib.Path, required=True)
parser.add_argument('--cxx', required=True, help='words separated by the unit separator (0x1f)')
parser.add_argument('--headers', required=True)
parser.add_argument('rest', nargs='+')
arguments = parser.parse_args()

shutil.rmtree(arguments.work, ignore_errors=True)
run('meson', 'setup', arguments.work, arguments.source, '-Dtests=disabled', '-Dtools=disabled',
    '-Dexamples=disabled', '-Ddefault_library=static', f'-Dheaders_dir={arguments.headers}')
run('meson', 'compile', '-C', arguments.work, *(name.removesuffix('.a').removeprefix('lib')
                                                for name in ARCHIVES))
archives = [arguments.work / 'src/dropin' / name for name in ARCHIVES]
code_test = pathlib.Path(__file__).with_name('code_test.py')
sys.exit(subprocess.run([sys.executable, code_test, *map(str, archives), *arguments.rest],
                        check=False).returncode)
