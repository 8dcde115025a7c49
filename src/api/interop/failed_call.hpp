// Failures of calls whose status says too little.
#pragma once

#include "base/call.hpp"
#include "base/ranges.hpp"
#include "context/wrong_context.hpp"

#include <cstdio>

namespace cushim::detail {

inline Error failure(const FailedCall &call) noexcept {
    return failure(call.status, call.entry_point, call.introduced);
}

// "device 0", for a failure in the current context.
inline Text current_device_text() noexcept {
    CUdevice device = -1;
    const bool is_known = driver().cuCtxGetDevice(&device) == CUDA_SUCCESS;
    Text text;
    std::snprintf(text.characters, sizeof text.characters, is_known ? "device %d" : "the device",
                  device);
    return text;
}

} // namespace cushim::detail
