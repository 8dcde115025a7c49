#!/usr/bin/env python3
"""The list of what is not simulated, as it is checked in, against what the build found.

usage: list_test.py CHECKED_IN FOUND ROWS_JSON RUNTIME_SOURCE...

Names that the headers of this build do not have, as where a header is missing, do not count. A function of the
runtime is simulated only where the driver's functions that it calls are: what these cannot answer, it cannot.
"""

import json
import re
import sys

# CU(name), but for one whose answer nobody looks at.
CALL = re.compile(r'(\(void\)\s*)?\bCU(?:_ANY|_SYNC)?\((cu[A-Z]\w*)\)')


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read().split()


def rows(path):
    with open(path, encoding='utf-8') as file:
        tables = json.load(file)['tables']
    return {row['export'] for table in tables.values() for row in table['rows']}


def forwarded(sources):
    """Which of the driver's functions the runtime answers with, and where."""
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
