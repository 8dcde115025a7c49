// Conversion of copies from the runtime's to the driver's parameters.
#pragma once

#include "runtime/base/failure.hpp"

namespace sim::runtime {

// The memory types of both sides for a copy kind; for the default kind, the driver determines them
// from the addresses. Fails with InvalidMemcpyDirection (21) for an invalid kind.
struct Ends {
    CUmemorytype source, destination;
};
Ends ends_of(cudaMemcpyKind kind);

// One side: linear memory or an array, and the position where the copy begins.
struct End {
    CUmemorytype type = CU_MEMORYTYPE_UNIFIED;
    void *pointer = nullptr;
    CUarray array = nullptr;
    std::size_t pitch = 0, height = 0; // bytes, rows; linear memory only
    std::size_t x = 0, y = 0, z = 0;   // bytes, rows, slices
};
End linear(CUmemorytype type, const void *pointer, std::size_t pitch, std::size_t height = 0);
End in_array(cudaArray_const_t array, std::size_t x, std::size_t y, std::size_t z = 0);

// Bytes, rows, slices.
CUDA_MEMCPY3D copy_between(const End &destination, const End &source, std::size_t width,
                           std::size_t height, std::size_t depth = 1);

// Fails with InvalidPitchValue (12) if a row of the copy exceeds a pitch.
void check_pitch(std::size_t pitch, std::size_t width);

// The runtime's structures: with an array, extents and positions are in elements.
CUDA_MEMCPY3D copy_of(const cudaMemcpy3DParms *parameters);
CUDA_MEMCPY3D_PEER copy_of(const cudaMemcpy3DPeerParms *parameters);
cudaMemcpy3DParms parameters_of(const CUDA_MEMCPY3D &copy);

} // namespace sim::runtime
