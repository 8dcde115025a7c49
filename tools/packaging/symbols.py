#!/usr/bin/env python3
"""Compares the symbols that shared libraries export with those of the last release, which are listed in
tools/packaging/symbols/SONAME, and fails if one has disappeared: programs that need it no longer start.

The list leaves out symbols that do not depend on cushim alone: weak ones, which every library may define, and
the entry points of the CUDA headers (cushim_slot_NAME, cushim_first_NAME). A symbol whose signature has a CUDA
type is only compared if the library was built with the CUDA version of the list. New symbols are allowed.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

LISTS = pathlib.Path(__file__).with_name('symbols')
OF_THE_LINKER = {'_init', '_fini', '__bss_start', '_edata', '_end'}
HEADER = '''# Exported symbols of {soname}, built with the headers of CUDA {cuda}. Written by tools/packaging/symbols.py.
'''


def readelf(option, library):
    return subprocess.run(['readelf', '--wide', option, str(library)], check=True, capture_output=True, text=True,
                          env={**os.environ, 'LC_ALL': 'C'}).stdout


def soname_of(library):
    found = re.search(r'\(SONAME\).*\[(.+)\]', readelf('--dynamic', library))
    if not found:
        sys.exit(f'error: {library} has no soname')
    return found.group(1)


def exported(library):
    """Names, with their symbol versions if there are any."""
    names = set()
    for line in readelf('--dyn-syms', library).splitlines():
        words = line.split()
        # Number, value, size, type, binding, visibility, section, name.
        if len(words) >= 8 and words[4] == 'GLOBAL' and words[6] != 'UND':
            if words[7] not in OF_THE_LINKER and not re.match(r'cushim_(slot|first)_', words[7]):
                names.add(words[7])
    return names


def has_cuda_type(name):
    return re.search(r'\d(?:CU|cuda)[A-Za-z]', name) is not None


def read_list(path):
    lines = path.read_text(encoding='ascii').splitlines()
    cuda = re.search(r'CUDA (\d+\.\d+)', lines[0]).group(1)
    return cuda, {line for line in lines if line and not line.startswith('#')}


def write_list(path, soname, cuda, names):
    path.write_text(HEADER.format(soname=soname, cuda=cuda) + ''.join(f'{name}\n' for name in sorted(names)),
                    encoding='ascii')


def problems_of(library, cuda, lists):
    soname = soname_of(library)
    path = lists / soname
    if not path.exists():
        return [f'{soname} has no list of exported symbols; for a new soname, run symbols.py --update']
    listed_cuda, listed = read_list(path)
    names = exported(library)
    if cuda != listed_cuda:
        listed = {name for name in listed if not has_cuda_type(name)}
    missing = sorted(listed - names)
    print(f'{soname}: {len(listed)} listed symbols compared, {len(missing)} missing, {len(names - listed)} not compared')
    return [f'{soname} no longer exports {name}' for name in missing]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--update', action='store_true', help='write the lists')
    parser.add_argument('--before-first-release', action='store_true', help='an update may remove symbols')
    parser.add_argument('--cuda', required=True, metavar='13.0', help='the CUDA version of the build\'s headers')
    parser.add_argument('--lists', type=pathlib.Path, default=LISTS)
    parser.add_argument('libraries', nargs='+', type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.update:
        for library in arguments.libraries:
            soname, names = soname_of(library), exported(library)
            path = arguments.lists / soname
            removed = read_list(path)[1] - names if path.exists() else set()
            if removed and not arguments.before_first_release:
                sys.exit(f'error: {soname} no longer exports {" ".join(sorted(removed))}; raise the soversion')
            write_list(path, soname, arguments.cuda, names)
        return 0
    problems = [problem for library in arguments.libraries
                for problem in problems_of(library, arguments.cuda, arguments.lists)]
    for problem in problems:
        print(f'error: {problem}', file=sys.stderr)
    if problems:
        print('To do: export it again, or raise the soversion in src/meson.build and run symbols.py --update; '
              'before the first release, symbols.py --update --before-first-release (CONTRIBUTING.md, "Versions")', file=sys.stderr)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
