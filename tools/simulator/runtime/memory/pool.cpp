// Stream-ordered memory and its pools.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

namespace sim::runtime {

cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream) {
    require(devPtr != nullptr);
    need_context();
    if (size == 0) {
        *devPtr = nullptr;
        return cudaSuccess;
    }
    return CU(cuMemAllocAsync)(address_out(devPtr), size, stream_of(hStream));
}

cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t hStream) {
    return CU(cuMemFreeAsync)(address(devPtr), stream_of(hStream));
}

cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool,
                                    cudaStream_t stream) {
    return CU(cuMemAllocFromPoolAsync)(address_out(ptr), size, memPool, stream_of(stream));
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *memPool, const cudaMemPoolProps *poolProps) {
    return CU(cuMemPoolCreate)(memPool, same_memory<const CUmemPoolProps>(poolProps));
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool) {
    return CU(cuMemPoolDestroy)(memPool);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep) {
    return CU(cuMemPoolTrimTo)(memPool, minBytesToKeep);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void *value) {
    return CU(cuMemPoolSetAttribute)(memPool, same<CUmemPool_attribute>(attr), value);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void *value) {
    return CU(cuMemPoolGetAttribute)(memPool, same<CUmemPool_attribute>(attr), value);
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t memPool, const cudaMemAccessDesc *descList,
                                 size_t count) {
    return CU(cuMemPoolSetAccess)(memPool, same_memory<const CUmemAccessDesc>(descList), count);
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags *flags, cudaMemPool_t memPool,
                                 cudaMemLocation *location) {
    return CU(cuMemPoolGetAccess)(same_memory<CUmemAccess_flags>(flags), memPool,
                                  same_memory<CUmemLocation>(location));
}

cudaError_t cudaMemPoolExportToShareableHandle(void *shareableHandle, cudaMemPool_t memPool,
                                               cudaMemAllocationHandleType handleType,
                                               unsigned int flags) {
    return CU(cuMemPoolExportToShareableHandle)(shareableHandle, memPool,
                                                same<CUmemAllocationHandleType>(handleType), flags);
}

cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t *memPool, void *shareableHandle,
                                                 cudaMemAllocationHandleType handleType,
                                                 unsigned int flags) {
    return CU(cuMemPoolImportFromShareableHandle)(
        memPool, shareableHandle, same<CUmemAllocationHandleType>(handleType), flags);
}

cudaError_t cudaMemPoolExportPointer(cudaMemPoolPtrExportData *exportData, void *ptr) {
    return CU(cuMemPoolExportPointer)(same_memory<CUmemPoolPtrExportData>(exportData),
                                      address(ptr));
}

cudaError_t cudaMemPoolImportPointer(void **ptr, cudaMemPool_t memPool,
                                     cudaMemPoolPtrExportData *exportData) {
    return CU(cuMemPoolImportPointer)(address_out(ptr), memPool,
                                      same_memory<CUmemPoolPtrExportData>(exportData));
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

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device) {
    return CU_ANY(cuDeviceGetDefaultMemPool)(memPool, checked_device(device));
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device) {
    return CU_ANY(cuDeviceGetMemPool)(memPool, with_pool(device));
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool) {
    return CU_ANY(cuDeviceSetMemPool)(with_pool(device), memPool);
}

#if CUDART_VERSION >= 13000
cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *memPool, cudaMemLocation *location,
                                     cudaMemAllocationType type) {
    return CU_ANY(cuMemGetDefaultMemPool)(memPool, same_memory<CUmemLocation>(location),
                                          same<CUmemAllocationType>(type));
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t *memPool, cudaMemLocation *location,
                              cudaMemAllocationType type) {
    return CU_ANY(cuMemGetMemPool)(memPool, same_memory<CUmemLocation>(location),
                                   same<CUmemAllocationType>(type));
}

cudaError_t cudaMemSetMemPool(cudaMemLocation *location, cudaMemAllocationType type,
                              cudaMemPool_t memPool) {
    return CU_ANY(cuMemSetMemPool)(same_memory<CUmemLocation>(location),
                                   same<CUmemAllocationType>(type), memPool);
}
#endif

} // namespace sim::runtime
