// Numbers and texts from untrusted bytes, in the byte order of the file.
#pragma once

#include <cstdint>
#include <string>

namespace cushim_info {

enum class ByteOrder { little, big };

// Access beyond the end throws Unreadable.
class Bytes {
  public:
    Bytes(std::string bytes, ByteOrder order);

    std::uint64_t size() const { return bytes_.size(); }

    // An unsigned number of 1, 2, 4 or 8 bytes.
    std::uint64_t number(std::uint64_t at, unsigned int width) const;
    std::uint16_t u16(std::uint64_t at) const;
    std::uint32_t u32(std::uint64_t at) const;
    std::uint64_t u64(std::uint64_t at) const;

    // The characters before the next NUL; throws if there are more than `most`.
    std::string text(std::uint64_t at, std::size_t most = 4096) const;

    // Exactly that many bytes.
    std::string part(std::uint64_t at, std::uint64_t length) const;

    bool starts_with(std::uint64_t at, std::string_view text) const;

  private:
    void check(std::uint64_t at, std::uint64_t length) const;

    std::string bytes_;
    ByteOrder order_;
};

} // namespace cushim_info
