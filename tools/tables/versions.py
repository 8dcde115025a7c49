"""Which CUDA version introduced an exported name, from the PFN typedefs of cudaTypedefs.h.

PFN_<base>_v<version>[_ptsz|_ptds]: the sorted versions of a base name correspond in order to its
sorted exports (bare, _v2, _v3, ...).
"""

import collections
import os
import re

EXPORT = re.compile(r'(?P<base>\w+?)(?:_v(?P<abi>\d+))?(?P<variant>_ptsz|_ptds)?')
TYPEDEF = re.compile(r'\bPFN_(?P<base>\w+?)_v(?P<version>\d{4,6})(?P<variant>_ptsz|_ptds)?\b')


def split_export(name):
    """('cuMemcpyHtoD', 2, '_ptds') for cuMemcpyHtoD_v2_ptds; a bare name has ABI 1."""
    match = EXPORT.fullmatch(name)
    return match['base'], int(match['abi'] or 1), match['variant'] or ''


def introduced_versions(names, header_folder):
    """The version by exported name; a name that the typedef headers do not tell is missing."""
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
