// Memory that queued work uses.
#pragma once

#include "base/cuda_headers.hpp"

#include <cstddef>

namespace sim {

// From an address on. How far a kernel gets from one of its pointers nobody knows: a byte.
struct Use {
    CUdeviceptr address;
    std::size_t size; // bytes

    bool overlaps(CUdeviceptr begin, std::size_t bytes) const noexcept {
        return address < begin ? begin - address < size : address - begin < bytes;
    }
};

} // namespace sim
