#include "elf_image.hpp"

#include <algorithm>

namespace cushim_info {

ElfImage::ElfImage(Source &source) : source_(source) {
    const std::string ident = source_.read(0, 16);
    if ((ident[4] != 1 && ident[4] != 2) || (ident[5] != 1 && ident[5] != 2)) {
        throw Unreadable("the file is damaged: an ELF file of no known class or byte order");
    }
    word_ = ident[4] == 2 ? 8 : 4;
    architecture_.order = ident[5] == 1 ? ByteOrder::little : ByteOrder::big;
    architecture_.bits = word_ * 8;
    const Bytes header = bytes(0, word_ == 8 ? 64 : 52);
    const std::uint16_t type = header.u16(16);
    if (type != 2 && type != 3) {
        throw Unreadable(type == 1   ? "an object file: audit the programs that it is linked into"
                         : type == 4 ? "a core dump, not a program or a library"
                                     : "an ELF file, but neither a program nor a library");
    }
    architecture_.machine = header.u16(18);
    is_fixed_ = type == 2;

    const std::uint64_t after = 24 + 3 * word_; // entry, and the places of the two lists
    const std::uint16_t segment_size = header.u16(after + 6);
    const std::uint16_t segment_count = header.u16(after + 8);
    const std::uint16_t section_size = header.u16(after + 10);
    const std::uint16_t section_count = header.u16(after + 12);
    if (segment_count == 0 || segment_size != (word_ == 8 ? 56 : 32) ||
        (section_count != 0 && section_size != (word_ == 8 ? 64 : 40))) {
        throw Unreadable("the file is damaged: its lists of segments or sections make no sense");
    }
    read_segments(word(header, 24 + word_), segment_count);
    read_sections(word(header, 24 + 2 * word_), section_count);
}

void ElfImage::read_segments(std::uint64_t offset, std::uint64_t count) {
    const std::uint64_t size = word_ == 8 ? 56 : 32;
    const Bytes list = table(offset, count, size);
    for (std::uint64_t at = 0; at < list.size(); at += size) {
        // The flags come second where words have 8 bytes, and far behind where they have 4.
        const std::uint64_t first = at + word_;
        segments_.push_back({list.u32(at), word(list, first), word(list, first + word_),
                             word(list, first + 3 * word_)});
        const Segment &segment = segments_.back();
        if (segment.type == segment_load &&
            (segment.offset > source_.size() || segment.size > source_.size() - segment.offset)) {
            throw Unreadable("the file is cut off or damaged: its " +
                             std::to_string(source_.size()) +
                             " bytes lack what its headers promise");
        }
    }
}

// A file may lack the list: no system looks at it.
void ElfImage::read_sections(std::uint64_t offset, std::uint64_t count) {
    const std::uint64_t size = word_ == 8 ? 64 : 40;
    if (offset == 0) {
        return;
    }
    if (count == 0) { // too many for the header: the first entry tells
        count = section_at(bytes(offset, size), 0).size;
    }
    const Bytes list = table(offset, count, size);
    for (std::uint64_t at = 0; at < list.size(); at += size) {
        sections_.push_back(section_at(list, at));
    }
}

ElfImage::Section ElfImage::section_at(const Bytes &list, std::uint64_t at) const {
    const std::uint64_t offset = at + 8 + 2 * word_;
    return {list.u32(at + 4), list.u32(offset + 2 * word_), word(list, offset),
            word(list, offset + word_)};
}

Bytes ElfImage::bytes(std::uint64_t offset, std::uint64_t length) {
    return Bytes(source_.read(offset, length), architecture_.order);
}

Bytes ElfImage::table(std::uint64_t offset, std::uint64_t count, std::uint64_t entry_size) {
    check_count(count, entry_size);
    return bytes(offset, count * entry_size);
}

Bytes ElfImage::mapped_table(std::uint64_t address, std::uint64_t count, std::uint64_t entry_size) {
    check_count(count, entry_size);
    return mapped(address, count * entry_size);
}

// Before the product of both can overflow.
void ElfImage::check_count(std::uint64_t count, std::uint64_t entry_size) const {
    if (count > source_.size() / entry_size) {
        throw Unreadable("the file is cut off or damaged: its headers promise a table of " +
                         std::to_string(count) + " entries");
    }
}

const ElfImage::Segment &ElfImage::segment_of(std::uint64_t address) const {
    for (const Segment &segment : segments_) {
        if (segment.type == segment_load && address >= segment.address &&
            address - segment.address < segment.size) {
            return segment;
        }
    }
    throw Unreadable("the file is damaged: an address in it is in none of its segments");
}

Bytes ElfImage::mapped(std::uint64_t address, std::uint64_t length) {
    const Segment &segment = segment_of(address);
    const std::uint64_t at = address - segment.address;
    if (length > segment.size - at) {
        throw Unreadable("the file is damaged: a table in it ends outside of its segment");
    }
    return bytes(segment.offset + at, length);
}

Bytes ElfImage::mapped_some(std::uint64_t address, std::uint64_t most) {
    const Segment &segment = segment_of(address);
    return mapped(address, std::min(most, segment.size - (address - segment.address)));
}

} // namespace cushim_info
