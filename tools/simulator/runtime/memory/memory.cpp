// Allocation and release of device, host and managed memory.
#include "runtime/base/driver_api.hpp"

namespace sim::runtime {
namespace {

// The widest element access that the pitch supports.
constexpr unsigned int pitch_element = 4;

} // namespace

// An allocation of 0 bytes succeeds with a null pointer.
EXPORT cudaError_t cudaMalloc(OUT void **devPtr, size_t size) {
    require(devPtr != nullptr, "devPtr cannot be NULL");
    need_context();
    if (size == 0) {
        *devPtr = nullptr;
        return cudaSuccess;
    }
    return CU(cuMemAlloc_v2)(address_out(devPtr), size);
}

EXPORT cudaError_t cudaFree(void *devPtr) {
    need_context();
    return CU(cuMemFree_v2)(address(devPtr));
}

EXPORT cudaError_t cudaMallocPitch(OUT void **devPtr, OUT size_t *pitch, size_t width,
                                   size_t height) {
    require(devPtr != nullptr && pitch != nullptr);
    need_context();
    if (width == 0 || height == 0) {
        *devPtr = nullptr;
        *pitch = 0;
        return cudaSuccess;
    }
    return CU(cuMemAllocPitch_v2)(address_out(devPtr), pitch, width, height, pitch_element);
}

EXPORT cudaError_t cudaMalloc3D(OUT cudaPitchedPtr *pitchedDevPtr, cudaExtent extent) {
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

// Recorded: 0 bytes are permitted during a capture.
EXPORT cudaError_t cudaMallocHost(OUT void **ptr, size_t size) {
    need_context();
    require(ptr != nullptr);
    if (size == 0) {
        *ptr = nullptr;
        return cudaSuccess;
    }
    return CU(cuMemAllocHost_v2)(ptr, size);
}

EXPORT cudaError_t cudaHostAlloc(OUT void **pHost, size_t size, unsigned int flags) {
    if (size == 0) {
        flags = 0; // recorded: for 0 bytes, the flags are not checked
    }
    return CU(cuMemHostAlloc)(pHost, size, flags);
}

EXPORT cudaError_t cudaFreeHost(void *ptr) {
    need_context();
    return CU(cuMemFreeHost)(ptr);
}

// As for cudaMalloc, 0 bytes are not an error.
EXPORT cudaError_t cudaMallocManaged(OUT void **devPtr, size_t size, unsigned int flags) {
    require(devPtr != nullptr);
    need_context();
    if (size == 0) {
        *devPtr = nullptr;
        return cudaSuccess;
    }
    return CU(cuMemAllocManaged)(address_out(devPtr), size, flags);
}

} // namespace sim::runtime
