// Exported memory at an address of this process, too.
#pragma once

#include <cushim/virtual_memory.hpp>

namespace api_test {

inline cushim::Result<cushim::MappedRange> map_own(const cushim::PhysicalMemory &memory) {
    CUSHIM_TRY(const cushim::Device device, cushim::Device::get(0));
    CUSHIM_TRY(const auto range, cushim::AddressRange::reserve(device, memory.size()));
    return cushim::MappedRange::map(range, 0, memory,
                                    cushim::AccessGrant(device, cushim::AccessFlags::read_write));
}

} // namespace api_test
