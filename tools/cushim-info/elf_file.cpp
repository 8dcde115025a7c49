#include "elf_file.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cuda_names.hpp"
#include "elf_image.hpp"
#include "elf_versions.hpp"

namespace cushim_info {
namespace {

constexpr std::uint32_t section_symbols = 2, section_dynamic_symbols = 11;

// Tags of the dynamic section.
constexpr std::uint64_t tag_needed = 1, tag_plt_size = 2, tag_hash = 4, tag_strings = 5,
                        tag_symbols = 6, tag_rela = 7, tag_rela_size = 8, tag_strings_size = 10,
                        tag_name = 14, tag_rpath = 15, tag_rel = 17, tag_rel_size = 18,
                        tag_plt_kind = 20, tag_plt = 23, tag_bind_now = 24, tag_runpath = 29,
                        tag_flags = 30, tag_gnu_hash = 0x6FFFFEF5, tag_versions = 0x6FFFFFF0,
                        tag_flags_1 = 0x6FFFFFFB, tag_versions_defined = 0x6FFFFFFC,
                        tag_versions_needed = 0x6FFFFFFE, tag_auxiliary = 0x7FFFFFFD,
                        tag_filter = 0x7FFFFFFF;
constexpr std::uint64_t flag_bind_now = 8, flag_1_now = 1, flag_1_pie = 0x08000000;

// More than any program has; limits the time for damaged files.
constexpr std::size_t most_needed = 4096, most_dynamic = 16384;

struct Symbol {
    std::string name;
    bool is_defined, is_weak, is_function;
};

std::vector<std::string> split_folders(const std::string &list) {
    std::vector<std::string> folders;
    std::size_t begin = 0;
    while (begin <= list.size()) {
        const std::size_t end = std::min(list.find(':', begin), list.size());
        if (end > begin) {
            folders.push_back(list.substr(begin, end - begin));
        }
        begin = end + 1;
    }
    return folders;
}

class ElfReader {
  public:
    explicit ElfReader(Source &source) : image_(source) {}

    Binary read();

  private:
    std::uint64_t word(const Bytes &from, std::uint64_t at) const { return image_.word(from, at); }
    std::uint64_t symbol_size() const { return image_.word_size() == 8 ? 24 : 16; }

    void read_segments();
    void read_notes(const ElfImage::Segment &segment);
    void read_dynamic(const Bytes &list);
    std::optional<std::uint64_t> value_of(std::uint64_t tag) const;
    void read_names();
    bool binds_at_start() const;

    std::uint64_t symbol_count(std::uint64_t symbols);
    std::uint64_t count_by_sections(std::uint64_t symbols) const;
    std::uint64_t count_by_relocations();
    std::uint64_t count_by_hash(std::uint64_t address);
    std::uint64_t count_by_gnu_hash(std::uint64_t address);
    Symbol symbol_at(const Bytes &symbols, const Bytes &names, std::uint64_t index) const;
    void read_dynamic_symbols();
    std::uint64_t symbol_of_relocation(std::uint64_t info) const;
    template <typename Visit>
    void each_relocation(std::uint64_t tag, std::uint64_t size_tag, unsigned int words,
                         Visit visit);
    void note_relocations(std::uint64_t tag, std::uint64_t size_tag, unsigned int words);
    void read_all_symbols();
    void add_contained(const ElfImage::Section &section, const ElfImage::Section &link);

    ElfImage image_;
    Binary binary_;
    NoteAllowance notes_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> dynamic_; // tags and values
    std::optional<Bytes> strings_;                                 // strings of the dynamic section
    std::map<std::uint64_t, std::size_t> import_of_symbol_;        // index of each in the imports
};

Binary ElfReader::read() {
    binary_.architecture = image_.architecture();
    binary_.is_program = image_.is_fixed();
    read_segments();
    read_names();
    read_dynamic_symbols();
    read_all_symbols();
    return std::move(binary_);
}

void ElfReader::read_segments() {
    const ElfImage::Segment *dynamic = nullptr; // the last one applies
    for (const ElfImage::Segment &segment : image_.segments()) {
        switch (segment.type) {
        case ElfImage::segment_interpreter:
            binary_.is_program = true;
            break;
        case ElfImage::segment_dynamic:
            dynamic = &segment;
            break;
        case ElfImage::segment_note:
            read_notes(segment);
            break;
        default:
            break;
        }
    }
    if (dynamic != nullptr) {
        read_dynamic(image_.mapped(dynamic->address, dynamic->size));
    }
}

// Notes that are not loaded may be anywhere, even outside the file.
void ElfReader::read_notes(const ElfImage::Segment &segment) {
    if (!image_.has(segment.offset, segment.size)) {
        return;
    }
    notes_.take(segment.size);
    const std::vector<Mark> marks = marks_of(image_.bytes(segment.offset, segment.size));
    binary_.marks.insert(binary_.marks.end(), marks.begin(), marks.end());
}

void ElfReader::read_dynamic(const Bytes &list) {
    const std::uint64_t size = image_.word_size();
    for (std::uint64_t at = 0; at + 2 * size <= list.size(); at += 2 * size) {
        const std::uint64_t tag = word(list, at);
        if (tag == 0) {
            break;
        }
        if (dynamic_.size() >= most_dynamic) {
            throw Unreadable(
                "the file is damaged: its dynamic section is longer than any program's");
        }
        dynamic_.emplace_back(tag, word(list, at + size));
    }
}

std::optional<std::uint64_t> ElfReader::value_of(std::uint64_t tag) const {
    const auto found = std::find_if(dynamic_.begin(), dynamic_.end(),
                                    [tag](const auto &entry) { return entry.first == tag; });
    return found != dynamic_.end() ? std::optional(found->second) : std::nullopt;
}

void ElfReader::read_names() {
    const auto address = value_of(tag_strings);
    const auto size = value_of(tag_strings_size);
    if (!address || !size) {
        if (value_of(tag_needed)) {
            throw Unreadable("the file is damaged: it needs libraries without naming them");
        }
        return;
    }
    strings_ = image_.mapped(*address, *size);
    for (const auto &[tag, value] : dynamic_) {
        if (tag == tag_needed || tag == tag_filter) {
            binary_.needed.push_back(strings_->text(value));
        } else if (tag == tag_auxiliary) {
            binary_.auxiliary.push_back(strings_->text(value));
        } else if (tag == tag_name) {
            binary_.name = strings_->text(value);
        } else if (tag == tag_rpath) {
            binary_.rpath = split_folders(strings_->text(value));
        } else if (tag == tag_runpath) {
            binary_.runpath = split_folders(strings_->text(value));
        }
    }
    if (binary_.needed.size() + binary_.auxiliary.size() > most_needed) {
        throw Unreadable("the file is damaged: it needs more libraries than any program does");
    }
    binary_.is_program =
        binary_.is_program || (value_of(tag_flags_1).value_or(0) & flag_1_pie) != 0;
}

bool ElfReader::binds_at_start() const {
    return value_of(tag_bind_now).has_value() ||
           (value_of(tag_flags).value_or(0) & flag_bind_now) != 0 ||
           (value_of(tag_flags_1).value_or(0) & flag_1_now) != 0;
}

// The dynamic section does not contain the number of symbols. An old-style hash table does, and so
// does the section list, if present. GNU's hash table may contain only symbols that are defined
// here; the other ones are found through relocations.
std::uint64_t ElfReader::symbol_count(std::uint64_t symbols) {
    if (const auto hash = value_of(tag_hash)) {
        return count_by_hash(*hash);
    }
    if (const std::uint64_t count = count_by_sections(symbols); count != 0) {
        return count;
    }
    const auto hash = value_of(tag_gnu_hash);
    return std::max(hash ? count_by_gnu_hash(*hash) : 0, count_by_relocations());
}

std::uint64_t ElfReader::count_by_sections(std::uint64_t symbols) const {
    for (const ElfImage::Section &section : image_.sections()) {
        if (section.type == section_dynamic_symbols && section.address == symbols &&
            section.size <= image_.mapped_size(symbols)) {
            return section.size / symbol_size();
        }
    }
    return 0;
}

std::uint64_t ElfReader::count_by_relocations() {
    std::uint64_t count = 0;
    const auto visit = [&count](std::uint64_t, std::uint64_t symbol) {
        count = std::max(count, symbol + 1);
    };
    each_relocation(tag_rela, tag_rela_size, 3, visit);
    each_relocation(tag_rel, tag_rel_size, 2, visit);
    each_relocation(tag_plt, tag_plt_size, value_of(tag_plt_kind) == tag_rel ? 2 : 3, visit);
    return count;
}

std::uint64_t ElfReader::count_by_hash(std::uint64_t address) {
    constexpr unsigned int alpha = 0x9026, s390 = 22; // their 64-bit files have wider entries
    const unsigned int machine = binary_.architecture.machine;
    const unsigned int width =
        image_.word_size() == 8 && (machine == alpha || machine == s390) ? 8 : 4;
    return image_.mapped(address, 2 * width).number(width, width);
}

// The last symbol is the end of the chain that reaches furthest.
std::uint64_t ElfReader::count_by_gnu_hash(std::uint64_t address) {
    const Bytes header = image_.mapped(address, 16);
    const std::uint64_t bucket_count = header.u32(0);
    const std::uint64_t first_symbol = header.u32(4);
    address += 16 + std::uint64_t{header.u32(8)} * image_.word_size();
    const Bytes buckets = image_.mapped(address, bucket_count * 4);
    std::uint64_t last = 0;
    for (std::uint64_t at = 0; at < buckets.size(); at += 4) {
        last = std::max<std::uint64_t>(last, buckets.u32(at));
    }
    if (last < first_symbol) {
        return first_symbol; // no symbol is defined here
    }
    address += buckets.size() + (last - first_symbol) * 4;
    for (;;) {
        const Bytes chain = image_.mapped_some(address, 4096);
        for (std::uint64_t at = 0; at + 4 <= chain.size(); at += 4) {
            ++last;
            if ((chain.u32(at) & 1) != 0) {
                return last;
            }
        }
        address += 4096;
    }
}

Symbol ElfReader::symbol_at(const Bytes &symbols, const Bytes &names, std::uint64_t index) const {
    const std::uint64_t at = index * symbol_size();
    const std::uint64_t info_at = image_.word_size() == 8 ? at + 4 : at + 12;
    const std::uint64_t name = symbols.u32(at);
    if (!names.starts_with(name, "cu") && !names.starts_with(name, "__cuda")) {
        return {};
    }
    constexpr std::uint64_t weak = 2, function = 2, indirect_function = 10;
    const std::uint64_t info = symbols.number(info_at, 1);
    return {names.text(name), symbols.u16(info_at + 2) != 0, info >> 4 == weak,
            (info & 15) == function || (info & 15) == indirect_function};
}

void ElfReader::read_dynamic_symbols() {
    const auto address = value_of(tag_symbols);
    const std::uint64_t count = address && strings_ ? symbol_count(*address) : 0;
    if (count == 0) {
        return;
    }
    const Bytes symbols = image_.mapped_table(*address, count, symbol_size());
    const ElfVersions versions(
        image_, *strings_,
        {value_of(tag_versions), value_of(tag_versions_needed), value_of(tag_versions_defined)},
        count);
    const bool at_start = binds_at_start();
    for (std::uint64_t i = 1; i < count; ++i) {
        const Symbol symbol = symbol_at(symbols, *strings_, i);
        if (function_kind(symbol.name) == LibraryKind::other) {
            continue;
        }
        const ElfVersion version = versions.of(i);
        if (symbol.is_defined) {
            binary_.exported.push_back({symbol.name, version.name, versions.is_default(i)});
        } else {
            import_of_symbol_[i] = binary_.imports.size();
            binary_.imports.push_back({symbol.name, "", symbol.is_weak,
                                       at_start || is_called_before_main(symbol.name), false,
                                       version.name, version.library});
        }
    }
    if (!import_of_symbol_.empty() && !at_start) {
        note_relocations(tag_rela, tag_rela_size, 3);
        note_relocations(tag_rel, tag_rel_size, 2);
    }
}

std::uint64_t ElfReader::symbol_of_relocation(std::uint64_t info) const {
    if (image_.word_size() == 4) {
        return info >> 8;
    }
    constexpr unsigned int mips = 8; // the symbol comes first, in either byte order
    const Architecture &architecture = image_.architecture();
    return architecture.machine == mips && architecture.order == ByteOrder::little
               ? info & 0xFFFFFFFF
               : info >> 32;
}

// Calls visit(address of the entry, index of its symbol) for each relocation.
template <typename Visit>
void ElfReader::each_relocation(std::uint64_t tag, std::uint64_t size_tag, unsigned int words,
                                Visit visit) {
    const auto address = value_of(tag);
    const std::uint64_t size = value_of(size_tag).value_or(0);
    if (!address || size == 0) {
        return;
    }
    const std::uint64_t size_of_word = image_.word_size();
    const std::uint64_t entry_size = words * size_of_word;
    const Bytes list = image_.mapped(*address, size);
    for (std::uint64_t at = 0; at + entry_size <= list.size(); at += entry_size) {
        visit(*address + at, symbol_of_relocation(word(list, at + size_of_word)));
    }
}

// A function whose address is stored is required at start-up, whether it is called or not.
void ElfReader::note_relocations(std::uint64_t tag, std::uint64_t size_tag, unsigned int words) {
    const std::uint64_t lazy = value_of(tag_plt).value_or(0);
    const std::uint64_t lazy_size = lazy != 0 ? value_of(tag_plt_size).value_or(0) : 0;
    each_relocation(tag, size_tag, words, [&](std::uint64_t address, std::uint64_t symbol) {
        if (address - lazy < lazy_size) {
            return; // on some machines, this table includes functions that are only called
        }
        if (const auto import = import_of_symbol_.find(symbol); import != import_of_symbol_.end()) {
            binary_.imports[import->second].at_start = true;
        }
    });
}

// All functions defined here, including hidden ones unless the file is stripped.
void ElfReader::read_all_symbols() {
    try {
        for (const ElfImage::Section &section : image_.sections()) {
            if (section.type == section_symbols && section.link < image_.sections().size()) {
                add_contained(section, image_.sections()[section.link]);
                break; // at most one exists
            }
        }
    } catch (const Unreadable &) {
        binary_.contained.clear(); // optional: treat the file as stripped
    }
    std::vector<std::string> &names = binary_.contained;
    if (names.empty()) {
        for (const Export &function : binary_.exported) {
            names.push_back(function.name);
        }
    }
    std::sort(names.begin(), names.end()); // a name may occur in several versions
    names.erase(std::unique(names.begin(), names.end()), names.end());
}

void ElfReader::add_contained(const ElfImage::Section &section, const ElfImage::Section &link) {
    const Bytes names = image_.bytes(link.offset, link.size);
    const Bytes symbols = image_.bytes(section.offset, section.size);
    for (std::uint64_t i = 1; i < symbols.size() / symbol_size(); ++i) {
        const Symbol symbol = symbol_at(symbols, names, i);
        if (symbol.is_defined && symbol.is_function &&
            function_kind(symbol.name) != LibraryKind::other) {
            // Names contain the version here: "cudaMalloc@@CUSHIM".
            binary_.contained.push_back(symbol.name.substr(0, symbol.name.find('@')));
        }
    }
}

} // namespace

bool is_elf(std::string_view start) {
    return start.starts_with("\x7F"
                             "ELF");
}

Binary read_elf(Source &source) {
    return ElfReader(source).read();
}

} // namespace cushim_info
