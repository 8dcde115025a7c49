#include "pe_file.hpp"

#include <algorithm>
#include <map>

#include "cuda_names.hpp"

namespace cushim_info {
namespace {

constexpr unsigned int directory_exports = 0, directory_imports = 1, directory_delayed = 13;
constexpr std::uint16_t is_dll = 0x2000;
constexpr std::uint32_t is_executable = 0x20000000; // a section

// More than any program has; limits the time for damaged files.
constexpr std::size_t most_libraries = 4096, most_functions = 1 << 20, most_sections = 1024;

struct Section {
    std::string name;
    std::uint64_t address, memory_size, offset, size;
    bool is_code;
};

// Tools that split off debug information keep the list of sections but remove the contents.
bool has_debug_information_only(const std::vector<Section> &sections) {
    const auto has_contents = [](const Section &section) {
        return section.is_code && section.size > 0 && section.offset > 0;
    };
    return std::any_of(sections.begin(), sections.end(),
                       [](const Section &section) { return section.is_code; }) &&
           std::none_of(sections.begin(), sections.end(), has_contents);
}

class PeReader {
  public:
    explicit PeReader(Source &source) : source_(source) {}

    Binary read();

  private:
    Bytes bytes(std::uint64_t offset, std::uint64_t length);
    void read_header();
    void read_sections(std::uint64_t offset, unsigned int count);

    // The bytes at an address relative to the image, up to the end of its section.
    struct Place {
        const Bytes &bytes;
        std::uint64_t at;
    };
    Place place(std::uint64_t address);
    std::string text(std::uint64_t address);
    std::uint64_t directory(unsigned int index) const;

    void read_imports();
    void read_delayed_imports();
    void read_functions(const std::string &library, std::uint64_t names, std::uint64_t bias,
                        bool is_delayed);
    void read_exports();
    void read_marks();

    Source &source_;
    Binary binary_;
    bool is_wide_ = false;
    std::uint64_t image_base_ = 0;
    std::vector<std::uint64_t> directories_; // addresses; 0 if missing
    std::vector<Section> sections_;
    std::map<std::size_t, Bytes> contents_; // contents of the sections that were read
    std::uint64_t looked_into_ = 0;         // total bytes of these sections
    std::size_t functions_ = 0;
    NoteAllowance notes_;
};

Bytes PeReader::bytes(std::uint64_t offset, std::uint64_t length) {
    return Bytes(source_.read(offset, length), ByteOrder::little);
}

Binary PeReader::read() {
    read_header();
    read_imports();
    read_delayed_imports();
    read_exports();
    read_marks();
    return std::move(binary_);
}

void PeReader::read_header() {
    const std::uint64_t at = bytes(0, 64).u32(60);
    const Bytes header = bytes(at, 24);
    if (!header.starts_with(0, std::string_view("PE\0\0", 4))) {
        throw Unreadable("a program for DOS, not for Windows");
    }
    const std::uint16_t optional_size = header.u16(20);
    const Bytes optional = bytes(at + 24, optional_size);
    const std::uint16_t magic = optional.u16(0);
    if (magic != 0x10B && magic != 0x20B) {
        throw Unreadable("the file is damaged: a PE file of no known kind");
    }
    is_wide_ = magic == 0x20B;
    image_base_ = is_wide_ ? optional.u64(24) : optional.u32(28);
    binary_.architecture = {Format::pe, is_wide_ ? 64u : 32u, ByteOrder::little, header.u16(4)};
    binary_.is_program = (header.u16(22) & is_dll) == 0;

    const std::uint64_t list = is_wide_ ? 112 : 96;
    const std::uint64_t count = std::min<std::uint64_t>(optional.u32(list - 4), 16);
    for (std::uint64_t i = 0; i < count; ++i) {
        directories_.push_back(optional.u32(list + i * 8));
    }
    read_sections(at + 24 + optional_size, header.u16(6));
}

void PeReader::read_sections(std::uint64_t offset, unsigned int count) {
    if (count > most_sections) {
        throw Unreadable("the file is damaged: it has more sections than any program does");
    }
    const Bytes list = bytes(offset, std::uint64_t{count} * 40);
    for (std::uint64_t at = 0; at < list.size(); at += 40) {
        const std::string name = list.part(at, 8);
        sections_.push_back({name.substr(0, name.find('\0')), list.u32(at + 12), list.u32(at + 8),
                             list.u32(at + 20), list.u32(at + 16),
                             (list.u32(at + 36) & is_executable) != 0});
    }
    if (has_debug_information_only(sections_)) {
        throw Unreadable("it holds debug information only: audit the file that it was split from");
    }
    for (const Section &section : sections_) {
        if (section.size > 0 && section.offset + section.size > source_.size()) {
            throw Unreadable("the file is truncated or damaged: its size, " +
                             std::to_string(source_.size()) +
                             ", is smaller than its headers describe");
        }
    }
}

PeReader::Place PeReader::place(std::uint64_t address) {
    for (std::size_t i = 0; i < sections_.size(); ++i) {
        const Section &section = sections_[i];
        if (address < section.address || address - section.address >= section.size) {
            continue;
        }
        auto known = contents_.find(i);
        if (known == contents_.end()) {
            looked_into_ += section.size;
            if (looked_into_ > source_.size()) {
                throw Unreadable("the file is damaged: its sections overlap");
            }
            known = contents_.emplace(i, bytes(section.offset, section.size)).first;
        }
        return {known->second, address - section.address};
    }
    throw Unreadable("the file is damaged: an address in it is in none of its sections");
}

std::string PeReader::text(std::uint64_t address) {
    const Place found = place(address);
    return found.bytes.text(found.at);
}

std::uint64_t PeReader::directory(unsigned int index) const {
    return index < directories_.size() ? directories_[index] : 0;
}

void PeReader::read_imports() {
    const std::uint64_t address = directory(directory_imports);
    if (address == 0) {
        return;
    }
    const Place list = place(address);
    for (std::uint64_t at = list.at; list.bytes.u32(at + 12) != 0; at += 20) {
        const std::string library = text(list.bytes.u32(at + 12));
        binary_.needed.push_back(library);
        if (binary_.needed.size() > most_libraries) {
            throw Unreadable("the file is damaged: it needs more libraries than any program does");
        }
        // Some linkers leave out the first list; the second one then has the names.
        const std::uint32_t names = list.bytes.u32(at);
        read_functions(library, names != 0 ? names : list.bytes.u32(at + 16), 0, false);
    }
}

void PeReader::read_delayed_imports() {
    const std::uint64_t address = directory(directory_delayed);
    if (address == 0) {
        return;
    }
    const Place list = place(address);
    for (std::uint64_t at = list.at; list.bytes.u32(at + 4) != 0; at += 32) {
        // Old linkers wrote absolute addresses instead of relative ones.
        const std::uint64_t bias = (list.bytes.u32(at) & 1) != 0 ? 0 : image_base_;
        const std::string library = text(list.bytes.u32(at + 4) - bias);
        binary_.delayed.push_back(library);
        if (binary_.delayed.size() > most_libraries) {
            throw Unreadable("the file is damaged: it needs more libraries than any program does");
        }
        read_functions(library, list.bytes.u32(at + 16) - bias, bias, true);
    }
}

void PeReader::read_functions(const std::string &library, std::uint64_t names, std::uint64_t bias,
                              bool is_delayed) {
    if (library_kind(library) == LibraryKind::other) {
        return;
    }
    const unsigned int width = is_wide_ ? 8 : 4;
    const std::uint64_t by_number = std::uint64_t{1} << (width * 8 - 1);
    const Place list = place(names);
    for (std::uint64_t at = list.at;; at += width) {
        const std::uint64_t entry = list.bytes.number(at, width);
        if (entry == 0) {
            return;
        }
        if (++functions_ > most_functions) {
            throw Unreadable("the file is damaged: it imports more functions than any program");
        }
        Import import;
        import.name = (entry & by_number) != 0
                          ? std::string("#").append(std::to_string(entry & 0xFFFF))
                          : text(entry - bias + 2); // a hint precedes the name
        import.library = library;
        import.at_start = !is_delayed;
        import.is_delayed = is_delayed;
        binary_.imports.push_back(std::move(import));
    }
}

void PeReader::read_exports() {
    const std::uint64_t address = directory(directory_exports);
    if (address == 0) {
        return;
    }
    const Place table = place(address);
    const std::uint32_t count = table.bytes.u32(table.at + 24);
    const std::uint32_t names = table.bytes.u32(table.at + 32);
    if (count == 0) {
        return;
    }
    if (count > most_functions) {
        throw Unreadable("the file is damaged: it exports more functions than any library");
    }
    const Place list = place(names);
    for (std::uint64_t i = 0; i < count; ++i) {
        std::string name = text(list.bytes.u32(list.at + i * 4));
        if (function_kind(name) != LibraryKind::other) {
            binary_.contained.push_back(name);
            binary_.exported.push_back({std::move(name), "", true});
        }
    }
}

void PeReader::read_marks() {
    for (const Section &section : sections_) {
        if (section.name == ".cushim") {
            const std::uint64_t size = std::min(section.memory_size, section.size);
            notes_.take(size);
            const std::vector<Mark> marks = marks_of(bytes(section.offset, size));
            binary_.marks.insert(binary_.marks.end(), marks.begin(), marks.end());
        }
    }
}

} // namespace

bool is_pe(std::string_view start) {
    return start.starts_with("MZ");
}

Binary read_pe(Source &source) {
    return PeReader(source).read();
}

} // namespace cushim_info
