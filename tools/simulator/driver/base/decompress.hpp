// Contents of fatbins that nvcc has compressed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace sim {

enum class Compression : unsigned char { none, lz4, zstd, unknown };

// Bytes that were compressed.
struct Decompressed {
    std::unique_ptr<std::byte[]> bytes; // null where they cannot be read, and why
    std::size_t size = 0;
    std::string problem;
    bool damaged = false; // otherwise this machine lacks what reads them
};

// size: before compression, in bytes; the content must have exactly this size. LZ4 is read here,
// zstd by the system's libzstd, which is looked for when it is needed.
Decompressed decompress(Compression compression, const std::byte *from, std::size_t from_size,
                        std::size_t size);

} // namespace sim
