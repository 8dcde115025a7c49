#include "last_error.hpp"
#include "call.hpp"

namespace sim::runtime {
namespace {

struct Last {
    std::uint64_t epoch = 0;
    cudaError_t status = cudaSuccess;
};

Last &last() noexcept {
    thread_local Last state;
    if (const std::uint64_t now = Call::current().epoch(); state.epoch != now) {
        state = {now, cudaSuccess};
    }
    return state;
}

} // namespace

void note_error(cudaError_t status) noexcept {
    last().status = status;
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
    last().status = cudaSuccess;
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
