#include "elf_symbols.hpp"

#include <cstdio>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace support {
namespace {

template <class T>
T at(const std::string &image, std::size_t offset) {
    T value;
    if (offset + sizeof value > image.size()) {
        throw std::runtime_error("the library ends too early");
    }
    std::memcpy(&value, image.data() + offset, sizeof value);
    return value;
}

Elf64_Shdr section(const std::string &image, std::size_t number) {
    const auto header = at<Elf64_Ehdr>(image, 0);
    return at<Elf64_Shdr>(image, header.e_shoff + number * header.e_shentsize);
}

// Offset of the dynamic symbol that defines a name.
std::size_t find_symbol(const std::string &image, const std::string &name) {
    const auto header = at<Elf64_Ehdr>(image, 0);
    for (std::size_t i = 0; i != header.e_shnum; ++i) {
        const Elf64_Shdr symbols = section(image, i);
        if (symbols.sh_type != SHT_DYNSYM) {
            continue;
        }
        const Elf64_Shdr names = section(image, symbols.sh_link);
        for (std::size_t k = 0; k != symbols.sh_size / sizeof(Elf64_Sym); ++k) {
            const std::size_t offset = symbols.sh_offset + k * sizeof(Elf64_Sym);
            const auto symbol = at<Elf64_Sym>(image, offset);
            if (image.c_str() + names.sh_offset + symbol.st_name == name) {
                return offset;
            }
        }
    }
    throw std::runtime_error("the library does not define " + name);
}

std::string read(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::string image{std::istreambuf_iterator<char>(file), {}};
    if (image.compare(0, SELFMAG, ELFMAG) != 0 || image[EI_CLASS] != ELFCLASS64) {
        throw std::runtime_error(path + " is not a 64-bit ELF file");
    }
    return image;
}

} // namespace

PatchedLibrary::PatchedLibrary(const std::string &original, const std::string &copy)
    : file_name(copy), image(read(original)) {
    std::ofstream file(file_name, std::ios::binary | std::ios::trunc);
    if (!file.write(image.data(), static_cast<std::streamsize>(image.size())).flush()) {
        throw std::runtime_error("cannot write " + file_name);
    }
}

PatchedLibrary::~PatchedLibrary() {
    std::remove(file_name.c_str());
}

void PatchedLibrary::take_out(const std::string &name) {
    put_back();
    taken = find_symbol(image, name);
    auto symbol = at<Elf64_Sym>(image, taken);
    // The dynamic linker passes over a symbol without section and value as one that is only wanted.
    symbol.st_shndx = SHN_UNDEF;
    symbol.st_value = 0;
    write(taken, &symbol, sizeof symbol);
}

void PatchedLibrary::put_back() {
    if (taken != 0) {
        write(taken, image.data() + taken, sizeof(Elf64_Sym));
        taken = 0;
    }
}

void PatchedLibrary::write(std::size_t offset, const void *bytes, std::size_t size) const {
    std::fstream file(file_name, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(offset));
    if (!file.write(static_cast<const char *>(bytes), static_cast<std::streamsize>(size)).flush()) {
        throw std::runtime_error("cannot write " + file_name);
    }
}

} // namespace support
