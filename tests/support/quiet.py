#!/usr/bin/env python3
"""Runs a program and fails unless it succeeds and prints nothing. Status 77, skipped, is passed on.

usage: quiet.py PROGRAM ARGUMENT...

In a cross build, MESON_EXE_WRAPPER is the command that runs built programs.
"""

import glob
import os
import shlex
import subprocess
import sys


def wrapper():
    """The words of the command that runs built programs; empty in a native build."""
    return shlex.split(os.environ.get('MESON_EXE_WRAPPER', ''))


def environment(program):
    """Meson puts the folders of built DLLs in PATH, where an emulated Windows does not look."""
    variables = dict(os.environ)
    if os.name != 'nt' and program.endswith('.exe'):
        folders = ['Z:' + folder for folder in variables['PATH'].split(os.pathsep)
                   if glob.glob(os.path.join(glob.escape(folder), '*.dll'))]
        variables['WINEPATH'] = ';'.join(folders)
    return variables


def run(program, *arguments, **variables):
    """Exit code, standard output and standard error; the loader's variables are only those passed here."""
    kept = {name: value for name, value in environment(program).items()
            if not name.startswith('CUSHIM_') or name == 'CUSHIM_WINEPREFIX'}
    done = subprocess.run([*wrapper(), program, *arguments], env={**kept, **variables}, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def main():
    result = subprocess.run(wrapper() + sys.argv[1:], stdin=subprocess.DEVNULL, capture_output=True,
                            env=environment(sys.argv[1]), check=False)
    printed = result.stdout + result.stderr
    sys.stdout.buffer.write(printed)
    sys.stdout.flush()
    if result.returncode == 77:
        sys.exit(77)
    if result.returncode != 0:
        sys.exit(f'status {result.returncode}')
    if printed:
        sys.exit('something was printed')


if __name__ == '__main__':
    main()
