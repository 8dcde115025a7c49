// Copies as the runtime describes them, and as the driver does.
#pragma once

#include "runtime/base/failure.hpp"

namespace sim::runtime {

// What the two ends of a copy are by its kind: addresses of which the driver finds out for the
// default kind. Refuses with InvalidMemcpyDirection (21) what is no kind.
struct Ends {
    CUmemorytype source, destination;
};
Ends ends_of(cudaMemcpyKind kind);

// One end: linear memory or an array, and where in it the copy begins.
struct End {
    CUmemorytype type = CU_MEMORYTYPE_UNIFIED;
    void *pointer = nullptr;
    CUarray array = nullptr;
    std::size_t pitch = 0, height = 0; // bytes, rows: of linear memory
    std::size_t x = 0, y = 0, z = 0;   // bytes, rows, slices
};
End linear(CUmemorytype type, const void *pointer, std::size_t pitch, std::size_t height = 0);
End in_array(cudaArray_const_t array, std::size_t x, std::size_t y, std::size_t z = 0);

// Bytes, rows, slices.
CUDA_MEMCPY3D copy_between(const End &destination, const End &source, std::size_t width,
                           std::size_t height, std::size_t depth = 1);

// A row of the copy does not fit into a pitch: InvalidPitchValue (12).
void check_pitch(std::size_t pitch, std::size_t width);

// The runtime's structures: extents and positions are in elements where an array takes part.
CUDA_MEMCPY3D copy_of(const cudaMemcpy3DParms *parameters);
CUDA_MEMCPY3D_PEER copy_of(const cudaMemcpy3DPeerParms *parameters);
cudaMemcpy3DParms parameters_of(const CUDA_MEMCPY3D &copy);

} // namespace sim::runtime
