#!/usr/bin/env python3
"""Compares the list of functions that are not simulated, as checked in, with the list of the build.

usage: list_test.py CHECKED_IN FOUND ROWS_JSON RUNTIME_SOURCE...

Names that the headers of this build lack are ignored. A runtime function is simulated only if the driver
functions that it calls are.
"""

import json
import re
import sys

# CU(name), unless its status is ignored.
CALL = re.compile(r'(\(void\)\s*)?\bCU(?:_ANY|_SYNC)?\((cu[A-Z]\w*)\)')


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read().split()


def rows(path):
    with open(path, encoding='utf-8') as file:
        tables = json.load(file)['tables']
    return {row['export'] for table in tables.values() for row in table['rows']}


def forwarded(sources):
    """The driver functions that the runtime depends on, each with its source."""
    for path in sources:
        with open(path, encoding='utf-8') as file:
            for ignored, name in CALL.findall(file.read()):
                if not ignored:
                    yield name, path


def main():
    known = rows(sys.argv[3])
    checked_in = [name for name in read(sys.argv[1]) if name in known]
    found = read(sys.argv[2])
    more, fewer = sorted(set(found) - set(checked_in)), sorted(set(checked_in) - set(found))
    for name in more:
        print(f'{name} is not simulated any more, or is new: define it, or add it to the list')
    for name in fewer:
        print(f'{name} is simulated: take it off the list')
    calls = dict(forwarded(sys.argv[4:]))
    if not calls.keys() & known:
        sys.exit('the sources of the runtime call no function of the driver')
    if empty := calls.keys() & set(found):
        sys.exit('\n'.join(f'{calls[name]} calls {name}, which is not simulated: take out the functions that do'
                           for name in sorted(empty)))
    if more or fewer:
        sys.exit(f'{sys.argv[1]} is not what the build found; the list of the build is {sys.argv[2]}')
    if checked_in != found:
        sys.exit(f'{sys.argv[1]} is in another order than {sys.argv[2]}')


if __name__ == '__main__':
    main()
