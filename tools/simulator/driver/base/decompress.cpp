#include "base/decompress.hpp"
#include "base/platform.hpp"

#include <cstring>

namespace sim {
namespace {

constexpr std::size_t most = std::size_t(1) << 30; // limit on the bytes of one image

#ifdef _WIN32
constexpr const char *zstd_library = "libzstd.dll";
#else
constexpr const char *zstd_library = "libzstd.so.1";
#endif

// The most bytes that one compressed byte can produce: LZ4 encodes 255 bytes of a match in one
// byte, zstd a block of 128 KiB in four. A larger claimed size is rejected before memory is
// allocated.
constexpr std::size_t growth(Compression compression) noexcept {
    return compression == Compression::lz4 ? 255 : std::size_t(1) << 15;
}

// Reads one LZ4 block: alternating literals and matches. Every length and offset is checked.
class Lz4 {
  public:
    Lz4(const std::byte *from, std::size_t from_size, std::byte *to, std::size_t to_size) noexcept
        : from_(from), from_end_(from + from_size), to_(to), begin_(to), to_end_(to + to_size) {}

    // Returns whether the block is complete and fills its destination.
    bool read() noexcept {
        while (from_ != from_end_) {
            const unsigned int token = byte();
            std::size_t literals = token >> 4;
            if (!extend(literals) || !copy_literals(literals)) {
                return false;
            }
            if (from_ == from_end_) {
                return to_ == to_end_; // the last sequence has no match
            }
            std::size_t match = token & 15;
            std::size_t distance = 0;
            if (!read_distance(distance) || !extend(match) || !copy_match(distance, match + 4)) {
                return false;
            }
        }
        return false;
    }

  private:
    unsigned int byte() noexcept { return std::to_integer<unsigned int>(*from_++); }

    // After 15, further bytes extend the length, up to the first that is not 255.
    bool extend(std::size_t &length) noexcept {
        unsigned int more = length == 15 ? 255 : 0;
        while (more == 255) {
            if (from_ == from_end_ || length > most) {
                return false;
            }
            more = byte();
            length += more;
        }
        return true;
    }
    bool copy_literals(std::size_t length) noexcept {
        if (length > static_cast<std::size_t>(from_end_ - from_) ||
            length > static_cast<std::size_t>(to_end_ - to_)) {
            return false;
        }
        std::memcpy(to_, from_, length);
        from_ += length;
        to_ += length;
        return true;
    }
    bool read_distance(std::size_t &distance) noexcept {
        if (from_end_ - from_ < 2) {
            return false;
        }
        distance = byte();
        distance |= static_cast<std::size_t>(byte()) << 8;
        return distance != 0 && distance <= static_cast<std::size_t>(to_ - begin_);
    }
    // Byte by byte, since a match may overlap its destination.
    bool copy_match(std::size_t distance, std::size_t length) noexcept {
        if (length > static_cast<std::size_t>(to_end_ - to_)) {
            return false;
        }
        for (; length > 0; --length, ++to_) {
            *to_ = *(to_ - distance);
        }
        return true;
    }

    const std::byte *from_, *from_end_;
    std::byte *to_, *begin_, *to_end_;
};

// Functions of zstd.h.
struct Zstd {
    std::size_t (*decompress)(void *to, std::size_t to_size, const void *from,
                              std::size_t from_size) = nullptr;
    std::string why; // why the library was not found
};

Zstd find_zstd() {
    Zstd found;
    found.decompress = reinterpret_cast<decltype(found.decompress)>(
        platform::function_of(zstd_library, "ZSTD_decompress", found.why));
    return found;
}

} // namespace

Decompressed decompress(Compression compression, const std::byte *from, std::size_t from_size,
                        std::size_t size) {
    Decompressed result;
    if (compression == Compression::none || compression == Compression::unknown) {
        result.problem = "compressed in an unknown format";
        return result;
    }
    if (size == 0 || size > most || size / growth(compression) > from_size) {
        result.problem = "compressed, but its uncompressed size is invalid";
        result.damaged = true;
        return result;
    }
    const Zstd zstd = compression == Compression::zstd ? find_zstd() : Zstd();
    if (compression == Compression::zstd && zstd.decompress == nullptr) {
        result.problem = "compressed with zstd, and libzstd cannot be loaded: " + zstd.why;
        return result;
    }
    result.bytes = std::make_unique_for_overwrite<std::byte[]>(size);
    result.size = size;
    // zstd reports errors as sizes larger than any content.
    const bool whole = compression == Compression::lz4
                           ? Lz4(from, from_size, result.bytes.get(), size).read()
                           : zstd.decompress(result.bytes.get(), size, from, from_size) == size;
    if (!whole) {
        result.bytes.reset();
        result.problem = "compressed but damaged";
        result.damaged = true;
    }
    return result;
}

} // namespace sim
