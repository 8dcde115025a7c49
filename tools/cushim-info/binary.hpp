// The properties of a program or library that an audit uses, in any format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bytes.hpp"
#include "source.hpp"

namespace cushim_info {

enum class Format { elf, pe };

// A library is usable for a program only if all of this is equal.
struct Architecture {
    Format format = Format::elf;
    unsigned int bits = 64;
    ByteOrder order = ByteOrder::little;
    unsigned int machine = 0; // the number in the file format

    bool operator==(const Architecture &) const = default;
};

// "ELF, 64 bit, little endian, x86-64"
std::string architecture_text(const Architecture &architecture);

// "x86-64"; "machine 999" for machines without a name here.
std::string machine_text(const Architecture &architecture);

// A CUDA function that the file uses and does not define.
struct Import {
    std::string name;        // "#12" for number 12 of a DLL
    std::string library;     // the library that must define it, if the file names it (PE only)
    bool optional = false;   // weak: may be undefined
    bool at_start = false;   // required at start-up, not only at the first call
    bool is_delayed = false; // PE: its library is loaded on the first call
    std::string version;     // ELF: requested symbol version, "" if none
    std::string version_of;  // the library that had this version when the file was linked
};

// A CUDA function that the file exports.
struct Export {
    std::string name;
    std::string version;    // ELF: "" if it has none
    bool is_default = true; // used by imports without a version
};

// A note of cushim (include/cushim/detail/marker.h): the file contains this part.
struct Mark {
    std::uint32_t type = 0;
    std::string text; // "0.1.0 13000": versions of cushim and of the CUDA headers; "nvml"
};

constexpr std::uint32_t mark_core = 0x101;
constexpr std::uint32_t mark_dropin = 0x102;
constexpr std::uint32_t mark_library = 0x103; // the drop-in of a further library, which it names

struct Binary {
    Architecture architecture;
    bool is_program = false;
    std::string name;                   // its own name: DT_SONAME
    std::vector<std::string> needed;    // libraries that are loaded with it
    std::vector<std::string> auxiliary; // ELF: libraries that are loaded with it if they exist
    std::vector<std::string> delayed;   // libraries that are loaded on the first call
    std::vector<std::string> rpath;     // folders, as they are written: DT_RPATH
    std::vector<std::string> runpath;   // DT_RUNPATH
    std::vector<Import> imports;        // CUDA functions only
    std::vector<Export> exported;       // one for each version
    std::vector<std::string> contained; // CUDA functions that it defines, exported or not
    std::vector<Mark> marks;
};

// Throws Unreadable. Only the parts that the system loads are checked: the file is rejected if one
// of them is truncated or contradictory.
Binary read_binary(Source &source);

// cushim's notes among these bytes.
std::vector<Mark> marks_of(const Bytes &notes);

// The total number of note bytes that an audit reads from one file; programs have a few hundred.
class NoteAllowance {
  public:
    // Throws Unreadable if that is too much.
    void take(std::uint64_t size);

  private:
    std::uint64_t left_ = 1 << 20;
};

} // namespace cushim_info
