// Copies and memsets, synchronously or in a stream.
#pragma once

#include "runtime/base/driver_api.hpp"

#include <optional>

namespace sim::runtime {

inline bool empty(const CUDA_MEMCPY3D &copy) noexcept {
    return copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0;
}

// The stream of a call; none for a call that waits.
using InStream = std::optional<cudaStream_t>;

inline cudaError_t run_copy(const CUDA_MEMCPY3D &copy, const InStream &stream = {}) {
    need_context();
    return empty(copy) ? cudaSuccess
           : stream    ? CU(cuMemcpy3DAsync_v2)(&copy, stream_of(*stream))
                       : CU_SYNC(cuMemcpy3D_v2)(&copy);
}

// --- entry points, which ../forward/forwarded.txt lists, with and without a stream

cudaError_t copy_bytes(void *to, const void *from, size_t count, cudaMemcpyKind kind,
                       const InStream &stream = {});
cudaError_t copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                    size_t height, cudaMemcpyKind kind, const InStream &stream = {});
cudaError_t copy_3d(const cudaMemcpy3DParms *parameters, const InStream &stream = {});
cudaError_t copy_peer(void *to, int to_device, const void *from, int from_device, size_t count,
                      const InStream &stream = {});
cudaError_t copy_3d_peer(const cudaMemcpy3DPeerParms *parameters, const InStream &stream = {});
cudaError_t copy_to_symbol(const void *symbol, const void *from, size_t count, size_t offset,
                           cudaMemcpyKind kind, const InStream &stream = {});
cudaError_t copy_from_symbol(void *to, const void *symbol, size_t count, size_t offset,
                             cudaMemcpyKind kind, const InStream &stream = {});
cudaError_t copy_2d_to_array(cudaArray_t array, size_t x, size_t y, const void *from, size_t pitch,
                             size_t width, size_t height, cudaMemcpyKind kind,
                             const InStream &stream = {});
cudaError_t copy_2d_from_array(void *to, size_t pitch, cudaArray_const_t array, size_t x, size_t y,
                               size_t width, size_t height, cudaMemcpyKind kind,
                               const InStream &stream = {});
cudaError_t bytes_to_array(cudaArray_t array, size_t x, size_t y, const void *from, size_t count,
                           cudaMemcpyKind kind, const InStream &stream = {});
cudaError_t bytes_from_array(void *to, cudaArray_const_t array, size_t x, size_t y, size_t count,
                             cudaMemcpyKind kind, const InStream &stream = {});
cudaError_t set_bytes(void *memory, int value, size_t count, const InStream &stream = {});
cudaError_t set_2d(void *memory, size_t pitch, int value, size_t width, size_t height,
                   const InStream &stream = {});
cudaError_t set_3d(cudaPitchedPtr memory, int value, cudaExtent extent,
                   const InStream &stream = {});

} // namespace sim::runtime
