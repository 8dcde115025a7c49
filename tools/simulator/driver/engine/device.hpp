// Simulated devices: ordinals, properties, the accounting of their memory.
#pragma once

#include "base/cuda_headers.hpp"
#include "base/device_profile.hpp"

#include <cstddef>
#include <string>

struct CUctx_st;
struct CUmemPoolHandle_st;

namespace sim {

struct Device {
    int ordinal = 0;
    int place = 0;                  // in the machine: see device_profile.hpp
    std::size_t used = 0;           // bytes of physical memory
    CUctx_st *primary = nullptr;    // made at its first retain, never destroyed: reset only
    unsigned int primary_count = 0; // retains
    unsigned int primary_flags = 0;
    bool failed = false; // a context ended on it that had failed: it gives the process no other
    CUmemPoolHandle_st *default_pool = nullptr;
    CUmemPoolHandle_st *pool = nullptr; // the current one
};

// Refuses with INVALID_DEVICE where there is none.
Device &device(CUdevice ordinal);
int device_count() noexcept;
// After a fresh start: those that CUDA_VISIBLE_DEVICES leaves.
void restart_devices();

// Where the devices sit: bus N of domain 0 is that of the device at place N of the machine.
constexpr int pci_device = 6;

// As the settings have them. Refuse with INVALID_DEVICE where there is none.
const std::string &device_name(CUdevice ordinal);
std::size_t device_memory(CUdevice ordinal); // bytes
std::size_t device_limit(CUdevice ordinal);  // bytes that may be allocated
Capability device_capability(CUdevice ordinal);

bool can_access_peer(CUdevice from, CUdevice to);
// The value of a device attribute; refuses with INVALID_VALUE what this driver does not know.
int device_attribute(CUdevice ordinal, CUdevice_attribute attribute);
// Whether a device attribute says so; false where the driver does not know the attribute.
bool device_has(CUdevice ordinal, int attribute) noexcept;
// The device that a location names; where access is granted, others answer INVALID_VALUE.
CUdevice visible_device(const CUmemLocation &where);

} // namespace sim
