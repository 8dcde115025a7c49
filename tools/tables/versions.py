"""Determines which CUDA version introduced an exported name of the driver.

cudaTypedefs.h lists it in the form PFN_<base>_v<version>[_ptsz|_ptds]: the sorted versions of a base name
correspond in order to its sorted exports (bare, _v2, _v3, ...). Some packages of headers lack
cudaTypedefs.h, so introduced.txt lists the versions of released names.
"""

import collections
import os
import re
import textwrap

RELEASED = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'introduced.txt')
NOTICE = '''\
# The CUDA version that introduced each name that a released driver exports: VERSION NAME...
# Generated from the cudaTypedefs.h of all headers up to the CUDA_VERSION below. To add newer ones:
#   tools/generate_tables.py --add-versions --include FOLDER_WITH_CUDA_H -- c++
'''

EXPORT = re.compile(r'(?P<base>\w+?)(?:_v(?P<abi>\d+))?(?P<variant>_ptsz|_ptds)?')
TYPEDEF = re.compile(r'\bPFN_(?P<base>\w+?)_v(?P<version>\d{4,6})(?P<variant>_ptsz|_ptds)?\b')


def split_export(name):
    """('cuMemcpyHtoD', 2, '_ptds') for cuMemcpyHtoD_v2_ptds; a bare name has ABI 1."""
    match = EXPORT.fullmatch(name)
    return match['base'], int(match['abi'] or 1), match['variant'] or ''


def introduced_versions(names, header_folder):
    """The version by exported name; names that neither the headers nor the table list are missing."""
    return released_versions()[1] | told_versions(names, header_folder)


def released_versions():
    """The latest CUDA version that introduced.txt covers, and the versions by name."""
    up_to, versions = 0, {}
    with open(RELEASED, encoding='utf-8') as file:
        for line in file:
            first, *rest = line.split()
            if first == 'up_to':
                up_to = int(rest[0])
            elif first != '#':
                versions.update((name, int(first)) for name in rest)
    return up_to, versions


def add_released(packed, told):
    """Adds names to introduced.txt. Returns those for which it had another version."""
    up_to, versions = released_versions()
    differing = [name for name in told if versions.get(name, told[name]) != told[name]]
    names = collections.defaultdict(list)
    for name, version in sorted((versions | told).items()):
        names[version].append(name)
    with open(RELEASED, 'w', encoding='utf-8', newline='\n') as file:
        file.write(f'{NOTICE}up_to {max(up_to, packed)}\n')
        for version, group in sorted(names.items()):
            file.writelines(f'{version} {line}\n' for line in textwrap.wrap(' '.join(group), 93))
    return differing


def told_versions(names, header_folder):
    """The version by exported name; names that the typedef headers do not list are missing."""
    versions = collections.defaultdict(set)
    for file in ('cudaTypedefs.h', 'cudaProfilerTypedefs.h'):
        path = os.path.join(header_folder, file)
        if os.path.exists(path):
            with open(path, encoding='utf-8', errors='replace') as header:
                for match in TYPEDEF.finditer(header.read()):
                    key = (match['base'], match['variant'] or '')
                    versions[key].add(int(match['version']))
    exports = collections.defaultdict(list)
    for name in names:
        base, abi, variant = split_export(name)
        exports[base, variant].append((abi, name))
    result = {}
    for key, group in exports.items():
        known = sorted(versions.get(key, ()))
        if len(known) == len(group):
            result.update(zip((name for _, name in sorted(group)), known))
    return result
