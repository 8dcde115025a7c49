#include "device.hpp"
#include "device_attributes.hpp"
#include "refusal.hpp"
#include "settings.hpp"

#include <vector>

namespace sim {
namespace {

std::vector<Device> &devices() {
    static auto *all = new std::vector<Device>; // used after static destructors
    return *all;
}

} // namespace

Device &device(CUdevice ordinal) {
    require(ordinal >= 0 && ordinal < device_count(), CUDA_ERROR_INVALID_DEVICE);
    return devices()[static_cast<std::size_t>(ordinal)];
}

int device_count() noexcept {
    return static_cast<int>(devices().size());
}

void restart_devices() {
    devices().assign(static_cast<std::size_t>(settings().devices), Device());
    for (std::size_t i = 0; i < devices().size(); ++i) {
        devices()[i].ordinal = static_cast<int>(i);
    }
}

bool can_access_peer(CUdevice from, CUdevice to) {
    device(from);
    device(to);
    return from != to && settings().peers;
}

int device_attribute(CUdevice ordinal, CUdevice_attribute attribute) {
    device(ordinal);
    const auto set = settings().attributes.find(attribute);
    if (set != settings().attributes.end()) {
        require(set->second.has_value());
        return *set->second;
    }
    switch (static_cast<int>(attribute)) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return settings().cc_major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        return settings().cc_minor;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        return ordinal;
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
        return pci_device;
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
        return 0;
    default:
        break;
    }
    const auto value = recorded_attribute(attribute, driver_version());
    require(value.has_value());
    return *value;
}

} // namespace sim
