// Device memory: allocation, release, memory info.
#include "runtime/base/driver_api.hpp"

namespace sim::runtime {
namespace {

// The widest element access that the pitch supports.
constexpr unsigned int pitch_element = 4;

} // namespace

// An allocation of 0 bytes succeeds with a null pointer.
cudaError_t cudaMalloc(void **devPtr, size_t size) {
    require(devPtr != nullptr, "devPtr cannot be NULL");
    need_context();
    if (size == 0) {
        *devPtr = nullptr;
        return cudaSuccess;
    }
    return CU(cuMemAlloc_v2)(address_out(devPtr), size);
}

cudaError_t cudaFree(void *devPtr) {
    need_context();
    return devPtr ? CU(cuMemFree_v2)(address(devPtr)) : cudaSuccess;
}

cudaError_t cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height) {
    require(devPtr != nullptr && pitch != nullptr);
    need_context();
    if (width == 0 || height == 0) {
        *devPtr = nullptr;
        *pitch = 0;
        return cudaSuccess;
    }
    return CU(cuMemAllocPitch_v2)(address_out(devPtr), pitch, width, height, pitch_element);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr *pitchedDevPtr, cudaExtent extent) {
    require(pitchedDevPtr != nullptr);
    need_context();
    cudaPitchedPtr made{nullptr, 0, extent.width, extent.height};
    if (extent.width != 0 && extent.height != 0 && extent.depth != 0) {
        size_t rows = 0;
        require(!__builtin_mul_overflow(extent.height, extent.depth, &rows),
                cudaErrorMemoryAllocation);
        demand(CU(cuMemAllocPitch_v2)(address_out(&made.ptr), &made.pitch, extent.width, rows,
                                      pitch_element));
    }
    *pitchedDevPtr = made;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
    return CU(cuMemGetInfo_v2)(free, total);
}

} // namespace sim::runtime
