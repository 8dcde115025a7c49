#include "resets.hpp"

#include <thread>

namespace cushim::detail {
namespace {

// Devices beyond the last entry share it, so a reset of one may also mark objects of another.
struct Reset {
    std::atomic<CUcontext> context;
    std::atomic<unsigned int> count;
};
constexpr unsigned int counted_devices = 64;
Reset resets[counted_devices];

} // namespace

unsigned int count_resets(CUcontext context) noexcept {
    for (const Reset &reset : resets) {
        if (reset.context.load(std::memory_order_acquire) == context) {
            return reset.count.load(std::memory_order_acquire);
        }
    }
    return 0;
}

ResetInProgress::ResetInProgress() noexcept {
    UncertainCalls::resets_.fetch_add(1);
    while (UncertainCalls::callers_.load() != 0) {
        std::this_thread::yield();
    }
}

void note_reset(CUdevice device, CUcontext context) noexcept {
    Reset &reset = resets[static_cast<unsigned int>(device) % counted_devices];
    reset.context.store(context, std::memory_order_release);
    reset.count.fetch_add(1, std::memory_order_release);
    any_reset.store(true, std::memory_order_release);
}

} // namespace cushim::detail
