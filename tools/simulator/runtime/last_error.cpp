#include "last_error.hpp"
#include "call.hpp"

#include <atomic>

namespace sim::runtime {
namespace {

std::atomic<std::uint64_t> resets{0}; // of devices, by any thread

struct Last {
    std::uint64_t epoch = 0;
    std::uint64_t resets = 0; // when the call began that came upon it
    cudaError_t status = cudaSuccess;
};

Last &last() noexcept {
    thread_local Last state;
    if (const std::uint64_t now = Call::current().epoch(); state.epoch != now) {
        state = {now, 0, cudaSuccess};
    }
    if (stays(state.status) && state.resets != device_resets()) {
        state.status = cudaSuccess;
    }
    return state;
}

} // namespace

void note_error(cudaError_t status) noexcept {
    Last &state = last();
    if (!stays(state.status)) {
        state.status = status;
        state.resets = Call::current().device_resets;
    }
}

cudaError_t last_error() noexcept {
    return last().status;
}

void clear_last_error() noexcept {
    if (!stays(last().status)) {
        last().status = cudaSuccess;
    }
}

void forget_last_error() noexcept {
    Call::current().device_resets = resets.fetch_add(1, std::memory_order_acq_rel) + 1;
    last().status = cudaSuccess;
}

std::uint64_t device_resets() noexcept {
    return resets.load(std::memory_order_acquire);
}

bool stays(cudaError_t status) noexcept {
    switch (static_cast<int>(status)) {
    case 214: // ECCUncorrectable
    case 220: // NvlinkUncorrectable
    case 226: // Contained
    case 700: // IllegalAddress
    case 702: // LaunchTimeout
    case 710: // Assert
    case 714: // HardwareStackError
    case 715: // IllegalInstruction
    case 716: // MisalignedAddress
    case 717: // InvalidAddressSpace
    case 718: // InvalidPc
    case 719: // LaunchFailure
    case 721: // TensorMemoryLeak
        return true;
    default:
        return false;
    }
}

} // namespace sim::runtime
