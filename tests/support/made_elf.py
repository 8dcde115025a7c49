"""Generates ELF files of any class, byte order and machine, with the parts that an audit reads."""

import struct

X86_64, I386, AARCH64, POWERPC, MIPS, S390 = 62, 3, 183, 20, 8, 22
BASE = 0x10000

NOW = 8  # DF_BIND_NOW
PIE = 0x08000000  # DF_1_PIE
FILTER, AUXILIARY = 0x7FFFFFFF, 0x7FFFFFFD  # DT_FILTER, DT_AUXILIARY


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


class Versions:
    """The symbol versions of a file: the version of each symbol, and those that the file defines and needs."""

    def __init__(self, elf, version_of):
        self.elf, self.version_of = elf, version_of
        self.indices = {}  # by version and whether it is defined here
        self.entries = [0]

    def add(self, written, is_defined):
        """Adds the version of the next symbol; returns the name without it."""
        name, at, version = written.partition('@')
        if not at:
            self.entries.append(1)
            return name
        key = version.lstrip('@'), is_defined
        index = self.indices.setdefault(key, len(self.indices) + 2)
        self.entries.append(index | (0x8000 if is_defined and version[0] != '@' else 0))
        return name

    def tables(self):
        """Yields the tags and contents of the version tables."""
        if not self.indices:
            return
        yield 0x6FFFFFF0, self.elf.pack(f'{len(self.entries)}H', *self.entries)
        defined = [(name, index) for (name, here), index in self.indices.items() if here]
        if defined:
            yield 0x6FFFFFFC, self.chained(self.definition(*version) for version in
                                           [('the file itself', 1), *defined])
        libraries = {}
        for (name, here), index in self.indices.items():
            if not here:
                libraries.setdefault(self.version_of.get(name, name), []).append((name, index))
        if libraries:
            yield 0x6FFFFFFE, self.chained(self.need(*library) for library in libraries.items())

    def definition(self, name, index):
        pack = self.elf.pack
        return (pack('HHHHII', 1, index == 1, index, 1, 0, 20),
                pack('II', self.elf.names.add(name), 0))

    def need(self, library, versions):
        pack, names = self.elf.pack, self.elf.names
        entries = ((pack('IHHI', 0, 0, index, names.add(name)), b'') for name, index in versions)
        return pack('HHII', 1, len(versions), names.add(library), 16), self.chained(entries)

    def chained(self, entries):
        """Each entry ends with the distance to the next one, or 0, followed by its own parts."""
        entries, out = list(entries), b''
        for i, (entry, rest) in enumerate(entries):
            distance = len(entry) + 4 + len(rest)
            out += entry + self.elf.pack('I', distance if i + 1 < len(entries) else 0) + rest
        return out


class Elf:
    """Everything in one segment, without section headers. The number of symbols follows from the hash table, if
    there is one (hash_table: "old", "gnu" or None).

    undefined, weak, defined: names of functions; stored: those of them whose address is stored.
    Versions are written as linkers print them: "f@V" is used or hidden, "f@@V" is the default.
    version_of: the library of a used version, if it is not named like the version.
    first: entries (tag, value) of the dynamic section before all others.
    """

    def __init__(self, bits=64, big=False, machine=X86_64, kind=3, program=True, needed=(),
                 rpath=None, runpath=None, soname=None, undefined=(), weak=(), defined=(),
                 filters=(), auxiliary=(), stored=(), flags=0, flags_1=0, notes=b'', hash_table='old', version_of=None,
                 first=()):
        self.bits, self.order = bits, '>' if big else '<'
        self.word = 'Q' if bits == 64 else 'I'
        self.machine, self.kind, self.program = machine, kind, program
        self.header_size, self.segment_size = (64, 56) if bits == 64 else (52, 32)
        self.names = Names()
        self.versions = Versions(self, version_of or {})
        self.symbols = []
        for names, section, binding in ((undefined, 0, 1), (weak, 0, 2), (defined, 1, 1)):
            for name in names:
                self.symbols.append((self.versions.add(name, section != 0), section, binding))
        self.dynamic = list(first) + [(1, self.names.add(name)) for name in needed]
        for tag, text in ((14, soname), (15, rpath), (29, runpath),
                          *((FILTER, name) for name in filters),
                          *((AUXILIARY, name) for name in auxiliary)):
            if text is not None:
                self.dynamic.append((tag, self.names.add(text)))
        for tag, value in ((30, flags), (0x6FFFFFFB, flags_1)):
            if value:
                self.dynamic.append((tag, value))
        self.stored, self.notes, self.hash_table = stored, notes, hash_table

    def pack(self, layout, *values):
        return struct.pack(self.order + layout.replace('w', self.word), *values)

    def symbol(self, name, section, binding):
        at, info = self.names.add(name) if name else 0, binding << 4 | 2
        if self.bits == 64:
            return self.pack('IBBHQQ', at, info, 0, section, 0, 0)
        return self.pack('IIIBBH', at, 0, 0, info, 0, section)

    def relocations(self):
        out = b''
        for i, (name, _, _) in enumerate(self.symbols):
            if name in self.stored:
                info = (i + 1) << (32 if self.bits == 64 else 8) | 1
                out += self.pack('www', BASE, info, 0)
        return out

    def hash_tables(self):
        """The old hash table, or the GNU one that linkers write without a defined symbol: an empty bucket."""
        if self.hash_table == 'old':
            wide = self.bits == 64 and self.machine == S390
            yield 4, self.pack('QQ' if wide else 'II', 0, len(self.symbols) + 1)
        elif self.hash_table == 'gnu':
            yield 0x6FFFFEF5, self.pack('IIIIwI', 1, 1, 1, 0, 0, 0)

    def bytes(self):
        symbols = self.symbol('', 0, 0) + b''.join(self.symbol(*symbol) for symbol in self.symbols)
        relocations = self.relocations()
        parts = [*self.versions.tables(), (5, self.names.bytes), (6, symbols), *self.hash_tables()]
        if relocations:
            parts.append((7, relocations))
            self.dynamic.append((8, len(relocations)))
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


def with_sections_at(data, offset, entry_size=None, count=5):
    """The header claims a list of sections at `offset`."""
    return patched(data, ((40, 'Q'), (58, 'H'), (60, 'H')), ((32, 'I'), (46, 'H'), (48, 'H')),
                   offset, entry_size or (64 if is_wide(data) else 40), count)


def without_dynamic_contents(data):
    """As in split debug information: the second segment has its size in memory, but none in the file."""
    return patched(data, ((64 + 56 + 32, 'Q'),), ((52 + 32 + 16, 'I'),), 0)


def with_segment_of(data, size):
    """The first segment has this size."""
    return patched(data, ((64 + 32, 'Q'), (64 + 40, 'Q')), ((52 + 16, 'I'), (52 + 20, 'I')),
                   size, size)


def end_of_segments(data):
    """The end of the loaded part of a little-endian file; systems ignore the rest."""
    if is_wide(data):
        (start,), layout = struct.unpack_from('<Q', data, 32), '<I4xQ16xQ'
    else:
        (start,), layout = struct.unpack_from('<I', data, 28), '<II8xI'
    size, count = struct.unpack_from('<HH', data, 54 if is_wide(data) else 42)
    segments = [struct.unpack_from(layout, data, start + i * size) for i in range(count)]
    return max(offset + length for kind, offset, length in segments if kind == 1)


def with_more_segments(data, segments):
    """Adds segments (kind, place, size) to a little-endian 64-bit file and moves the list to the end."""
    start, = struct.unpack_from('<Q', data, 32)
    count, = struct.unpack_from('<H', data, 56)
    listed = data[start:start + 56 * count] + b''.join(
        struct.pack('<IIQQQQQQ', kind, 4, at, BASE + at, 0, size, size, 8) for kind, at, size in segments)
    data = patched(data, ((32, 'Q'), (56, 'H')), (), len(data), count + len(segments))
    return data + listed


KINDS = [  # bits, big-endian, machine, name of the machine
    (64, False, X86_64, 'x86-64'), (64, False, AARCH64, 'AArch64'),
    (32, False, I386, 'i386'), (32, True, POWERPC, 'PowerPC'),
    (64, True, S390, 'S/390'), (64, False, MIPS, 'MIPS'),
    (32, True, 999, 'machine 999')]
