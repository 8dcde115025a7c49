#include <cushim/device.hpp>

#include <cstring>

#include <cushim/context.hpp>
#include <cushim/init.hpp>

#include "base/call.hpp"

namespace cushim {

static_assert(sizeof(DeviceUuid) == sizeof(CUuuid));

Result<int> Device::count() noexcept {
    CUSHIM_TRY_VOID(init());
    int count = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuDeviceGetCount, &count));
    return count;
}

Result<Device> Device::get(int ordinal) noexcept {
    CUSHIM_TRY_VOID(init());
    CUdevice device = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuDeviceGet, &device, ordinal));
    return Device(device);
}

Result<Device> Device::by_uuid(const DeviceUuid &uuid) noexcept {
    CUSHIM_TRY(const int devices, count());
    for (int ordinal = 0; ordinal < devices; ++ordinal) {
        CUSHIM_TRY(const Device device, get(ordinal));
        CUSHIM_TRY(const DeviceUuid its_own, device.uuid());
        if (its_own == uuid) {
            return device;
        }
    }
    return Error::make({.kind = ErrorKind::no_device, .detail = "no device has this UUID"});
}

Result<Device> Device::by_pci_bus_id(const char *id) noexcept {
    CUSHIM_TRY_VOID(init());
    CUdevice device = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuDeviceGetByPCIBusId, &device, id));
    return Device(device);
}

Result<DeviceName> Device::name() const noexcept {
    DeviceName name;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuDeviceGetName, name.characters,
                                  static_cast<int>(sizeof name.characters), native_));
    return name;
}

Result<DeviceUuid> Device::uuid() const noexcept {
    CUuuid uuid{};
    // The second version, which distinguishes MIG instances.
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuDeviceGetUuid_v2, &uuid, native_));
    DeviceUuid copy;
    std::memcpy(copy.bytes, &uuid, sizeof copy.bytes);
    return copy;
}

Result<PciBusId> Device::pci_bus_id() const noexcept {
    PciBusId id;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuDeviceGetPCIBusId, id.characters,
                                  static_cast<int>(sizeof id.characters), native_));
    return id;
}

Result<int> Device::attribute(CUdevice_attribute attribute) const noexcept {
    int value = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuDeviceGetAttribute, &value, attribute, native_));
    return value;
}

Result<ComputeCapability> Device::compute_capability() const noexcept {
    CUSHIM_TRY(const int major, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
    CUSHIM_TRY(const int minor, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    return ComputeCapability{major, minor};
}

Result<std::size_t> Device::total_memory() const noexcept {
    std::size_t bytes = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuDeviceTotalMem, &bytes, native_));
    return bytes;
}

Result<MemoryInfo> Device::memory_info() const noexcept {
    CUSHIM_TRY(const Context primary, Context::primary(*this));
    return primary.memory_info();
}

Result<bool> Device::can_access(Device peer) const noexcept {
    int can = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuDeviceCanAccessPeer, &can, native_, peer.native_));
    return can != 0;
}

Result<int> Device::peer_attribute(CUdevice_P2PAttribute attribute, Device peer) const noexcept {
    int value = 0;
    CUSHIM_TRY_VOID(
        CUSHIM_DRIVER(cuDeviceGetP2PAttribute, &value, attribute, native_, peer.native_));
    return value;
}

} // namespace cushim
