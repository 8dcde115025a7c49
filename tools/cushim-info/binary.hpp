// What an audit wants to know of one program or library, whatever its format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bytes.hpp"
#include "source.hpp"

namespace cushim_info {

enum class Format { elf, pe };

// A library serves a program only if all of it is the same.
struct Architecture {
    Format format = Format::elf;
    unsigned int bits = 64;
    ByteOrder order = ByteOrder::little;
    unsigned int machine = 0; // the format's own number

    bool operator==(const Architecture &) const = default;
};

// "ELF, 64 bit, little endian, x86-64"
std::string architecture_text(const Architecture &architecture);

// "x86-64"; "machine 999" if it has no name here.
std::string machine_text(const Architecture &architecture);

// A function of CUDA's that the file uses and does not define.
struct Import {
    std::string name;        // "#12" for number 12 of a DLL
    std::string library;     // where it must be, if the file says so: only PE does
    bool optional = false;   // weak: nothing happens if nobody defines it
    bool at_start = false;   // it must be there at start-up, not only when it is first called
    bool is_delayed = false; // PE: of a library that is loaded when it is first called
    std::string version;     // ELF: that it asks for, "" if it asks for none
    std::string version_of;  // the library that had this version when the file was linked
};

// A function of CUDA's that the file offers to others.
struct Export {
    std::string name;
    std::string version;    // ELF: "" if it has none
    bool is_default = true; // for those who ask for no version
};

// A note of cushim's (src/loader/marker.hpp): that the file contains this part of it.
struct Mark {
    std::uint32_t type = 0;
    std::string text; // "0.1.0 13000": versions of cushim and of the CUDA headers
};

constexpr std::uint32_t mark_core = 0x101;
constexpr std::uint32_t mark_dropin = 0x102;

struct Binary {
    Architecture architecture;
    bool is_program = false;
    std::string name;                   // that it gives itself: DT_SONAME
    std::vector<std::string> needed;    // libraries that are loaded with it
    std::vector<std::string> auxiliary; // ELF: libraries that are loaded with it if they are there
    std::vector<std::string> delayed;   // libraries that are loaded when they are first called
    std::vector<std::string> rpath;     // folders, as they are written: DT_RPATH
    std::vector<std::string> runpath;   // DT_RUNPATH
    std::vector<Import> imports;        // CUDA's functions only
    std::vector<Export> exported;       // one for each version
    std::vector<std::string> contained; // CUDA's functions that it defines, exported or not
    std::vector<Mark> marks;
};

// Throws Unreadable. The parts of a file that its system does not look at are not judged: a file is
// refused where something of what is loaded is cut off or contradicts itself.
Binary read_binary(Source &source);

// The notes of cushim's among these bytes.
std::vector<Mark> marks_of(const Bytes &notes);

// How many bytes of notes an audit reads of one file, all together; programs have a few hundred.
class NoteAllowance {
  public:
    // Throws Unreadable if that is too much.
    void take(std::uint64_t size);

  private:
    std::uint64_t left_ = 1 << 20;
};

} // namespace cushim_info
