// Driver calls on a device: an invalid one is reported with the number of devices.
#pragma once

#include <cushim/device.hpp>

#include <cstdio>

#include "base/call.hpp"
#include "base/ranges.hpp"

namespace cushim::detail {

// Whether a call that failed names a device that does not exist.
inline bool is_missing_device(const Error &error, int ordinal) noexcept {
    int count = 0;
    return (error.status() == CUDA_ERROR_INVALID_VALUE ||
            error.status() == CUDA_ERROR_INVALID_DEVICE) &&
           status_of<entry::cuDeviceGetCount>(&count) == CUDA_SUCCESS &&
           (ordinal < 0 || ordinal >= count);
}

inline Error no_such_device(const Error &error, int ordinal) noexcept {
    int count = 0;
    if (status_of<entry::cuDeviceGetCount>(&count) != CUDA_SUCCESS) {
        return error;
    }
    return explained(error, "device %d does not exist; the number of devices is %d", ordinal,
                     count);
}

inline Error refused_device(const Error &error, int ordinal) noexcept {
    return error.status() == CUDA_ERROR_INVALID_DEVICE ? no_such_device(error, ordinal) : error;
}

// The result of a call on this device.
inline Result<void> on_device(Device device, Result<void> &&called) noexcept {
    if (called) [[likely]] {
        return {};
    }
    return refused_device(called.error(), device.native());
}

// "device 0", for a failure in the current context.
inline Text current_device_text() noexcept {
    CUdevice device = -1;
    const bool is_known = status_of<entry::cuCtxGetDevice>(&device) == CUDA_SUCCESS;
    Text text;
    std::snprintf(text.characters, sizeof text.characters, is_known ? "device %d" : "the device",
                  device);
    return text;
}

} // namespace cushim::detail
