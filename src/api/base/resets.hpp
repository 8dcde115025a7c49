// Primary contexts that this process has reset: Context::reset_primary(). Their handles stay the
// same, and all objects created in them before the reset are destroyed.
#pragma once

#include <cuda.h>

#include <atomic>

namespace cushim::detail {

// Checked first, since few programs ever reset a context.
inline constinit std::atomic<bool> any_reset = false;

unsigned int count_resets(CUcontext context) noexcept;

// The number of resets of this context.
inline unsigned int resets_of(CUcontext context) noexcept {
    return any_reset.load(std::memory_order_acquire) ? count_resets(context) : 0;
}

// The primary context of the device, which had this handle, was reset.
void note_reset(CUdevice device, CUcontext context) noexcept;

} // namespace cushim::detail
