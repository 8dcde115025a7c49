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

// --- entry points, which ../forwarded.txt lists

CUresult set_now(const MemsetParameters &parameters);
CUresult set_later(CUstream stream, const MemsetParameters &parameters);
std::size_t elements_of_row(std::size_t count, std::size_t size);

template <class Value>
CUresult set_row(CUdeviceptr address, Value value, std::size_t count) {
    return set_now({address, 0, value, sizeof value, elements_of_row(count, sizeof value), 1});
}
template <class Value>
CUresult set_row(CUdeviceptr address, Value value, std::size_t count, CUstream stream) {
    return set_later(stream,
                     {address, 0, value, sizeof value, elements_of_row(count, sizeof value), 1});
}
template <class Value>
CUresult set_rows(CUdeviceptr address, std::size_t pitch, Value value, std::size_t width,
                  std::size_t height) {
    return set_now({address, pitch, value, sizeof value, width, height});
}
template <class Value>
CUresult set_rows(CUdeviceptr address, std::size_t pitch, Value value, std::size_t width,
                  std::size_t height, CUstream stream) {
    return set_later(stream, {address, pitch, value, sizeof value, width, height});
}

} // namespace sim
