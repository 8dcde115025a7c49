// Removes single names from a shared library, as if it had never had them.
#pragma once

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace support {

// A copy of a 64-bit ELF library in a file, which is removed with this object. Throws
// std::runtime_error if the library cannot be read or the copy cannot be written.
class PatchedLibrary {
  public:
    PatchedLibrary(const std::string &original, const std::string &copy)
        : path_(copy), size_(std::filesystem::file_size(original)) {
        std::filesystem::copy_file(original, copy,
                                   std::filesystem::copy_options::overwrite_existing);
        const int file = open(copy.c_str(), O_RDWR);
        void *const mapped = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        image_ = static_cast<char *>(mapped);
        if (mapped == MAP_FAILED || std::memcmp(image_, ELFMAG, SELFMAG) != 0 ||
            image_[EI_CLASS] != ELFCLASS64) {
            throw std::runtime_error(original + " is not a 64-bit ELF file");
        }
    }
    ~PatchedLibrary() {
        munmap(image_, size_);
        std::filesystem::remove(path_);
    }
    PatchedLibrary(const PatchedLibrary &) = delete;
    PatchedLibrary &operator=(const PatchedLibrary &) = delete;

    const std::string &path() const { return path_; }

    // The copy then lacks this name and no other. It must not be loaded at the same time.
    void take_out(const std::string &name) {
        if (taken_ != nullptr) {
            *taken_ = original_;
        }
        taken_ = &find_symbol(name);
        original_ = *taken_;
        // For the dynamic linker, a symbol without section and value is undefined.
        taken_->st_shndx = SHN_UNDEF;
        taken_->st_value = 0;
    }

  private:
    template <class T>
    T *at(std::size_t offset) const {
        return reinterpret_cast<T *>(image_ + offset);
    }

    // The dynamic symbol that defines a name.
    Elf64_Sym &find_symbol(const std::string &name) const {
        const auto &header = *at<Elf64_Ehdr>(0);
        const auto *sections = at<Elf64_Shdr>(header.e_shoff);
        for (std::size_t i = 0; i != header.e_shnum; ++i) {
            const std::size_t names = sections[sections[i].sh_link].sh_offset;
            const std::size_t count = sections[i].sh_size / sizeof(Elf64_Sym);
            auto *symbols = at<Elf64_Sym>(sections[i].sh_offset);
            for (std::size_t k = 0; sections[i].sh_type == SHT_DYNSYM && k != count; ++k) {
                if (at<char>(names + symbols[k].st_name) == name) {
                    return symbols[k];
                }
            }
        }
        throw std::runtime_error("the library does not define " + name);
    }

    const std::string path_;
    const std::size_t size_;
    char *image_ = nullptr;
    Elf64_Sym *taken_ = nullptr; // the removed symbol
    Elf64_Sym original_{};
};

} // namespace support
