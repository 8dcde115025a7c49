#!/usr/bin/env python3
"""The list of what is not simulated, as it is checked in, against what the build found.

usage: list_test.py CHECKED_IN FOUND ROWS_JSON

Names that the headers of this build do not have, as where a header is missing, do not count.
"""

import json
import sys


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read().split()


def rows(path):
    with open(path, encoding='utf-8') as file:
        tables = json.load(file)['tables']
    return {row['export'] for table in tables.values() for row in table['rows']}


def main():
    known = rows(sys.argv[3])
    checked_in = [name for name in read(sys.argv[1]) if name in known]
    found = read(sys.argv[2])
    more, fewer = sorted(set(found) - set(checked_in)), sorted(set(checked_in) - set(found))
    for name in more:
        print(f'{name} is not simulated any more, or is new: define it, or add it to the list')
    for name in fewer:
        print(f'{name} is simulated: take it off the list')
    if more or fewer:
        sys.exit(f'{sys.argv[1]} is not what the build found; the list of the build is {sys.argv[2]}')
    if checked_in != found:
        sys.exit(f'{sys.argv[1]} is in another order than {sys.argv[2]}')


if __name__ == '__main__':
    main()
