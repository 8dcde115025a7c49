// Versions of dynamic symbols in an ELF file: those that imports request and those that exported
// functions have.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "elf_image.hpp"

namespace cushim_info {

struct ElfVersion {
    std::string name;    // "libcudart.so.13"
    std::string library; // library that must define it; "" for the file's own
};

class ElfVersions {
  public:
    // The addresses in the dynamic section.
    struct Places {
        std::optional<std::uint64_t> of_symbols, needed, defined;
    };

    // Throws Unreadable; `strings` are those of the dynamic section.
    ElfVersions(ElfImage &image, const Bytes &strings, const Places &places,
                std::uint64_t symbol_count);

    // Without a name if the symbol has no version, or that of the file itself, which imports never
    // request.
    ElfVersion of(std::uint64_t symbol) const;

    // Whether imports without a version use this symbol.
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
