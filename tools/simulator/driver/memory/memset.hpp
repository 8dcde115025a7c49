// Memsets: elements of 1, 2 or 4 bytes, in one row or several.
#pragma once

#include "engine/work.hpp"

#include <cstddef>

namespace sim {

struct MemsetParameters {
    CUdeviceptr address;
    std::size_t pitch;                // bytes; 0 if height is 1
    unsigned int value, element_size; // 1, 2 or 4 bytes
    std::size_t width, height;        // elements, rows
};
// Work::parameters: MemsetParameters.
Work memset_work(const MemsetParameters &parameters, const char *what);

} // namespace sim
