// Simulated devices: ordinals, properties, memory accounting.
#pragma once

#include "base/cuda_headers.hpp"
#include "base/device_profile.hpp"

#include <cstddef>
#include <string>

struct CUctx_st;

namespace sim {

// Types of a CUmemLocation; old headers lack some.
namespace location {
constexpr int none = 0, device = 1, host = 2, host_numa = 3, host_numa_current = 4;
}

struct Device {
    int ordinal = 0;
    int place = 0;                    // in the machine: see device_profile.hpp
    std::size_t used = 0;             // bytes of physical memory
    CUctx_st *primary = nullptr;      // created at the first retain; reset but never destroyed
    unsigned int primary_count = 0;   // retains
    unsigned int primary_flags = 0;   // those that were set, until the primary context ends
    std::size_t created_contexts = 0; // live contexts of cuCtxCreate
    bool failed = false;              // a failed context was destroyed; no other can be created
};

// Fails with INVALID_DEVICE if it does not exist.
Device &device(CUdevice ordinal);
Device &device(CUdevice ordinal, const char *parameter); // the error log names the parameter
int device_count() noexcept;
// After a reset: creates the devices that CUDA_VISIBLE_DEVICES makes visible. Returns the status of
// cuInit.
CUresult restart_devices();

// PCI locations: the device at place N of the machine is on bus N of domain 0.
constexpr int pci_device = 6;

// Values from the settings. Fail with INVALID_DEVICE if the device does not exist.
const std::string &device_name(CUdevice ordinal);
std::size_t device_memory(CUdevice ordinal); // bytes
std::size_t device_limit(CUdevice ordinal);  // bytes that can be allocated
Capability device_capability(CUdevice ordinal);

bool can_access_peer(CUdevice from, CUdevice to);
// The value of a device attribute. Fails with INVALID_VALUE if this driver does not know it.
int device_attribute(CUdevice ordinal, CUdevice_attribute attribute);
// Whether a device attribute is not zero; false if the driver does not know the attribute.
bool device_has(CUdevice ordinal, int attribute) noexcept;
bool is_visible(const CUmemLocation &where) noexcept; // its id
// The device of a location; for grants of access. Fails with INVALID_VALUE for other locations.
CUdevice visible_device(const CUmemLocation &where);

} // namespace sim
