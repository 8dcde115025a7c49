// Requirements of features besides entry points: a driver version, a device attribute.
#pragma once

#include <cushim/device.hpp>
#include <cushim/feature.hpp>
#include <cushim/loader.hpp>
#include <cushim/result.hpp>

#include <cstdio>

namespace cushim::detail {

// For enumerators and members that an older driver rejects without a reason. Fails with
// requires_newer_driver for `what`, or with the reason why the driver is absent.
inline Result<void> require_feature(Feature feature, const char *what) noexcept {
    const Version installed = driver_version();
    if (supports(installed, feature)) {
        return {};
    }
    if (!installed) {
        return Error::absent(CUSHIM_LIBRARY_DRIVER);
    }
    return Error::requires_newer_driver(what, required_version(feature), installed);
}
inline Result<void> require_feature(Feature feature) noexcept {
    return require_feature(feature, name(feature));
}

inline Error not_supported(int device, const char *what) noexcept {
    char text[200];
    std::snprintf(text, sizeof text, "device %d %s", device, what);
    return Error::make({.kind = ErrorKind::not_supported_by_device, .detail = text});
}

// Fails with not_supported_by_device if the device attribute is 0. `otherwise` follows the device:
// "does not support ...; use ...".
inline Result<void> require_attribute(Device device, CUdevice_attribute attribute,
                                      const char *otherwise) noexcept {
    CUSHIM_TRY(const int value, device.attribute(attribute));
    if (value == 0) {
        return not_supported(device.native(), otherwise);
    }
    return {};
}

inline Result<void> require_virtual_memory(Device device) noexcept {
    return require_attribute(device, CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED,
                             "does not support virtual memory management; use "
                             "DeviceBuffer::allocate()");
}

} // namespace cushim::detail
