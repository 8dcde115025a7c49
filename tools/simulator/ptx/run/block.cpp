#include "ptx/run/block.hpp"

#include <algorithm>

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

// Each warp once, until other blocks should run.
constexpr int rounds = 100;

std::size_t threads_of(const Launch &launch) {
    return std::size_t(launch.block[0]) * launch.block[1] * launch.block[2];
}

} // namespace

Block::Block(Grid &grid)
    : grid_(grid), memory_(grid.memory, grid.sites),
      shared_(grid.static_shared + grid.launch.dynamic_shared),
      threads_(static_cast<unsigned int>(threads_of(grid.launch))) {
    const unsigned int warps = (threads_ + warp_size - 1) / warp_size;
    warps_.reserve(warps);
    for (unsigned int i = 0; i < warps; ++i) {
        const unsigned int lanes = std::min<unsigned int>(threads_ - i * warp_size, warp_size);
        warps_.emplace_back(grid.kernel, *this, i, all_lanes >> (warp_size - lanes),
                            grid.local_bytes);
    }
    stops_.resize(warps);
}

void Block::start(std::array<unsigned int, 3> place) {
    place_ = place;
    alive_ = threads_;
    barriers_ = {};
    memory_.refresh();
    for (Warp &warp : warps_) {
        warp.restart();
    }
    std::fill(stops_.begin(), stops_.end(), Warp::Stop::slice);
}

bool Block::run() {
    memory_.refresh(); // other blocks may have freed memory
    for (int round = 0; round < rounds; ++round) {
        bool sliced = false, ran = false;
        for (std::size_t i = 0; i < warps_.size(); ++i) {
            if (stops_[i] == Warp::Stop::slice) {
                stops_[i] = warps_[i].run();
                ran = true;
                sliced = sliced || stops_[i] == Warp::Stop::slice;
                count(warps_[i].take_branches());
            }
        }
        if (alive_ == 0) {
            return true;
        }
        if (sliced) {
            return false;
        }
        if (!ran) {
            throw KernelFault{.kind = KernelFault::Kind::no_progress,
                              .block = place_,
                              .text = "its threads wait for others that never arrive"};
        }
    }
    return false;
}

void Block::count(std::uint64_t branches) {
    if (branches > grid_.branches_left) {
        throw KernelFault{.kind = KernelFault::Kind::no_progress,
                          .block = place_,
                          .text = "it branches without end"};
    }
    grid_.branches_left -= branches;
}

std::array<unsigned int, 3> Block::thread(unsigned int warp, int lane) const noexcept {
    const std::array<unsigned int, 3> &size = grid_.launch.block;
    const unsigned int number = warp * warp_size + static_cast<unsigned int>(lane);
    return {number % size[0], number / size[0] % size[1], number / size[0] / size[1]};
}

void Block::arrive(Warp &warp, unsigned int number, unsigned int threads, Mask lanes, bool waits,
                   const Votes &part) {
    Barrier &barrier = barriers_[number];
    barrier.arrived += static_cast<unsigned int>(std::popcount(lanes));
    barrier.expected = threads;
    barrier.warps |= 1U << warp.number();
    barrier.votes.all = barrier.votes.all && part.all;
    barrier.votes.any = barrier.votes.any || part.any;
    barrier.votes.count += part.count;
    if (waits) {
        warp.wait_at_barrier(number);
    }
    complete(number);
}

void Block::complete(unsigned int number) {
    Barrier &barrier = barriers_[number];
    const unsigned int expected = barrier.expected == 0 ? alive_ : barrier.expected;
    unsigned int arrived = barrier.arrived;
    if (barrier.expected !=
        0) { // which counts warps: lanes that do not exist any more are among them
        for (const Warp &warp : warps_) {
            if ((barrier.warps >> warp.number() & 1) != 0) {
                arrived += static_cast<unsigned int>(std::popcount(~warp.alive()));
            }
        }
    }
    if (barrier.arrived == 0 || arrived < expected) {
        return;
    }
    const Barrier completed = barrier;
    barrier = {};
    for (std::size_t i = 0; i < warps_.size(); ++i) {
        if (warps_[i].release(number, completed.votes) && stops_[i] == Warp::Stop::waiting) {
            stops_[i] = Warp::Stop::slice;
        }
    }
}

void Block::ended(unsigned int threads) {
    alive_ -= threads;
    if (alive_ == 0) {
        return;
    }
    for (unsigned int i = 0; i < barriers_.size(); ++i) {
        if (barriers_[i].arrived != 0) {
            complete(i);
        }
    }
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
