"""Reads the notes by which cushim marks a program or library (include/cushim/detail/marker.h)."""

import struct

import binaries

DROPIN = 0x102
SEGMENT_NOTE = 4


def of(path):
    """The types of its cushim marks."""
    binary = binaries.read(path)
    if isinstance(binary, binaries.Elf):
        places = [(offset, size) for kind, offset, _, size in binary.segments()
                  if kind == SEGMENT_NOTE]
    else:
        places = [(offset, min(size, file_size))
                  for name, size, _, file_size, offset in binary.section_list
                  if name.rstrip(b'\0') == b'.cushim']
    return {kind for offset, size in places
            for owner, kind in notes(binary.data[offset:offset + size]) if owner == b'cushim\0'}


def notes(data):
    """(owner, type) of each note; the parts of a note are padded to four bytes."""
    at = 0
    while at + 12 <= len(data):
        name_size, text_size, kind = struct.unpack_from('<III', data, at)
        yield data[at + 12:at + 12 + name_size], kind
        at += 12 + (name_size + 3) // 4 * 4 + (text_size + 3) // 4 * 4
