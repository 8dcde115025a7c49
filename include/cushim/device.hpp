/* CUDA devices: which there are, what they are called, what they can do. */
#ifndef CUSHIM_DEVICE_HPP
#define CUSHIM_DEVICE_HPP

#include <compare>
#include <cstddef>

#include <cushim/driver_table.hpp>
#include <cushim/result.hpp>
#include <cushim/text.hpp>

namespace cushim {

struct ComputeCapability {
    int major_version = 0;
    int minor_version = 0;

    friend bool operator==(const ComputeCapability &, const ComputeCapability &) = default;
    friend auto operator<=>(const ComputeCapability &, const ComputeCapability &) = default;
};

// In bytes.
struct MemoryInfo {
    std::size_t free = 0;
    std::size_t total = 0;
};

// A text that CUDA gives, held in itself.
template <std::size_t Size>
struct DeviceText {
    char characters[Size] = {};

    const char *c_str() const noexcept { return characters; }
};
using DeviceName = DeviceText<256>;
using PciBusId = DeviceText<16>; // "0000:3b:00.0"

// The 16 bytes that name a device on every machine and in every process, and in other APIs.
struct DeviceUuid {
    unsigned char bytes[16] = {};

    friend bool operator==(const DeviceUuid &, const DeviceUuid &) = default;
};

/* One CUDA device. A plain value: copy it, share it, throw it away.
 *
 * The factories initialise the driver (init.hpp). Nothing here needs or changes a current context,
 * except that memory_info() says what it does.
 *
 * Errors: library_not_found, stub_library, no_device, and what the calls answer.
 * Threads: any. Since CUDA 2.0 where nothing else is said. */
class Device {
  public:
    // How many there are; 0 is not an error, CUDA's own "no device" is one. cuDeviceGetCount.
    CUSHIM_API static Result<int> count() noexcept;

    // By number, from 0 up to count(). cuDeviceGet.
    CUSHIM_API static Result<Device> get(int ordinal) noexcept;

    // The device of this UUID: how it is found again that another API or process named. Kind
    // no_device where there is none. cuDeviceGetCount, cuDeviceGet, cuDeviceGetUuid_v2.
    CUSHIM_API static Result<Device> by_uuid(const DeviceUuid &uuid) noexcept;

    // "0000:3b:00.0" or "3b:00.0". cuDeviceGetByPCIBusId, since CUDA 4.1.
    CUSHIM_API static Result<Device> by_pci_bus_id(const char *id) noexcept;

    // Of a CUdevice that the caller has from CUDA.
    static constexpr Device from_native(CUdevice native) noexcept { return Device(native); }
    constexpr CUdevice native() const noexcept { return native_; }

    // cuDeviceGetName.
    CUSHIM_API Result<DeviceName> name() const noexcept;
    // Of the MIG instance where it is one. cuDeviceGetUuid_v2, since CUDA 11.4.
    CUSHIM_API Result<DeviceUuid> uuid() const noexcept;
    // cuDeviceGetPCIBusId, since CUDA 4.1.
    CUSHIM_API Result<PciBusId> pci_bus_id() const noexcept;
    // cuDeviceGetAttribute. A driver that is older than the attribute answers status 1.
    CUSHIM_API Result<int> attribute(CUdevice_attribute attribute) const noexcept;
    CUSHIM_API Result<ComputeCapability> compute_capability() const noexcept;

    // In bytes. cuDeviceTotalMem_v2.
    CUSHIM_API Result<std::size_t> total_memory() const noexcept;
    // Of this device, whatever is current: retains its primary context for the time of the call,
    // which is quick where the process uses the device already. cuDevicePrimaryCtxRetain,
    // cuMemGetInfo_v2, cuDevicePrimaryCtxRelease_v2, since CUDA 7.0.
    CUSHIM_API Result<MemoryInfo> memory_info() const noexcept;

    // Whether kernels on this device can access memory of the other. cuDeviceCanAccessPeer.
    CUSHIM_API Result<bool> can_access(Device peer) const noexcept;
    // cuDeviceGetP2PAttribute, since CUDA 8.0.
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
