"""Reads properties of programs, libraries and archives: ELF and PE, in plain Python, for every target on every
build machine."""

import struct


class NotABinary(Exception):
    pass


class Elf:
    """An ELF program, shared library or object. Little-endian, as all targets are."""

    DYNAMIC_NEEDED, DYNAMIC_STRTAB, DYNAMIC_STRSZ = 1, 5, 10
    SECTION_SYMTAB, SECTION_NOBITS, SECTION_DYNSYM = 2, 8, 11
    SEGMENT_LOAD, SEGMENT_DYNAMIC = 1, 2
    LOCAL, GLOBAL, WEAK = 0, 1, 2

    def __init__(self, data):
        if data[:4] != b'\x7fELF' or data[5] != 1:
            raise NotABinary('not a little-endian ELF file')
        self.data = data
        self.wide = data[4] == 2
        self.type, self.machine = struct.unpack_from('<HH', data, 16)
        header = '<QQQIHHHHHH' if self.wide else '<IIIIHHHHHH'
        (_, self.segment_offset, self.section_offset, _, _, self.segment_size, self.segment_count,
         self.section_size, self.section_count, self.names_index) = struct.unpack_from(header, data, 24)

    def segments(self):
        """(type, offset, address, size in the file) of each segment."""
        for i in range(self.segment_count):
            at = self.segment_offset + i * self.segment_size
            if self.wide:
                kind, _, offset, address, _, size = struct.unpack_from('<IIQQQQ', self.data, at)
            else:
                kind, offset, address, _, size = struct.unpack_from('<IIIII', self.data, at)
            yield kind, offset, address, size

    def sections(self):
        """(name, type, offset, size, link, entry size) of each section."""
        raw = []
        for i in range(self.section_count):
            at = self.section_offset + i * self.section_size
            layout = '<IIQQQQIIQQ' if self.wide else '<IIIIIIIIII'
            name, kind, _, _, offset, size, link, _, _, entry = struct.unpack_from(layout, self.data, at)
            raw.append((name, kind, offset, size, link, entry))
        names = raw[self.names_index][2] if raw else 0
        return [(self.text(names + name), *rest) for name, *rest in raw]

    def text(self, offset):
        return self.data[offset:self.data.index(b'\0', offset)].decode()

    def needed(self):
        """The shared libraries that the dynamic linker loads with this file (NEEDED)."""
        entries = []
        layout, size = ('<QQ', 16) if self.wide else ('<II', 8)
        for kind, offset, _, length in self.segments():
            if kind == self.SEGMENT_DYNAMIC:
                entries = [struct.unpack_from(layout, self.data, at)
                           for at in range(offset, offset + length, size)]
        strings = next((value for tag, value in entries if tag == self.DYNAMIC_STRTAB), None)
        if strings is None:
            return []
        strings = self.file_offset(strings)
        return [self.text(strings + value) for tag, value in entries if tag == self.DYNAMIC_NEEDED]

    def file_offset(self, wanted):
        for kind, offset, address, size in self.segments():
            if kind == self.SEGMENT_LOAD and address <= wanted < address + size:
                return wanted - address + offset
        raise NotABinary('a string table outside of every segment')

    def symbols(self, dynamic=False):
        """(name, whether it is defined here, binding: LOCAL, GLOBAL, WEAK) of each symbol."""
        wanted = self.SECTION_DYNSYM if dynamic else self.SECTION_SYMTAB
        sections = self.sections()
        for _, kind, offset, size, link, entry in sections:
            if kind != wanted:
                continue
            strings = sections[link][2]
            for at in range(offset + entry, offset + size, entry):
                if self.wide:
                    name, info, _, section = struct.unpack_from('<IBBH', self.data, at)
                else:
                    name, _, _, info, _, section = struct.unpack_from('<IIIBBH', self.data, at)
                yield self.text(strings + name), section != 0, info >> 4

    def undefined(self):
        return {name for name, defined, _ in self.symbols() if not defined and name}

    def searched_at_start(self):
        """The names that the dynamic linker searches for when it loads this 64-bit file, except those of functions
        that it may search for at their first call."""
        names = [name for name, *_ in self.symbols(dynamic=True)]
        for section, _, offset, size, _, entry in self.sections():
            if section == '.rela.dyn':
                for at in range(offset, offset + size, entry):
                    symbol = struct.unpack_from('<Q', self.data, at + 8)[0] >> 32
                    if symbol != 0:
                        yield names[symbol - 1]


class Pe:
    """A Windows program or DLL."""

    def __init__(self, data):
        if data[:2] != b'MZ':
            raise NotABinary('not a PE file')
        self.data = data
        header = struct.unpack_from('<I', data, 0x3C)[0]
        if data[header:header + 4] != b'PE\0\0':
            raise NotABinary('not a PE file')
        count, optional_size = struct.unpack_from('<H12xH', data, header + 6)
        optional = header + 24
        wide = struct.unpack_from('<H', data, optional)[0] == 0x20B
        self.directories = optional + (112 if wide else 96)
        self.section_list = [struct.unpack_from('<8sIIII', data, optional + optional_size + i * 40)
                             for i in range(count)]

    def offset(self, address):
        for _, virtual_size, start, raw_size, raw in self.section_list:
            if start <= address < start + max(virtual_size, raw_size):
                return address - start + raw
        raise NotABinary('an address outside of every section')

    def needed(self):
        """The DLLs of the import table and of the table of delayed imports."""
        names = []
        for directory, size, name_at in ((1, 20, 12), (13, 32, 4)):
            address = struct.unpack_from('<I', self.data, self.directories + directory * 8)[0]
            at = self.offset(address) if address else None
            while at is not None:
                name = struct.unpack_from('<I', self.data, at + name_at)[0]
                if name == 0:
                    break
                start = self.offset(name)
                names.append(self.data[start:self.data.index(b'\0', start)].decode())
                at += size
        return names


def read(path):
    """An Elf or a Pe; None for any other file."""
    with open(path, 'rb') as file:
        data = file.read()
    for kind in (Elf, Pe):
        try:
            return kind(data)
        except (NotABinary, struct.error, IndexError):
            continue
    return None


def is_binary_start(path):
    with open(path, 'rb') as file:
        start = file.read(4)
    return start == b'\x7fELF' or start[:2] == b'MZ'


def archive_members(path):
    """(name, contents) of each member of an archive. A thin archive is rejected: it has no contents."""
    with open(path, 'rb') as file:
        data = file.read()
    if not data.startswith(b'!<arch>\n'):
        raise NotABinary(f'{path} is a thin archive or not an archive')
    long_names, at, members = b'', 8, []
    while at + 60 <= len(data):
        name = data[at:at + 16].decode().rstrip()
        size = int(data[at + 48:at + 58])
        body = data[at + 60:at + 60 + size]
        if name == '//':
            long_names = body
        elif name not in ('/', '/SYM64/'):
            if name[1:].isdigit():
                start = int(name[1:])
                name = long_names[start:long_names.index(b'\n', start)].decode()
            members.append((name.rstrip('/'), body))
        at += 60 + size + size % 2
    return members


def defined_by_archive(path):
    """The global names that its members, ELF objects, define, without versions."""
    return {name.split('@')[0] for _, contents in archive_members(path)
            for name, here, binding in Elf(contents).symbols() if here and binding != Elf.LOCAL}
