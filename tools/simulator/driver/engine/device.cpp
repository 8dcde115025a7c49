#include "engine/device.hpp"
#include "base/device_attributes.hpp"
#include "base/immortal.hpp"
#include "base/platform.hpp"
#include "base/refusal.hpp"
#include "call/settings.hpp"

#include <numeric>
#include <optional>
#include <vector>

namespace sim {
namespace {

std::vector<Device> &devices() {
    static Immortal<std::vector<Device>> all;
    return *all;
}

// No value if CUDA_VISIBLE_DEVICES is not valid.
std::optional<std::vector<int>> places() {
    const Machine &machine = settings().machine;
    if (platform::has_environment("CUDA_VISIBLE_DEVICES")) {
        return visible_places(machine, platform::environment("CUDA_VISIBLE_DEVICES"));
    }
    std::vector<int> all(static_cast<std::size_t>(machine.devices));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

} // namespace

Device &device(CUdevice ordinal) {
    require(ordinal >= 0 && ordinal < device_count(), CUDA_ERROR_INVALID_DEVICE);
    return devices()[static_cast<std::size_t>(ordinal)];
}

Device &device(CUdevice ordinal, const char *parameter) {
    if (ordinal < 0 || ordinal >= device_count()) {
        refuse(CUDA_ERROR_INVALID_DEVICE, "Parameter %s must be between 0 and %d", parameter,
               device_count());
    }
    return devices()[static_cast<std::size_t>(ordinal)];
}

int device_count() noexcept {
    return static_cast<int>(devices().size());
}

CUresult restart_devices() {
    devices().clear();
    const std::optional<std::vector<int>> visible = places();
    if (!visible) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    for (const int place : *visible) {
        Device next;
        next.ordinal = device_count();
        next.place = place;
        devices().push_back(next);
    }
    return devices().empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

const std::string &device_name(CUdevice ordinal) {
    return settings().machine.name(device(ordinal).place);
}

std::size_t device_memory(CUdevice ordinal) {
    return settings().machine.memory(device(ordinal).place);
}

std::size_t device_limit(CUdevice ordinal) {
    return settings().machine.limit(device(ordinal).place);
}

Capability device_capability(CUdevice ordinal) {
    return settings().machine.capability(device(ordinal).place);
}

bool can_access_peer(CUdevice from, CUdevice to) {
    return settings().machine.can_access(device(from).place, device(to).place);
}

int device_attribute(CUdevice ordinal, CUdevice_attribute attribute) {
    const int place = device(ordinal).place;
    if (const std::optional<int> *set = settings().machine.attribute(place, attribute)) {
        require(set->has_value());
        return **set;
    }
    switch (static_cast<int>(attribute)) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return device_capability(ordinal).major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        return device_capability(ordinal).minor;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        return place;
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

bool device_has(CUdevice ordinal, int attribute) noexcept try {
    return device_attribute(ordinal, static_cast<CUdevice_attribute>(attribute)) != 0;
} catch (const Refusal &) {
    return false;
}

bool is_visible(const CUmemLocation &where) noexcept {
    return where.id >= 0 && where.id < device_count();
}

CUdevice visible_device(const CUmemLocation &where) {
    require(is_visible(where));
    return where.id;
}

} // namespace sim
