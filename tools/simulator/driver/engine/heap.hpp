// Allocates the bytes of device memory: slices of a few memory files, with guard bytes around each.
#pragma once

#include "engine/memory.hpp"

#include <cstddef>
#include <map>
#include <memory>

namespace sim {

// A memory file and its free ranges.
struct Segment {
    platform::File file;
    std::byte *view = nullptr;
    std::size_t size = 0;
    std::map<std::size_t, std::size_t> free; // offset: bytes

    Segment() = default;
    ~Segment();
    Segment(const Segment &) = delete;
    Segment &operator=(const Segment &) = delete;
    // Takes an aligned range; false if no free range is large enough.
    bool take(std::size_t bytes, std::size_t alignment, std::size_t &offset);
    void give_back(std::size_t offset, std::size_t bytes);
};

class Heap {
  public:
    // Gives a backing a slice; false if the size is too large for a slice or a system call fails.
    static bool slice(Backing &backing, std::size_t size);
    static bool slice(Backing &backing, std::size_t size, const std::shared_ptr<Segment> &segment);
    // Allocates a slice of the heap or a separate memory file. Fails with OUT_OF_MEMORY.
    static void place(Backing &backing, bool own_file, std::size_t trailer);
    // Frees the bytes; they then read as zeros.
    static void give_back(Backing &backing) noexcept;
    // Drops all segments; a segment in use lives until its last slice is freed.
    static void clear();
};

} // namespace sim
