// Allocates the bytes of device memory: slices of a few memory files, with guard bytes around each.
#pragma once

#include "engine/memory.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>

namespace sim {

struct Segment;

// Free bytes of a segment. Sets of pieces are in order of their sizes.
struct FreePiece {
    std::size_t bytes;
    std::uint64_t number; // of the segment
    std::size_t offset;
    Segment *segment;
    auto operator<=>(const FreePiece &) const = default;
};
using FreePieces = std::set<FreePiece>;

// A memory file that is allocated in slices.
struct Segment : std::enable_shared_from_this<Segment> {
    // The segment shares `with` its free pieces, so that one search finds a piece of any.
    explicit Segment(std::shared_ptr<FreePieces> with = std::make_shared<FreePieces>());
    ~Segment();
    Segment(const Segment &) = delete;
    Segment &operator=(const Segment &) = delete;
    void give_back(std::size_t offset, std::size_t bytes);
    FreePieces &pieces() noexcept { return *pieces_; }
    // Takes the smallest piece that is large enough, of the oldest segment. Returns the segment;
    // null if no piece is large enough.
    static std::shared_ptr<Segment> take(FreePieces &from, std::size_t bytes, std::size_t alignment,
                                         std::size_t &offset);

    platform::File file;
    std::byte *view = nullptr;
    std::size_t size = 0;

  private:
    using ByOffset = std::map<std::size_t, FreePieces::iterator>;
    void add(std::size_t offset, std::size_t bytes);
    void remove(ByOffset::iterator piece) noexcept;
    void change(ByOffset::iterator piece, std::size_t offset, std::size_t bytes) noexcept;

    const std::uint64_t number_;
    const std::shared_ptr<FreePieces> pieces_;
    ByOffset free_;
};

class Heap {
  public:
    // Gives a backing a slice; false if the size is too large for a slice or a system call fails.
    static bool slice(Backing &backing, std::size_t size);
    static bool slice(Backing &backing, std::size_t size, FreePieces &from);
    // Allocates a slice of the heap or a separate memory file. Fails with OUT_OF_MEMORY.
    static void place(Backing &backing, bool own_file, std::size_t trailer);
    // Frees the bytes; they then read as zeros.
    static void give_back(Backing &backing) noexcept;
    // Drops all segments; a segment in use lives until its last slice is freed.
    static void clear();
};

} // namespace sim
