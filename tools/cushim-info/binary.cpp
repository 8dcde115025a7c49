#include "binary.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "elf_file.hpp"
#include "pe_file.hpp"

namespace cushim_info {
namespace {

struct Machine {
    Format format;
    unsigned int number;
    const char *name;
};

constexpr Machine machines[] = {
    {Format::elf, 3, "i386"},        {Format::elf, 8, "MIPS"},
    {Format::elf, 20, "PowerPC"},    {Format::elf, 21, "PowerPC64"},
    {Format::elf, 22, "S/390"},      {Format::elf, 40, "Arm"},
    {Format::elf, 62, "x86-64"},     {Format::elf, 183, "AArch64"},
    {Format::elf, 243, "RISC-V"},    {Format::elf, 258, "LoongArch"},
    {Format::pe, 0x14C, "i386"},     {Format::pe, 0x1C4, "Arm"},
    {Format::pe, 0x8664, "x86-64"},  {Format::pe, 0xA641, "Arm64EC"},
    {Format::pe, 0xAA64, "AArch64"},
};

constexpr const char *is_archive = "a static library: audit the programs that it is linked into";
constexpr const char *is_object = "an object file: audit the programs that it is linked into";

// Files that are easily mistaken for programs or libraries, by their first bytes.
struct Other {
    std::string_view start;
    const char *what;
};
using namespace std::string_view_literals;
constexpr Other others[] = {
    {"!<arch>\n", is_archive},
    {"!<thin>\n", is_archive},
    {"\x64\x86"sv, is_object}, // Windows, by its machine number
    {"\x64\xAA"sv, is_object},
    {"\x4C\x01"sv, is_object},
    {"\0\0\xFF\xFF"sv, is_object}, // Windows, with a longer header
    {"BC\xC0\xDE"sv, is_object},   // LLVM bitcode for link-time optimization
    {"#!", "a script: audit the programs that it starts"},
    {"/* GNU ld script", "a script for the linker: audit the libraries that it names"},
};

const char *what_else(std::string_view start) {
    const auto known =
        std::find_if(std::begin(others), std::end(others),
                     [start](const Other &other) { return start.starts_with(other.start); });
    return start.empty()               ? "the file is empty"
           : known != std::end(others) ? known->what
                                       : "neither an ELF nor a PE file";
}

// Notes are padded to four bytes.
std::uint64_t padded(std::uint64_t size) {
    return (size + 3) / 4 * 4;
}

} // namespace

std::string machine_text(const Architecture &architecture) {
    const auto known =
        std::find_if(std::begin(machines), std::end(machines), [&](const Machine &machine) {
            return machine.format == architecture.format && machine.number == architecture.machine;
        });
    return known != std::end(machines) ? known->name
                                       : "machine " + std::to_string(architecture.machine);
}

std::string architecture_text(const Architecture &architecture) {
    std::string text = architecture.format == Format::elf ? "ELF, " : "PE, ";
    text += std::to_string(architecture.bits) + " bit, ";
    if (architecture.format == Format::elf) {
        text += architecture.order == ByteOrder::little ? "little endian, " : "big endian, ";
    }
    return text + machine_text(architecture);
}

Binary read_binary(Source &source) {
    const std::string start = source.read_some(0, 16);
    if (is_elf(start)) {
        return read_elf(source);
    }
    if (is_pe(start)) {
        return read_pe(source);
    }
    throw Unreadable(what_else(start));
}

void NoteAllowance::take(std::uint64_t size) {
    if (size > left_) {
        throw Unreadable("the file is damaged: it has more notes than any program does");
    }
    left_ -= size;
}

std::vector<Mark> marks_of(const Bytes &notes) {
    constexpr std::uint64_t header = 12;
    constexpr std::string_view owner("cushim\0", 7);
    std::vector<Mark> marks;
    std::uint64_t at = 0;
    while (notes.size() - at >= header) {
        const std::uint64_t name_size = notes.u32(at);
        const std::uint64_t text_size = notes.u32(at + 4);
        const std::uint64_t text_at = at + header + padded(name_size);
        const std::uint64_t end = text_at + padded(text_size);
        if (end > notes.size()) {
            break; // other notes may have any format
        }
        if (name_size == owner.size() && notes.starts_with(at + header, owner)) {
            const std::string text = notes.part(text_at, text_size);
            marks.push_back({notes.u32(at + 8), text.substr(0, text.find('\0'))});
        }
        at = end;
    }
    return marks;
}

} // namespace cushim_info
