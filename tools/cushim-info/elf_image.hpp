// The structure of an ELF file: header, segments and sections, and access to bytes by address.
#pragma once

#include <cstdint>
#include <vector>

#include "binary.hpp"

namespace cushim_info {

class ElfImage {
  public:
    struct Segment {
        std::uint32_t type;
        std::uint64_t offset, address, size, memory_size; // `size` is the size in the file
    };

    struct Section {
        std::uint32_t type, link;
        std::uint64_t flags, address, offset, size;
    };

    static constexpr std::uint32_t segment_load = 1, segment_dynamic = 2, segment_interpreter = 3,
                                   segment_note = 4;

    // Throws Unreadable, like every function here.
    explicit ElfImage(Source &source);

    const Architecture &architecture() const { return architecture_; }
    bool is_fixed() const { return is_fixed_; } // has a fixed address, so it is a program
    const std::vector<Segment> &segments() const { return segments_; }

    // Empty if the file has no valid list of sections, which systems ignore.
    const std::vector<Section> &sections() const { return sections_; }

    // The number of bytes of an address in this file.
    unsigned int word_size() const { return word_; }
    std::uint64_t word(const Bytes &from, std::uint64_t at) const { return from.number(at, word_); }

    // By offset in the file.
    bool has(std::uint64_t offset, std::uint64_t length) const;
    Bytes bytes(std::uint64_t offset, std::uint64_t length);
    Bytes table(std::uint64_t offset, std::uint64_t count, std::uint64_t entry_size);

    // By address in the loaded file; mapped_some() returns fewer bytes at the end of the segment.
    Bytes mapped(std::uint64_t address, std::uint64_t length);
    Bytes mapped_table(std::uint64_t address, std::uint64_t count, std::uint64_t entry_size);
    Bytes mapped_some(std::uint64_t address, std::uint64_t most);

    // The number of bytes mapped at that address, up to the end of the segment.
    std::uint64_t mapped_size(std::uint64_t address) const;

  private:
    void read_segments(std::uint64_t offset, std::uint64_t count);
    void read_sections(std::uint64_t offset, std::uint64_t count, std::uint64_t entry_size);
    bool has_debug_information_only() const;
    void check_segments() const;
    Section section_at(const Bytes &list, std::uint64_t at) const;
    const Segment &segment_of(std::uint64_t address) const;
    void check_count(std::uint64_t count, std::uint64_t entry_size) const;

    Source &source_;
    Architecture architecture_;
    bool is_fixed_ = false;
    unsigned int word_ = 8;
    std::vector<Segment> segments_;
    std::vector<Section> sections_;
};

} // namespace cushim_info
