#!/usr/bin/env python3
"""The first inputs of the fuzzers: a function for each. They are as small as possible, and each reaches code that no other
one reaches."""

import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'support'))

import made_elf  # noqa: E402


def loader_elf():
    yield 'program', made_elf.make(needed=['libcuda.so.1'])
    yield 'library', made_elf.make(program=False, defined=['cuInit'])
    yield 'narrow', made_elf.make(bits=32, machine=made_elf.I386)


PTX = b'''.version 7.0
.target sm_52
.address_size 64
.extern .global .align 4 .b32 other;
.visible .global .align 8 .u64 list[2] = {1, 0x2};
.global .attribute(.managed) .f32 value = 0f3F800000;
.const .v2 .u16 pair;
.global .texref image;
.func (.reg .b32 r) f (.reg .b32 a) { ret; }
.weak .entry run(.param .u64 .ptr .global .align 8 to, .param .align 4 .b8 s[12])
.maxntid 128, 1, 1
.reqnctapercluster 2
{
.shared .align 4 .b8 shared[16];
.reg .pred %p<2>;
L: @%p1 bra.uni L;
st.global.u32 [%rd1+4], {%r1, %r2};
ret;
}
'''

TEXT = b'''cushim-sim-image 1
kernel add params=8,4:4 max_threads=0x40 registers=32 shared=16 local=8 constant=4 cluster=2,1,1 ptx=80 binary=90
global counter size=4 init=2a00 # comment
constant table size=64
managed flags size=16
texture image
surface target
target cc=9.0
'''


def note(kind, *words):
    return struct.pack('<BBH', 4, kind, 4 * len(words)) + struct.pack(f'<{len(words)}I', *words)


def cubin():
    names = b'\0.nv.info.run\0.symtab\0.nv.global.init\0.text.run\0.nv.info\0.nv.shared.run\0.nv.constant3\0'
    contents = b''

    def section(name, kind, content, link=0, info=0):
        nonlocal contents
        at = 64 + len(contents)
        contents += content + b'\0' * (-len(content) % 8)
        return struct.pack('<IIQQQQIIQQ', names.index(name), kind, 0, 0, at, len(content), link, info, 0, 0)

    def symbol(name, info, other, home, size):
        return struct.pack('<IBBHQQ', name, info, other, home, 0, size)

    symbols = symbol(0, 0, 0, 0, 0) + symbol(1, 0x12, 0x10, 5, 64) + symbol(5, 0x11, 4, 4, 4) + symbol(7, 0x21, 0, 9, 4)
    headers = b''.join((
        section(b'\0', 0, b''),
        section(b'\0', 3, names),
        section(b'\0', 3, b'\0run\0g\0c\0'),
        section(b'.symtab', 2, symbols, 2),
        section(b'.nv.global.init', 1, b'\5\0\0\0'),
        section(b'.text.run', 1, b''),
        section(b'.nv.info.run', 0x70000000, note(0x17, 0, 1 << 16 | 8, 4 << 18) + note(0x17, 0, 0, 8 << 18)
                + note(0x05, 128, 1, 1) + note(0x3d, 2, 1, 1), 3),
        section(b'.nv.info\0', 0x70000000, note(0x2f, 1, 77) + note(0x11, 1, 16), 3),
        section(b'.nv.shared.run', 8, b'', info=5),
        section(b'.nv.constant3', 1, b'\7\0\0\0')))
    ident = b'\x7fELF\2\1\1\x41'.ljust(16, b'\0')
    return ident + struct.pack('<HHIQQQIHHHHHH', 2, 190, 1, 0, 0, 64 + len(contents), 90 << 8, 64, 0, 0, 64, 10,
                               1) + contents + headers


def fatbin_entry(kind, architecture, content, flags=0x11, size=0, whole_size=0):
    content += b'\0' * (-len(content) % 8)
    return struct.pack('<HHIQIQIQQQQ', kind, 0x0101, 64, len(content), size, 0, architecture, 0, flags, 0,
                       whole_size) + content


def fatbin(*entries):
    content = b''.join(entries)
    return struct.pack('<IHHQ', 0xba55ed50, 1, 16, len(content)) + content


SHORT_PTX = b'.version 7.0\n.target sm_52\n.entry run(){ret;}\n'


def image():
    yield 'ptx', PTX
    yield 'text', TEXT
    yield 'cubin', cubin()
    yield 'fatbin', fatbin(fatbin_entry(2, 80, cubin()[:8]), fatbin_entry(1, 52, SHORT_PTX))
    # A block of literals after an overlapping match.
    literals = b'\x1e\n\1\0' + b'\xf0' + bytes([len(SHORT_PTX) - 15]) + SHORT_PTX
    whole = 1 + 18 + len(SHORT_PTX)
    yield 'lz4', fatbin(fatbin_entry(1, 52, literals, 0x2011, len(literals), whole))
    frame = struct.pack('<IBI', 0xfd2fb528, 0xa0, len(SHORT_PTX)) + struct.pack(
        '<I', len(SHORT_PTX) << 3 | 1)[:3] + SHORT_PTX
    yield 'zstd', fatbin(fatbin_entry(1, 52, frame, 0x8011, len(frame), len(SHORT_PTX)))
    yield 'archive', b'!<arch>\n' + b'a/'.ljust(48) + b'3'.ljust(10) + b'`\nabc\n'


def settings():
    yield 'machine', (b'devices=3;name=A;name.1=B;memory=8GiB;budget.2=64KiB;cc=9.0;peers=0-1,1-2;attribute.5=1;'
                      b'attribute.1.7=unknown;driver=12040;init=0;granularity=2MiB;addresses=1TiB\0' b'2,0')
    yield 'engine', (b'mode=threaded;seed=1;patience=2;stall=0;log=1;report=fail;abort=0;kernels=a.so;'
                     b'devices=2\0GPU-63757368-696d-2d73-696d-2d6770752d01')
    yield 'faults', (b'fault=cuMemAlloc:3:2:sticky;fault=cuInit:p=0.1:2:seed=4;fault=*:1:2:delay=5;'
                     b'fault=cudaMalloc:1:719:after;fault=cuInit:1:1:async:p=1;fault=cuInit:1:1:hang;mode=adversarial;'
                     b'fault=cuInit:2:3:instead;mode=immediate;report=1;peers=none;peers=all')


def descriptor_channel():
    def packet(descriptors, content):
        return bytes([descriptors, len(content)]) + content

    header = b'cushimfd' + struct.pack('<Q', 4)
    for name, flags in (('stream', 0), ('seqpacket', 2), ('datagram', 3 | 8)):
        yield name, bytes([flags, 4]) + packet(1, header + b'abcd')
    yield 'pieces', bytes([4, 4]) + packet(1, header[:5]) + packet(0, header[5:] + b'ab') + packet(0, b'cd')
    yield 'too-many', bytes([8, 4]) + packet(3, header) + packet(40, b'abcd')


def write(fuzzer, folder):
    folder.mkdir()
    for name, content in globals()[fuzzer]():
        (folder / name).write_bytes(content)
