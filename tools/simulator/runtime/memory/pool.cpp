// Stream-ordered memory and its pools.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

namespace sim::runtime {

EXPORT cudaError_t cudaMallocAsync(OUT void **devPtr, size_t size, cudaStream_t hStream) {
    require(devPtr != nullptr);
    need_context();
    if (size == 0) {
        *devPtr = nullptr;
        return cudaSuccess;
    }
    return CU(cuMemAllocAsync)(address_out(devPtr), size, stream_of(hStream));
}

// --- the pools of a device or a location

namespace {

// Recorded: for an invalid device, calls for the current pool return another status than those for
// the default pool.
int with_pool(int device) {
    require(device >= 0 && device < device_count());
    return device;
}

} // namespace

EXPORT cudaError_t cudaDeviceGetDefaultMemPool(OUT cudaMemPool_t *memPool, int device) {
    return CU_ANY(cuDeviceGetDefaultMemPool)(memPool, checked_device(device));
}

EXPORT cudaError_t cudaDeviceGetMemPool(OUT cudaMemPool_t *memPool, int device) {
    return CU_ANY(cuDeviceGetMemPool)(memPool, with_pool(device));
}

EXPORT cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool) {
    return CU_ANY(cuDeviceSetMemPool)(with_pool(device), memPool);
}

} // namespace sim::runtime
