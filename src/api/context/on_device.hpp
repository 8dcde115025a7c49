// Driver calls on a device: an invalid one is reported with the number of devices.
#pragma once

#include <cushim/device.hpp>

#include "base/call.hpp"
#include "base/ranges.hpp"

namespace cushim::detail {

// Whether a call that failed names a device that does not exist.
inline bool is_missing_device(const Error &error, int ordinal) noexcept {
    int count = 0;
    return (error.status() == CUDA_ERROR_INVALID_VALUE ||
            error.status() == CUDA_ERROR_INVALID_DEVICE) &&
           driver().cuDeviceGetCount(&count) == CUDA_SUCCESS && (ordinal < 0 || ordinal >= count);
}

inline Error no_such_device(const Error &error, int ordinal) noexcept {
    int count = 0;
    if (driver().cuDeviceGetCount(&count) != CUDA_SUCCESS) {
        return error;
    }
    return explained(error, "device %d does not exist; the number of devices is %d", ordinal,
                     count);
}

inline Error refused_device(const Error &error, int ordinal) noexcept {
    return error.status() == CUDA_ERROR_INVALID_DEVICE ? no_such_device(error, ordinal) : error;
}

inline Result<void> checked_on(int ordinal, Result<void> &&called, const char *in) noexcept {
    if (called) [[likely]] {
        return {};
    }
    return named(refused_device(called.error(), ordinal), in);
}

} // namespace cushim::detail

// CUSHIM_DRIVER for a call on this device.
#define CUSHIM_DEVICE(device, function, ...)                                                       \
    ::cushim::detail::checked_on((device).native(), CUSHIM_DRIVER(function, __VA_ARGS__),          \
                                 CUSHIM_HERE)
