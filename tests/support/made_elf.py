"""Generates ELF files of any class, byte order and machine, with the parts that an audit reads."""

import struct

X86_64, I386, AARCH64, POWERPC, MIPS, S390 = 62, 3, 183, 20, 8, 22
BASE = 0x10000


def note(owner, kind, text, big=False):
    owner, text = owner.encode() + b'\0', text.encode() + b'\0'
    padded = [part + b'\0' * (-len(part) % 4) for part in (owner, text)]
    return struct.pack('>III' if big else '<III', len(owner), len(text), kind) + b''.join(padded)


class Names:
    def __init__(self):
        self.bytes = b'\0'

    def add(self, text):
        at = len(self.bytes)
        self.bytes += text.encode() + b'\0'
        return at


class Elf:
    """Everything in one segment, without section headers. defined: names of functions."""

    def __init__(self, bits=64, big=False, machine=X86_64, kind=3, program=True, needed=(), rpath=None, runpath=None,
                 soname=None, defined=(), notes=b''):
        self.bits, self.order = bits, '>' if big else '<'
        self.word = 'Q' if bits == 64 else 'I'
        self.machine, self.kind, self.program = machine, kind, program
        self.header_size, self.segment_size = (64, 56) if bits == 64 else (52, 32)
        self.names = Names()
        self.symbols = defined
        self.dynamic = [(1, self.names.add(name)) for name in needed]
        for tag, text in (14, soname), (15, rpath), (29, runpath):
            if text is not None:
                self.dynamic.append((tag, self.names.add(text)))
        self.notes = notes

    def pack(self, layout, *values):
        return struct.pack(self.order + layout.replace('w', self.word), *values)

    def symbol(self, name):
        at, info, section = self.names.add(name) if name else 0, 0x12 if name else 0, int(bool(name))
        if self.bits == 64:
            return self.pack('IBBHQQ', at, info, 0, section, 0, 0)
        return self.pack('IIIBBH', at, 0, 0, info, 0, section)

    def bytes(self):
        symbols = b''.join(self.symbol(name) for name in ('', *self.symbols))
        wide_hash = self.bits == 64 and self.machine == S390
        parts = [(5, self.names.bytes), (6, symbols),
                 (4, self.pack('QQ' if wide_hash else 'II', 0, len(self.symbols) + 1))]
        segment_count = 2 + bool(self.program) + bool(self.notes)
        at = self.header_size + segment_count * self.segment_size
        body = b''

        def place(part):
            nonlocal body
            body += b'\0' * (-(at + len(body)) % 8)
            start = at + len(body)
            body += part
            return start

        for tag, part in parts:
            self.dynamic.append((tag, BASE + place(part)))
        self.dynamic.append((10, len(self.names.bytes)))
        notes = place(self.notes)
        loader = place(b'/lib/ld.so\0')
        dynamic = b''.join(self.pack('ww', *entry) for entry in self.dynamic + [(0, 0)])
        dynamic_at = place(dynamic)
        total = at + len(body)
        segments = [(1, 0, total), (2, dynamic_at, len(dynamic))]
        if self.program:
            segments.append((3, loader, 11))
        if self.notes:
            segments.append((4, notes, len(self.notes)))
        return self.header(segment_count) + b''.join(self.segment(*s) for s in segments) + body

    def header(self, segment_count):
        ident = b'\x7fELF' + bytes([2 if self.bits == 64 else 1, 2 if self.order == '>' else 1, 1])
        return ident.ljust(16, b'\0') + self.pack(
            'HHIwwwIHHHHHH', self.kind, self.machine, 1, 0, self.header_size, 0, 0,
            self.header_size, self.segment_size, segment_count, 0, 0, 0)

    def segment(self, kind, offset, size):
        if self.bits == 64:
            return self.pack('IIQQQQQQ', kind, 4, offset, BASE + offset, 0, size, size, 8)
        return self.pack('IIIIIIII', kind, offset, BASE + offset, 0, size, size, 4, 4)


def make(**what):
    return Elf(**what).bytes()


def is_wide(data):
    return data[4] == 2


def patched(data, wide, narrow, *values):
    """Writes numbers into a little-endian file, at (place, format) of each for words of 8 bytes, and of 4."""
    data = bytearray(data)
    for (at, layout), value in zip(wide if is_wide(data) else narrow, values):
        struct.pack_into('<' + layout, data, at, value)
    return bytes(data)


def without_dynamic_contents(data):
    """As in split debug information: the second segment has its size in memory, but none in the file."""
    return patched(data, ((64 + 56 + 32, 'Q'),), ((52 + 32 + 16, 'I'),), 0)


def end_of_segments(data):
    """The end of the loaded part of a little-endian file; systems ignore the rest."""
    if is_wide(data):
        (start,), layout = struct.unpack_from('<Q', data, 32), '<I4xQ16xQ'
    else:
        (start,), layout = struct.unpack_from('<I', data, 28), '<II8xI'
    size, count = struct.unpack_from('<HH', data, 54 if is_wide(data) else 42)
    segments = [struct.unpack_from(layout, data, start + i * size) for i in range(count)]
    return max(offset + length for kind, offset, length in segments if kind == 1)


KINDS = [  # bits, big-endian, machine
    (64, False, X86_64), (64, False, AARCH64), (32, False, I386), (32, True, POWERPC), (64, True, S390),
    (64, False, MIPS), (32, True, 999)]
