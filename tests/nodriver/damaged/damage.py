#!/usr/bin/env python3
"""Makes damaged files of a driver. usage: damage.py DRIVER EMPTY TRUNCATED OTHER

EMPTY is empty, TRUNCATED ends inside the code, OTHER is for another architecture.
"""

import pathlib
import struct
import sys


def machine_offset(library):
    """The offset of the machine in the headers."""
    if library.startswith(b'\x7fELF'):
        return 18
    return struct.unpack_from('<I', library, 0x3C)[0] + 4


def main():
    driver, empty, truncated, other = map(pathlib.Path, sys.argv[1:])
    library = bytearray(driver.read_bytes())
    empty.write_bytes(b'')
    truncated.write_bytes(library[:8192])
    library[machine_offset(library)] = 0x08  # MIPS or unknown
    other.write_bytes(library)


if __name__ == '__main__':
    main()
