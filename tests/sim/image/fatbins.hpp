// Fatbins that tests put together.
#pragma once

#include <utility>

namespace sim_test {

inline std::string little(std::uint64_t value, std::size_t size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) {
        bytes += static_cast<char>(value >> (8 * i));
    }
    return bytes;
}

// The compression of an entry, as fatbinary writes it: flags, compressed and uncompressed size.
struct Compression {
    unsigned int flags = 0x11;
    std::size_t size = 0, whole_size = 0;
};
constexpr unsigned int lz4_flags = 0x2011, zstd_flags = 0x8011;

// One entry of a fatbin: 1 is PTX, 2 a cubin.
inline std::string fatbin_entry(unsigned int kind, unsigned int architecture, std::string content,
                                const Compression &compression = {}) {
    content.resize((content.size() + 7) / 8 * 8);
    std::string entry = little(kind, 2) + little(0x0101, 2) + little(64, 4) +
                        little(content.size(), 8) + little(compression.size, 4) + little(0, 8) +
                        little(architecture, 4) + little(0, 8) + little(compression.flags, 8) +
                        little(0, 8) + little(compression.whole_size, 8);
    return entry + content;
}
inline std::string fatbin(const std::string &entries) {
    return little(0xba55ed50, 4) + little(1, 2) + little(16, 2) + little(entries.size(), 8) +
           entries;
}

} // namespace sim_test
