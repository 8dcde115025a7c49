#!/usr/bin/env python3
"""Compares the symbols that shared libraries export with those of the last release, and fails if one has disappeared:
programs that need it no longer start. `--update` records them, at a release: LISTS/SONAME. A soname without a list has
not been released.

A list leaves out symbols that do not depend on cushim alone: weak ones, which every library may define, and the entry
points of the CUDA headers. A symbol whose signature has a CUDA type is only compared with the list's CUDA version."""

import argparse
import os
import pathlib
import re
import subprocess
import sys

LISTS = pathlib.Path(__file__).with_name('symbols')
LEFT_OUT = re.compile(r'cushim_(slots?|first)_|CUSHIM_CUDA_|_init$|_fini$|__bss_start$|_edata$|_end$')


def readelf(option, library):
    return subprocess.run(['readelf', '--wide', option, str(library)], check=True, capture_output=True, text=True,
                          env={**os.environ, 'LC_ALL': 'C'}).stdout


def exported(library):
    # Number, value, size, type, binding, visibility, section, name.
    rows = (line.split() for line in readelf('--dyn-syms', library).splitlines())
    return {row[7] for row in rows
            if len(row) >= 8 and row[4] == 'GLOBAL' and row[6] != 'UND' and not LEFT_OUT.match(row[7])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--update', action='store_true')
    parser.add_argument('--cuda', required=True, metavar='13.0', help='the CUDA version of the build\'s headers')
    parser.add_argument('--lists', type=pathlib.Path, default=LISTS)
    parser.add_argument('libraries', nargs='+', type=pathlib.Path)
    arguments = parser.parse_args()
    problems = []
    for library in arguments.libraries:
        soname = re.search(r'\(SONAME\).*\[(.+)\]', readelf('--dynamic', library)).group(1)
        names, path = exported(library), arguments.lists / soname
        cuda, *listed = path.read_text(encoding='ascii').splitlines() if path.exists() else [arguments.cuda]
        if cuda != arguments.cuda:
            listed = [name for name in listed if not re.search(r'\d(?:CU|cuda)[A-Za-z]', name)]
        missing = sorted(set(listed) - names)
        print(f'{soname}: {len(listed)} listed symbols compared, {len(missing)} missing')
        problems += [f'{soname} no longer exports {name}' for name in missing]
        if arguments.update and not missing:
            arguments.lists.mkdir(exist_ok=True)
            path.write_text('\n'.join([arguments.cuda, *sorted(names)]) + '\n', encoding='ascii')
    for problem in problems:
        print(f'error: {problem}; export it again, or raise the soversion in src/meson.build', file=sys.stderr)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
