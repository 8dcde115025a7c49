// An mbarrier object: 64 bits in shared memory.
//
//   bits 0-19    pending: arrivals that the current phase still waits for
//   bits 20-39   expected: arrivals of the next phase
//   bits 40-60   transactions: bytes that the current phase still waits for, signed
//   bits 61-63   phase: how many have completed, modulo 8
//
// A phase completes when nothing is pending. The state that an arrival returns is the object
// before it.
#pragma once

#include "ptx/arithmetic/bits.hpp"
#include "ptx/steps/addresses.hpp"

#include <cstring>

namespace sim::ptx::inline SIM_PTX_FEATURES {

struct MBarrier {
    std::uint64_t pending : 20, expected : 20;
    std::int64_t transactions : 21;
    std::uint64_t phase : 3;

    static MBarrier of(std::uint64_t bits) noexcept { return bit_cast<MBarrier>(bits); }
    std::uint64_t bits() const noexcept { return bit_cast<std::uint64_t>(*this); }

    void complete_if_due() noexcept {
        if (pending == 0 && transactions == 0) {
            pending = expected;
            phase = phase + 1U;
        }
    }
    void arrive(std::uint32_t count) noexcept {
        pending = pending - count;
        complete_if_due();
    }
    void expect_transactions(std::uint32_t bytes) noexcept {
        transactions = transactions + static_cast<std::int32_t>(bytes);
    }
    void complete_transactions(std::uint32_t bytes) noexcept {
        transactions = transactions - static_cast<std::int32_t>(bytes);
        complete_if_due();
    }
    // Whether the phase has completed that a state is of: the current one or that before.
    bool has_completed(MBarrier state) const noexcept { return phase != state.phase; }
    bool has_completed(std::uint32_t parity) const noexcept { return (phase & 1U) != (parity & 1); }
};
static_assert(sizeof(MBarrier) == 8);

// One of the addresses of an instruction.
struct AddressOperand {
    std::uint32_t base = 0, size = 0;
    std::uint64_t offset = 0;

    std::uint64_t operator()(Warp &warp, int lane) const {
        return offset + (size == 4 ? warp.lanes<std::uint32_t>(base)[lane]
                                   : warp.lanes<std::uint64_t>(base)[lane]);
    }
};

// Where an mbarrier is. generic: the address is a generic one.
inline std::byte *mbarrier_view(Warp &warp, const Step &step, int lane, std::uint64_t address,
                                bool generic) {
    if (generic && !is_in(shared_window, address)) {
        fail(warp, step, lane,
             {.kind = KernelFault::Kind::wrong_space,
              .address = address,
              .size = sizeof(MBarrier),
              .write = true,
              .space = Space::shared});
    }
    return lane_view(warp, step, Space::shared, lane, address - (generic ? shared_window : 0),
                     sizeof(MBarrier), true);
}

// Calls function(barrier) for the object there, and keeps what it changes.
template <class Function>
auto with_mbarrier(Warp &warp, const Step &step, int lane, std::uint64_t address, bool generic,
                   const Function &function) {
    std::byte *const view = mbarrier_view(warp, step, lane, address, generic);
    MBarrier barrier;
    std::memcpy(&barrier, view, sizeof barrier);
    const auto result = function(barrier);
    std::memcpy(view, &barrier, sizeof barrier);
    return result;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
