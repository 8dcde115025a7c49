// Simulated devices: ordinals, properties, the accounting of their memory.
#pragma once

#include "cuda_headers.hpp"

#include <cstddef>
#include <string>

struct CUctx_st;
struct CUmemPoolHandle_st;

namespace sim {

struct Device {
    int ordinal = 0;
    std::size_t used = 0;           // bytes of physical memory
    CUctx_st *primary = nullptr;    // made at its first retain, never destroyed: reset only
    unsigned int primary_count = 0; // retains
    unsigned int primary_flags = 0;
    CUmemPoolHandle_st *default_pool = nullptr;
    CUmemPoolHandle_st *pool = nullptr; // the current one
};

// Refuses with INVALID_DEVICE where there is none.
Device &device(CUdevice ordinal);
int device_count() noexcept;
// After a fresh start.
void restart_devices();

// Where the devices sit: bus N of domain 0 is device N's, at this place.
constexpr int pci_device = 6;

bool can_access_peer(CUdevice from, CUdevice to);
// The value of a device attribute; refuses with INVALID_VALUE what this driver does not know.
int device_attribute(CUdevice ordinal, CUdevice_attribute attribute);

} // namespace sim
