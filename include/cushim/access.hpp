/* Access rights of devices and the host to mapped and pooled memory. */
#ifndef CUSHIM_ACCESS_HPP
#define CUSHIM_ACCESS_HPP

#include <cushim/detail/driver_headers.h>
#include <cushim/device.hpp>
#include <cushim/text.hpp>

namespace cushim {

// The access of a device or the host to memory. The values are CU_MEM_ACCESS_FLAGS_PROT_...
enum class AccessFlags : unsigned char {
    none = 0,      // no access
    read = 1,      // read-only
    read_write = 3 // reading and writing
};
CUSHIM_API Text to_text(AccessFlags flags) noexcept;

// Access to memory for one device or one NUMA node of the host. A plain value.
class AccessGrant {
  public:
    // Access for a device. {device, AccessFlags::read_write} converts to it.
    AccessGrant(Device device, AccessFlags flags) noexcept
        : AccessGrant(CU_MEM_LOCATION_TYPE_DEVICE, device.native(), flags) {}
    // Access for the processors of this NUMA node. Requires CUDA 12.2.
    static AccessGrant host_numa(int node, AccessFlags flags) noexcept {
        return {static_cast<CUmemLocationType>(3), node, flags};
    }

    // The structure that cuMemSetAccess and cuMemPoolSetAccess take.
    const CUmemAccessDesc &native() const noexcept { return native_; }
    // Whether both name the same device or node.
    bool same_accessor(const AccessGrant &other) const noexcept {
        return native_.location.type == other.native_.location.type &&
               native_.location.id == other.native_.location.id;
    }

  private:
    AccessGrant(CUmemLocationType type, int id, AccessFlags flags) noexcept {
        native_.location.type = type;
        native_.location.id = id;
        native_.flags = static_cast<CUmemAccess_flags>(flags);
    }

    CUmemAccessDesc native_{};
};

} // namespace cushim

#endif
