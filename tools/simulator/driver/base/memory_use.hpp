// Memory that enqueued work uses.
#pragma once

#include "base/cuda_headers.hpp"

#include <cstddef>

namespace sim {

// A range. How far a kernel reads from one of its pointers is unknown, so its range is one byte.
struct Use {
    CUdeviceptr address;
    std::size_t size; // bytes

    bool overlaps(CUdeviceptr begin, std::size_t bytes) const noexcept {
        return address < begin ? begin - address < size : address - begin < bytes;
    }
};

} // namespace sim
