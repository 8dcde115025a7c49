#include "elf_versions.hpp"

namespace cushim_info {
namespace {

// A symbol's entry is the number of its version and this bit, which hides it from imports without a
// version.
constexpr std::uint16_t hidden = 0x8000;
constexpr unsigned int oldest = 2; // 0 and 1 are special: a local symbol, and the file itself
constexpr std::uint16_t is_file_itself = 1;

// The number of possible versions; limits the time for damaged files.
constexpr std::size_t most_entries = 0x8000;

} // namespace

ElfVersions::ElfVersions(ElfImage &image, const Bytes &strings, const Places &places,
                         std::uint64_t symbol_count)
    : image_(image), strings_(strings) {
    if (!places.of_symbols) {
        return;
    }
    of_symbols_ = image.mapped_table(*places.of_symbols, symbol_count, 2);
    if (places.needed) {
        read_needed(*places.needed);
    }
    if (places.defined) {
        read_defined(*places.defined);
    }
}

// Calls visit(bytes of the entry, its address) for a list in which each entry ends with the
// distance to the next.
template <typename Visit>
void ElfVersions::each(std::uint64_t address, std::uint64_t size, Visit visit) {
    for (std::uint64_t distance = 1; distance != 0; address += distance) {
        if (++entries_ > most_entries) {
            throw Unreadable("the file is damaged: it has more versions than version numbers");
        }
        const Bytes entry = image_.mapped(address, size);
        visit(entry, address);
        distance = entry.u32(size - 4);
    }
}

// A list of libraries, each with the versions that it must define.
void ElfVersions::read_needed(std::uint64_t address) {
    each(address, 16, [this](const Bytes &needed, std::uint64_t at) {
        const std::string library = strings_.text(needed.u32(4));
        each(at + needed.u32(8), 16, [&](const Bytes &version, std::uint64_t) {
            const unsigned int index = version.u16(6) & ~unsigned{hidden};
            by_index_[index] = {strings_.text(version.u32(8)), library};
        });
    });
}

// Each version has a list of names: its own, and those of its predecessors.
void ElfVersions::read_defined(std::uint64_t address) {
    each(address, 20, [this](const Bytes &version, std::uint64_t at) {
        if ((version.u16(2) & is_file_itself) == 0) {
            const Bytes name = image_.mapped(at + version.u32(12), 8);
            const unsigned int index = version.u16(4) & ~unsigned{hidden};
            by_index_[index] = {strings_.text(name.u32(0)), ""};
        }
    });
}

std::uint16_t ElfVersions::entry_of(std::uint64_t symbol) const {
    return of_symbols_ ? of_symbols_->u16(symbol * 2) : std::uint16_t{0};
}

ElfVersion ElfVersions::of(std::uint64_t symbol) const {
    const auto found = by_index_.find(entry_of(symbol) & ~unsigned{hidden});
    return found != by_index_.end() ? found->second : ElfVersion();
}

// The oldest version also serves them if it is hidden: programs from before versions existed use
// it.
bool ElfVersions::is_default(std::uint64_t symbol) const {
    const std::uint16_t entry = entry_of(symbol);
    return (entry & hidden) == 0 || (entry & ~unsigned{hidden}) <= oldest;
}

} // namespace cushim_info
