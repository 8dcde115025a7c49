#include <cushim/device.hpp>

#include <cstdio>
#include <cstring>

#include <cushim/context.hpp>
#include <cushim/init.hpp>

#include "base/call.hpp"
#include "base/ranges.hpp"
#include "base/with_memory.hpp"
#include "on_device.hpp"

namespace cushim {

using namespace detail;

static_assert(sizeof(DeviceUuid) == sizeof(CUuuid));

namespace {

Error no_such_uuid(const DeviceUuid &uuid, int devices) noexcept {
    char text[160] = "no device has the UUID GPU-";
    std::size_t length = std::strlen(text);
    for (std::size_t index = 0; index < sizeof uuid.bytes; ++index) {
        const bool is_group = index == 4 || index == 6 || index == 8 || index == 10;
        length += static_cast<std::size_t>(std::snprintf(
            text + length, sizeof text - length, is_group ? "-%02x" : "%02x", uuid.bytes[index]));
    }
    std::snprintf(text + length, sizeof text - length, "; the number of devices is %d", devices);
    return Error::make({.kind = ErrorKind::no_device, .detail = text});
}

Error no_such_bus_id(const Error &error, const char *id) noexcept {
    if (error.status() != CUDA_ERROR_INVALID_VALUE && error.status() != CUDA_ERROR_INVALID_DEVICE) {
        return error;
    }
    if (id == nullptr) {
        return explained(error, "the PCI bus ID is null");
    }
    return explained(
        error, "no device has the PCI bus ID \"%.40s\"; expected a form such as 0000:3b:00.0", id);
}

Error no_attribute(const Error &error, CUdevice_attribute attribute, int ordinal) noexcept {
    if (error.status() == CUDA_ERROR_INVALID_VALUE) {
        return explained(error, "the driver has no device attribute %d",
                         static_cast<int>(attribute));
    }
    return refused_device(error, ordinal);
}

// The one of two devices that does not exist.
Error refused_pair(const Error &error, int ordinal, int peer) noexcept {
    int count = 0;
    const bool is_peer = status_of<entry::cuDeviceGetCount>(&count) == CUDA_SUCCESS &&
                         ordinal >= 0 && ordinal < count;
    return refused_device(error, is_peer ? peer : ordinal);
}

Error no_peer_attribute(const Error &error, CUdevice_P2PAttribute attribute, int ordinal,
                        int peer) noexcept {
    if (error.status() == CUDA_ERROR_INVALID_VALUE) {
        return explained(error,
                         "the driver has no P2P attribute %d for device %d and its peer, device %d",
                         static_cast<int>(attribute), ordinal, peer);
    }
    return refused_pair(error, ordinal, peer);
}

} // namespace

Result<int> Device::count() noexcept {
    return named("Device::count", [&]() -> Result<int> {
        CUSHIM_TRY_VOID(init());
        int count = 0;
        CUSHIM_TRY_VOID(call<entry::cuDeviceGetCount>(&count));
        return count;
    });
}

Result<Device> Device::get(int ordinal) noexcept {
    return named("Device::get", [&]() -> Result<Device> {
        CUSHIM_TRY_VOID(init());
        CUdevice device = 0;
        CUSHIM_TRY_VOID(on_device(Device(ordinal), call<entry::cuDeviceGet>(&device, ordinal)));
        return Device(device);
    });
}

Result<std::vector<Device>> Device::all() noexcept {
    return named("Device::all", [&]() -> Result<std::vector<Device>> {
        CUSHIM_TRY(const int devices, count());
        return with_memory([&]() -> Result<std::vector<Device>> {
            std::vector<Device> all;
            all.reserve(static_cast<std::size_t>(devices));
            for (int ordinal = 0; ordinal < devices; ++ordinal) {
                CUSHIM_TRY(const Device device, get(ordinal));
                all.push_back(device);
            }
            return all;
        });
    });
}

Result<Device> Device::by_uuid(const DeviceUuid &uuid) noexcept {
    return named("Device::by_uuid", [&]() -> Result<Device> {
        CUSHIM_TRY(const int devices, count());
        for (int ordinal = 0; ordinal < devices; ++ordinal) {
            CUSHIM_TRY(const Device device, get(ordinal));
            CUSHIM_TRY(const DeviceUuid its_own, device.uuid());
            if (its_own == uuid) {
                return device;
            }
        }
        return no_such_uuid(uuid, devices);
    });
}

Result<Device> Device::by_pci_bus_id(const char *id) noexcept {
    return named("Device::by_pci_bus_id", [&]() -> Result<Device> {
        CUSHIM_TRY_VOID(init());
        CUdevice device = 0;
        const Result<void> found = call<entry::cuDeviceGetByPCIBusId>(&device, id);
        if (!found) {
            return no_such_bus_id(found.error(), id);
        }
        return Device(device);
    });
}

Result<DeviceName> Device::name() const noexcept {
    return named("Device::name", [&]() -> Result<DeviceName> {
        DeviceName name;
        CUSHIM_TRY_VOID(on_device(
            *this, call<entry::cuDeviceGetName>(
                       name.characters, static_cast<int>(sizeof name.characters), native_)));
        return name;
    });
}

Result<DeviceUuid> Device::uuid() const noexcept {
    return named("Device::uuid", [&]() -> Result<DeviceUuid> {
        CUuuid uuid{};
        // The second version, which distinguishes MIG instances.
        CUSHIM_TRY_VOID(on_device(*this, call<entry::cuDeviceGetUuid_v2>(&uuid, native_)));
        DeviceUuid copy;
        std::memcpy(copy.bytes, &uuid, sizeof copy.bytes);
        return copy;
    });
}

Result<PciBusId> Device::pci_bus_id() const noexcept {
    return named("Device::pci_bus_id", [&]() -> Result<PciBusId> {
        PciBusId id;
        CUSHIM_TRY_VOID(
            on_device(*this, call<entry::cuDeviceGetPCIBusId>(
                                 id.characters, static_cast<int>(sizeof id.characters), native_)));
        return id;
    });
}

Result<int> Device::attribute(CUdevice_attribute attribute) const noexcept {
    return named("Device::attribute", [&]() -> Result<int> {
        int value = 0;
        const Result<void> asked = call<entry::cuDeviceGetAttribute>(&value, attribute, native_);
        if (!asked) {
            return no_attribute(asked.error(), attribute, native_);
        }
        return value;
    });
}

Result<ComputeCapability> Device::compute_capability() const noexcept {
    return named("Device::compute_capability", [&]() -> Result<ComputeCapability> {
        CUSHIM_TRY(const int major, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
        CUSHIM_TRY(const int minor, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
        return ComputeCapability{major, minor};
    });
}

Result<std::size_t> Device::total_memory() const noexcept {
    return named("Device::total_memory", [&]() -> Result<std::size_t> {
        std::size_t bytes = 0;
        CUSHIM_TRY_VOID(on_device(*this, call<entry::cuDeviceTotalMem>(&bytes, native_)));
        return bytes;
    });
}

Result<MemoryInfo> Device::memory_info() const noexcept {
    return named("Device::memory_info", [&]() -> Result<MemoryInfo> {
        CUSHIM_TRY(const Context primary, Context::primary(*this));
        return primary.memory_info();
    });
}

Result<bool> Device::can_access(Device peer) const noexcept {
    return named("Device::can_access", [&]() -> Result<bool> {
        int can = 0;
        const Result<void> asked = call<entry::cuDeviceCanAccessPeer>(&can, native_, peer.native_);
        if (!asked) {
            return refused_pair(asked.error(), native_, peer.native_);
        }
        return can != 0;
    });
}

Result<int> Device::peer_attribute(CUdevice_P2PAttribute attribute, Device peer) const noexcept {
    return named("Device::peer_attribute", [&]() -> Result<int> {
        int value = 0;
        const Result<void> asked =
            call<entry::cuDeviceGetP2PAttribute>(&value, attribute, native_, peer.native_);
        if (!asked) {
            return no_peer_attribute(asked.error(), attribute, native_, peer.native_);
        }
        return value;
    });
}

} // namespace cushim
