#include "elf_versions.hpp"

namespace cushim_info {
namespace {

// A symbol's entry is the number of its version, and this bit: only who asks for it gets it.
constexpr std::uint16_t hidden = 0x8000;
constexpr unsigned int oldest = 2; // 0 and 1 are none: a local symbol, and one of the file itself
constexpr std::uint16_t is_file_itself = 1;

// As many as there are numbers: a damaged file must not keep the audit busy.
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

// Calls visit(bytes of the entry, its address) for a list of which each entry ends with the
// distance to the next one.
template <typename Visit>
void ElfVersions::each(std::uint64_t address, std::uint64_t size, Visit visit) {
    for (std::uint64_t distance = 1; distance != 0; address += distance) {
        if (++entries_ > most_entries) {
            throw Unreadable("the file is damaged: it has more versions than there are numbers");
        }
        const Bytes entry = image_.mapped(address, size);
        visit(entry, address);
        distance = entry.u32(size - 4);
    }
}

// A list of libraries, each with a list of the versions that it must have.
void ElfVersions::read_needed(std::uint64_t address) {
    each(address, 16, [this](const Bytes &needed, std::uint64_t at) {
        const std::string library = strings_.text(needed.u32(4));
        each(at + needed.u32(8), 16, [&](const Bytes &version, std::uint64_t) {
            const unsigned int index = version.u16(6) & ~unsigned{hidden};
            by_index_[index] = {strings_.text(version.u32(8)), library};
        });
    });
}

// Each has a list of names: its own, and those of the versions that it goes on from.
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

// The oldest one does, too, where it is hidden: programs from before there were versions want it.
bool ElfVersions::is_default(std::uint64_t symbol) const {
    const std::uint16_t entry = entry_of(symbol);
    return (entry & hidden) == 0 || (entry & ~unsigned{hidden}) <= oldest;
}

} // namespace cushim_info
