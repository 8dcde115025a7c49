"""Generates Windows programs and DLLs, PE32 and PE32+, with the parts that an audit reads."""

import struct

X86_64, I386, AARCH64 = 0x8664, 0x14C, 0xAA64
CODE = 0x60000020  # flags of a section with code
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


def thunks(section, functions, wide, bias):
    """A list of imported names or numbers; `bias` is added to addresses."""
    layout, by_number = ('<Q', 1 << 63) if wide else ('<I', 1 << 31)
    entries = [by_number | function if isinstance(function, int)
               else bias + section.add(b'\0\0' + function.encode() + b'\0')
               for function in functions]
    return section.add(b''.join(struct.pack(layout, entry) for entry in entries + [0]))


def imports(section, libraries, wide):
    table = b''
    for library, functions in libraries.items():
        table += struct.pack('<IIIII', thunks(section, functions, wide, 0), 0, 0,
                             section.text(library), 0)
    return section.add(table + bytes(20))


def delayed_imports(section, libraries, wide, old):
    """old: with absolute addresses, as older linkers wrote."""
    table, bias = b'', IMAGE_BASE if old else 0
    for library, functions in libraries.items():
        names = bias + thunks(section, functions, wide, bias)
        table += struct.pack('<IIIIIIII', 0 if old else 1, bias + section.text(library), 0, 0,
                             names, 0, 0, 0)
    return section.add(table + bytes(32))


def exports(section, functions):
    names = [section.text(function) for function in functions]
    listed = section.add(b''.join(struct.pack('<I', name) for name in names))
    return section.add(struct.pack('<IIHHIIIIIII', 0, 0, 0, 0, 0, 1, len(names), len(names), 0,
                                   listed, 0))


def make(wide=True, machine=X86_64, dll=False, needed=None, delayed=None, old_delayed=False,
         exported=(), notes=b'', sections=()):
    """needed, delayed: imports, {library: [name or number of a function]};
    sections: further ones, (name, size in memory, size in the file, place in the file, flags)."""
    section, directories = Section(), [0] * 16
    section.add(b'all tables\0')
    if exported:
        directories[0] = exports(section, exported)
    if needed:
        directories[1] = imports(section, needed, wide)
    if delayed:
        directories[13] = delayed_imports(section, delayed, wide, old_delayed)
    data = section.bytes.ljust(-(-len(section.bytes) // 512) * 512, b'\0')
    listed = [(b'.rdata', len(section.bytes), ADDRESS, len(data), FILE_AT, 0)]
    if notes:
        listed.append((b'.cushim', len(notes), 0x100000, 512, FILE_AT + len(data), 0))
        data += notes.ljust(512, b'\0')
    for i, (name, size, raw_size, raw, flags) in enumerate(sections):
        listed.append((name.encode(), size, 0x200000 + i * 0x10000, raw_size, raw, flags))
    optional = struct.pack('<H22x', 0x20B if wide else 0x10B)
    optional += struct.pack('<Q', IMAGE_BASE) if wide else struct.pack('<II', 0, IMAGE_BASE)
    optional = optional.ljust(108 if wide else 92, b'\0') + struct.pack('<I', 16)
    optional += b''.join(struct.pack('<II', address, 0) for address in directories)
    characteristics = 0x2002 if dll else 2
    coff = struct.pack('<4sHHIIIHH', b'PE\0\0', machine, len(listed), 0, 0, 0, len(optional),
                       characteristics)
    table = b''.join(struct.pack('<8sIIIIIIHHI', name, size, address, raw_size, raw, 0, 0, 0, 0, flags)
                     for name, size, address, raw_size, raw, flags in listed)
    header = b'MZ'.ljust(60, b'\0') + struct.pack('<I', 64) + coff + optional + table
    assert len(header) <= FILE_AT
    return header.ljust(FILE_AT, b'\0') + data
