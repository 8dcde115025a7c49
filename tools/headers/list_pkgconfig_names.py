#!/usr/bin/env python3
"""Prints pkg-config's names for CUDA, one a line: cuda, then the names of specific versions that
distributions use, newest first.

usage: list_pkgconfig_names.py PKG_CONFIG
"""

import re
import subprocess
import sys


def main():
    known = subprocess.run([*sys.argv[1:], '--list-all'], capture_output=True, text=True,
                           check=False).stdout
    found = re.findall(r'^(cuda(?:-(\d+)\.(\d+))?)\s', known, re.MULTILINE)
    if any(not major for _, major, _ in found):
        print('cuda')
    versions = [(int(major), int(minor), name) for name, major, minor in found if major]
    for _, _, name in sorted(versions, reverse=True):
        print(name)


if __name__ == '__main__':
    main()
