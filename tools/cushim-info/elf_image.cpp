#include "elf_image.hpp"

#include <algorithm>

namespace cushim_info {
namespace {

// Every address is looked up among them; limits the time for malicious files.
constexpr unsigned int most_segments = 4096;

} // namespace

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
    if (segment_count == 0 || segment_size != (word_ == 8 ? 56 : 32)) {
        throw Unreadable("the file is damaged: its list of segments is invalid");
    }
    if (segment_count > most_segments) {
        throw Unreadable("the file is damaged: it has more segments than any program does");
    }
    read_segments(word(header, 24 + word_), segment_count);
    try {
        read_sections(word(header, 24 + 2 * word_), section_count, section_size);
    } catch (const Unreadable &) {
        sections_.clear();
    }
    if (has_debug_information_only()) {
        throw Unreadable("it holds debug information only: audit the file that it was split from");
    }
    check_segments();
}

void ElfImage::read_segments(std::uint64_t offset, std::uint64_t count) {
    const std::uint64_t size = word_ == 8 ? 56 : 32;
    const Bytes list = table(offset, count, size);
    for (std::uint64_t at = 0; at < list.size(); at += size) {
        // The flags are the second member with 8-byte words, and a later one with 4-byte words.
        const std::uint64_t first = at + word_;
        segments_.push_back({list.u32(at), word(list, first), word(list, first + word_),
                             word(list, first + 3 * word_), word(list, first + 4 * word_)});
    }
}

void ElfImage::read_sections(std::uint64_t offset, std::uint64_t count, std::uint64_t entry_size) {
    const std::uint64_t size = word_ == 8 ? 64 : 40;
    if (offset == 0 || entry_size != size) {
        return;
    }
    if (count == 0) { // too many for the header: stored in the first entry
        count = section_at(bytes(offset, size), 0).size;
    }
    const Bytes list = table(offset, count, size);
    for (std::uint64_t at = 0; at < list.size(); at += size) {
        sections_.push_back(section_at(list, at));
    }
}

ElfImage::Section ElfImage::section_at(const Bytes &list, std::uint64_t at) const {
    const std::uint64_t first = at + 8; // after name and type
    return {
        list.u32(at + 4),          list.u32(first + 4 * word_),   word(list, first),
        word(list, first + word_), word(list, first + 2 * word_), word(list, first + 3 * word_)};
}

// Tools that split off debug information keep the tables but remove the contents of all loaded
// segments.
bool ElfImage::has_debug_information_only() const {
    constexpr std::uint32_t no_contents = 8;
    constexpr std::uint64_t loaded_code = 2 | 4;
    for (const Segment &segment : segments_) {
        if (segment.type == segment_dynamic && segment.size == 0 && segment.memory_size != 0) {
            return true;
        }
    }
    const auto is_code = [](const Section &section) {
        return (section.flags & loaded_code) == loaded_code;
    };
    const auto has_contents = [&](const Section &section) {
        return is_code(section) && section.type != no_contents;
    };
    return std::any_of(sections_.begin(), sections_.end(), is_code) &&
           std::none_of(sections_.begin(), sections_.end(), has_contents);
}

void ElfImage::check_segments() const {
    for (const Segment &segment : segments_) {
        if (segment.type == segment_load && !has(segment.offset, segment.size)) {
            throw Unreadable("the file is truncated or damaged: its size, " +
                             std::to_string(source_.size()) +
                             ", is smaller than its headers describe");
        }
    }
}

bool ElfImage::has(std::uint64_t offset, std::uint64_t length) const {
    return offset <= source_.size() && length <= source_.size() - offset;
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

// Checked before the product can overflow.
void ElfImage::check_count(std::uint64_t count, std::uint64_t entry_size) const {
    if (count > source_.size() / entry_size) {
        throw Unreadable("the file is truncated or damaged: its headers describe a table of " +
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
    if (length > mapped_size(address)) {
        throw Unreadable("the file is damaged: a table in it ends outside its segment");
    }
    const Segment &segment = segment_of(address);
    return bytes(segment.offset + (address - segment.address), length);
}

Bytes ElfImage::mapped_some(std::uint64_t address, std::uint64_t most) {
    return mapped(address, std::min(most, mapped_size(address)));
}

std::uint64_t ElfImage::mapped_size(std::uint64_t address) const {
    const Segment &segment = segment_of(address);
    return segment.size - (address - segment.address);
}

} // namespace cushim_info
