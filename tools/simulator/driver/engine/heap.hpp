// Where the bytes of devices come from: slices of a few memory files, with guard bytes around each.
#pragma once

#include "engine/memory.hpp"

#include <cstddef>
#include <map>
#include <memory>

namespace sim {

// One memory file, and what of it is free.
struct Segment {
    platform::File file;
    std::byte *view = nullptr;
    std::size_t size = 0;
    std::map<std::size_t, std::size_t> free; // offset: bytes

    Segment() = default;
    ~Segment();
    Segment(const Segment &) = delete;
    Segment &operator=(const Segment &) = delete;
    // An aligned piece of it; false where none is big enough.
    bool take(std::size_t bytes, std::size_t alignment, std::size_t &offset);
    void give_back(std::size_t offset, std::size_t bytes);
};

class Heap {
  public:
    // Gives a backing its bytes; false where they are too many for a slice, or the system refuses.
    static bool slice(Backing &backing, std::size_t size);
    static bool slice(Backing &backing, std::size_t size, const std::shared_ptr<Segment> &segment);
    // Bytes in any way: a slice of the heap, or a memory file of its own. Refuses with
    // OUT_OF_MEMORY.
    static void place(Backing &backing, bool own_file, std::size_t trailer);
    // Takes them back; they are zeros from then on.
    static void give_back(Backing &backing) noexcept;
    // Forgets all segments; those that are in use live on until their last slice ends.
    static void clear();
};

} // namespace sim
