// Contents of fatbins that nvcc has compressed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace sim {

enum class Compression : unsigned char { none, lz4, zstd, unknown };

// Decompressed content.
struct Decompressed {
    std::unique_ptr<std::byte[]> bytes; // null on failure; then `problem` is set
    std::size_t size = 0;
    std::string problem;
    bool damaged = false; // false: this machine lacks the library to read them
};

// size: bytes before compression; the content must have exactly this size. LZ4 is read here, zstd
// by the system's libzstd, which is loaded on first use.
Decompressed decompress(Compression compression, const std::byte *from, std::size_t from_size,
                        std::size_t size);

} // namespace sim
