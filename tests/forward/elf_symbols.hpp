// Takes single names out of a shared library, so that it looks as if it had never had them.
#pragma once

#include <cstddef>
#include <string>

namespace support {

// A copy of a 64-bit ELF library, as a file that lives as long as this object. Throws
// std::runtime_error where the library cannot be read or the copy not be written.
class PatchedLibrary {
  public:
    PatchedLibrary(const std::string &original, const std::string &copy);
    ~PatchedLibrary();
    PatchedLibrary(const PatchedLibrary &) = delete;
    PatchedLibrary &operator=(const PatchedLibrary &) = delete;

    const std::string &path() const { return file_name; }

    // From now on the copy does not define this name. Not while anybody has the copy loaded.
    void take_out(const std::string &name);
    // The copy is as the original again.
    void put_back();

  private:
    std::string file_name;
    std::string image;
    std::size_t taken = 0; // offset of the symbol that is out; 0: none

    void write(std::size_t offset, const void *bytes, std::size_t size) const;
};

} // namespace support
