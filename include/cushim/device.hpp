/* CUDA devices: their number, names and properties. */
#ifndef CUSHIM_DEVICE_HPP
#define CUSHIM_DEVICE_HPP

#include <compare>
#include <cstddef>
#include <vector>

#include <cushim/detail/driver_headers.h>
#include <cushim/result.hpp>
#include <cushim/text.hpp>

namespace cushim {

// The compute capability of a device: {9, 0} is 9.0. Compares as a version.
struct ComputeCapability {
    int major_version = 0; // 9 in 9.0
    int minor_version = 0; // 0 in 9.0

    friend bool operator==(const ComputeCapability &, const ComputeCapability &) = default;
    friend auto operator<=>(const ComputeCapability &, const ComputeCapability &) = default;
};

// The memory of a device, in bytes.
struct MemoryInfo {
    std::size_t free = 0;  // not allocated by any process
    std::size_t total = 0; // all memory of the device
};

// Text that CUDA returned, stored in the object.
template <std::size_t Size>
struct DeviceText {
    char characters[Size] = {}; // null-terminated

    // The text; valid as long as this object.
    const char *c_str() const noexcept CUSHIM_LIFETIMEBOUND { return characters; }
};
using DeviceName = DeviceText<256>; // "NVIDIA H100 80GB HBM3"
using PciBusId = DeviceText<16>;    // "0000:3b:00.0"

// The 16 bytes that identify a device across machines, processes and APIs.
struct DeviceUuid {
    unsigned char bytes[16] = {}; // in the order of VkPhysicalDeviceIDProperties::deviceUUID

    friend bool operator==(const DeviceUuid &, const DeviceUuid &) = default;
};

/* A CUDA device. A plain value without ownership; the factories initialise the driver (init.hpp).
 *
 * Threads: any.
 * Context: see handle.hpp.
 * Errors: library_not_found, stub_library, no_device; the status of the CUDA call. */
class Device {
  public:
    // The number of devices. 0 is a success. no_device if a CUDA call fails with
    // CUDA_ERROR_NO_DEVICE (100).
    // cuDeviceGetCount.
    CUSHIM_API static Result<int> count() noexcept;

    // The device with this ordinal, from 0 to count() - 1; CUDA_ERROR_INVALID_DEVICE (101) for
    // others. cuDeviceGet.
    CUSHIM_API static Result<Device> get(int ordinal) noexcept;

    // All devices, in the order of their ordinals. out_of_memory without host memory.
    // cuDeviceGetCount, cuDeviceGet.
    CUSHIM_API static Result<std::vector<Device>> all() noexcept;

    // The device with this UUID, which another API or process reported. no_device if it does not
    // exist. cuDeviceGetCount, cuDeviceGet, cuDeviceGetUuid_v2.
    CUSHIM_API static Result<Device> by_uuid(const DeviceUuid &uuid) noexcept;

    // The device at this PCI address: "0000:3b:00.0" or "3b:00.0". cuDeviceGetByPCIBusId.
    CUSHIM_API static Result<Device> by_pci_bus_id(const char *id) noexcept;

    // A device from a CUdevice that CUDA returned; not checked.
    static constexpr Device from_native(CUdevice native) noexcept { return Device(native); }
    // The CUdevice, for calls through the tables.
    constexpr CUdevice native() const noexcept { return native_; }

    // The product name. cuDeviceGetName.
    CUSHIM_API Result<DeviceName> name() const noexcept;
    // The UUID; that of the MIG instance if the device is one. cuDeviceGetUuid_v2, since CUDA 11.4.
    CUSHIM_API Result<DeviceUuid> uuid() const noexcept;
    // The PCI address, as "0000:3b:00.0". cuDeviceGetPCIBusId.
    CUSHIM_API Result<PciBusId> pci_bus_id() const noexcept;
    // An attribute, CU_DEVICE_ATTRIBUTE_... Fails with CUDA_ERROR_INVALID_VALUE (1) if the driver
    // is older than the attribute. cuDeviceGetAttribute.
    CUSHIM_API Result<int> attribute(CUdevice_attribute attribute) const noexcept;
    // The compute capability. cuDeviceGetAttribute, twice.
    CUSHIM_API Result<ComputeCapability> compute_capability() const noexcept;

    // The memory of the device in bytes. cuDeviceTotalMem_v2.
    CUSHIM_API Result<std::size_t> total_memory() const noexcept;
    // Free and total memory. Retains the device's primary context during the call, which is fast if
    // the process already uses the device. cuDevicePrimaryCtxRetain, cuMemGetInfo_v2,
    // cuDevicePrimaryCtxRelease_v2.
    CUSHIM_API Result<MemoryInfo> memory_info() const noexcept;

    // Whether kernels on this device can access memory of the peer. cuDeviceCanAccessPeer.
    CUSHIM_API Result<bool> can_access(Device peer) const noexcept;
    // A property of the link to the peer, CU_DEVICE_P2P_ATTRIBUTE_... cuDeviceGetP2PAttribute.
    CUSHIM_API Result<int> peer_attribute(CUdevice_P2PAttribute attribute,
                                          Device peer) const noexcept;

    friend constexpr bool operator==(Device a, Device b) noexcept { return a.native_ == b.native_; }

  private:
    constexpr explicit Device(CUdevice native) noexcept : native_(native) {}

    CUdevice native_;
};

CUSHIM_API Text to_text(Device device) noexcept;

} // namespace cushim

#endif
