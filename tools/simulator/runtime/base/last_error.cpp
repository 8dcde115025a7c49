#include "runtime/base/last_error.hpp"
#include "runtime/base/call.hpp"

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
    last().status = cudaSuccess;
}

} // namespace sim::runtime
