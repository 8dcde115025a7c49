#!/usr/bin/env python3
"""Writes the first 8 KiB of a file: a library truncated inside its code. usage: truncate.py INPUT OUTPUT"""

import sys


def main():
    with open(sys.argv[1], 'rb') as file:
        content = file.read(8192)
    with open(sys.argv[2], 'wb') as file:
        file.write(content)


if __name__ == '__main__':
    main()
