"""Generates Windows programs and DLLs, PE32 and PE32+, with the parts that an audit reads."""

import struct

X86_64, I386 = 0x8664, 0x14C
ADDRESS = 0x1000  # address of the section that holds all tables
FILE_AT = 0x400
IMAGE_BASE = 0x400000


class Section:
    def __init__(self):
        self.bytes = b''

    def add(self, part):
        """Returns the address relative to the image."""
        self.bytes += b'\0' * (-len(self.bytes) % 8)
        at = ADDRESS + len(self.bytes)
        self.bytes += part
        return at

    def text(self, text):
        return self.add(text.encode() + b'\0')


def thunks(section, functions, wide):
    """A list of imported names or numbers."""
    layout, by_number = ('<Q', 1 << 63) if wide else ('<I', 1 << 31)
    entries = [by_number | function if isinstance(function, int)
               else section.add(b'\0\0' + function.encode() + b'\0')
               for function in functions]
    return section.add(b''.join(struct.pack(layout, entry) for entry in entries + [0]))


def imports(section, libraries, wide):
    table = b''
    for library, functions in libraries.items():
        at = thunks(section, functions, wide)
        table += struct.pack('<IIIII', at, 0, 0, section.text(library), at)
    return section.add(table + bytes(20))


def delayed_imports(section, libraries, wide):
    table = b''
    for library, functions in libraries.items():
        table += struct.pack('<IIIIIIII', 1, section.text(library), 0, 0, thunks(section, functions, wide), 0, 0, 0)
    return section.add(table + bytes(32))


def make(wide=True, machine=X86_64, dll=False, needed=None, delayed=None):
    """needed, delayed: imports, {library: [name or number of a function]}."""
    section, directories = Section(), [(0, 0)] * 16
    section.add(b'all tables\0')
    if needed:
        directories[1] = imports(section, needed, wide), 20 * (len(needed) + 1)
    if delayed:
        directories[13] = delayed_imports(section, delayed, wide), 32 * (len(delayed) + 1)
    data = section.bytes.ljust(-(-len(section.bytes) // 512) * 512, b'\0')
    optional = struct.pack('<H22x', 0x20B if wide else 0x10B)
    optional += struct.pack('<Q', IMAGE_BASE) if wide else struct.pack('<II', 0, IMAGE_BASE)
    optional = optional.ljust(108 if wide else 92, b'\0') + struct.pack('<I', 16)
    optional += b''.join(struct.pack('<II', *directory) for directory in directories)
    characteristics = 0x2002 if dll else 2
    coff = struct.pack('<4sHHIIIHH', b'PE\0\0', machine, 1, 0, 0, 0, len(optional), characteristics)
    table = struct.pack('<8sIIIIIIHHI', b'.rdata', len(section.bytes), ADDRESS, len(data), FILE_AT, 0, 0, 0, 0, 0)
    header = b'MZ'.ljust(60, b'\0') + struct.pack('<I', 64) + coff + optional + table
    assert len(header) <= FILE_AT
    return header.ljust(FILE_AT, b'\0') + data
