// A block: its shared memory, warps and barriers.
#pragma once

#include "ptx/run/memory_access.hpp"
#include "ptx/run/warp.hpp"

#include <array>
#include <vector>

namespace sim::ptx::inline SIM_PTX_FEATURES {

// What all blocks of a launch have in common.
struct Grid {
    const Launch &launch;
    Memory &memory;
    const Program &kernel;
    std::size_t static_shared;   // bytes
    std::uint32_t local_bytes;   // of a thread
    std::size_t sites;           // accesses to memory in all programs
    std::uint64_t branches_left; // of Launch::most_branches
    std::uint64_t time = 0;      // of clocks

    // Clocks advance with each look at them.
    std::uint64_t tick() noexcept { return time += 32; }
};

class Block {
  public:
    explicit Block(Grid &grid);

    void start(std::array<unsigned int, 3> place);
    // Runs until it ends (true), or others should run.
    bool run();

    Grid &grid() noexcept { return grid_; }
    const std::array<unsigned int, 3> &place() const noexcept { return place_; }
    std::byte *shared() noexcept { return shared_.data(); }
    std::size_t shared_size() const noexcept { return shared_.size(); }
    MemoryAccess &memory() noexcept { return memory_; }
    std::array<unsigned int, 3> thread(unsigned int warp, int lane) const noexcept;
    unsigned int warps() const noexcept { return static_cast<unsigned int>(warps_.size()); }

    // Lanes of a warp arrive at a barrier of so many threads; 0: all that have not ended.
    void arrive(Warp &warp, unsigned int barrier, unsigned int threads, Mask lanes, bool wait,
                const Votes &part);
    void ended(unsigned int threads);

  private:
    struct Barrier {
        unsigned int arrived = 0, expected = 0; // threads
        std::uint32_t warps = 0;                // that have arrived
        Votes votes;
    };

    void complete(unsigned int barrier);
    void count(std::uint64_t branches);

    Grid &grid_;
    MemoryAccess memory_;
    std::vector<std::byte> shared_;
    std::vector<Warp> warps_;
    std::vector<Warp::Stop> stops_;
    std::array<Barrier, 16> barriers_;
    std::array<unsigned int, 3> place_{};
    unsigned int threads_ = 0, alive_ = 0;
};

} // namespace sim::ptx::inline SIM_PTX_FEATURES
