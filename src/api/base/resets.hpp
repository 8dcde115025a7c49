// Which primary contexts were reset in this process: Context::reset_primary(). Their handles stay
// the same, and what was made in them before that is gone.
#pragma once

#include <cuda.h>

#include <atomic>

namespace cushim::detail {

// Until then nothing is gone with its context: asked first, as few programs ever do it.
inline constinit std::atomic<bool> any_reset = false;

unsigned int count_resets(CUcontext context) noexcept;

// How often this context was reset.
inline unsigned int resets_of(CUcontext context) noexcept {
    return any_reset.load(std::memory_order_acquire) ? count_resets(context) : 0;
}

// The device's primary context, which had this handle, was reset.
void note_reset(CUdevice device, CUcontext context) noexcept;

} // namespace cushim::detail
