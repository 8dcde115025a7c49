// The versions of an ELF file's dynamic symbols: which one an import asks for, which one a function
// that others may use has.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "elf_image.hpp"

namespace cushim_info {

struct ElfVersion {
    std::string name;    // "libcudart.so.13"
    std::string library; // that must have it; "" where it is the file's own
};

class ElfVersions {
  public:
    // The addresses that the dynamic section tells.
    struct Places {
        std::optional<std::uint64_t> of_symbols, needed, defined;
    };

    // Throws Unreadable; `strings` are those of the dynamic section.
    ElfVersions(ElfImage &image, const Bytes &strings, const Places &places,
                std::uint64_t symbol_count);

    // Without a name: the symbol has none, or the one that is the file itself, which nobody asks
    // for.
    ElfVersion of(std::uint64_t symbol) const;

    // Whether this symbol serves those who ask for no version.
    bool is_default(std::uint64_t symbol) const;

  private:
    void read_needed(std::uint64_t address);
    void read_defined(std::uint64_t address);
    template <typename Visit>
    void each(std::uint64_t address, std::uint64_t size, Visit visit);
    std::uint16_t entry_of(std::uint64_t symbol) const;

    ElfImage &image_;
    const Bytes &strings_;
    std::optional<Bytes> of_symbols_;
    std::map<unsigned int, ElfVersion> by_index_;
    std::size_t entries_ = 0;
};

} // namespace cushim_info
