// Passes a copy to the driver, synchronously or in a stream.
#pragma once

#include "runtime/base/driver_api.hpp"

namespace sim::runtime {

inline bool empty(const CUDA_MEMCPY3D &copy) noexcept {
    return copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0;
}

inline cudaError_t run_copy(const CUDA_MEMCPY3D &copy) {
    need_context();
    return empty(copy) ? cudaSuccess : CU_SYNC(cuMemcpy3D_v2)(&copy);
}

inline cudaError_t run_copy(const CUDA_MEMCPY3D &copy, cudaStream_t stream) {
    need_context();
    return empty(copy) ? cudaSuccess : CU(cuMemcpy3DAsync_v2)(&copy, stream_of(stream));
}

} // namespace sim::runtime
