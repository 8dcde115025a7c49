// Managed memory: allocation, advice, prefetch, range attributes.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

namespace sim::runtime {

// As for cudaMalloc, 0 bytes are not an error.
cudaError_t cudaMallocManaged(void **devPtr, size_t size, unsigned int flags) {
    require(devPtr != nullptr);
    need_context();
    if (size == 0) {
        *devPtr = nullptr;
        return cudaSuccess;
    }
    return CU(cuMemAllocManaged)(address_out(devPtr), size, flags);
}

#if CUDART_VERSION >= 13000
cudaError_t cudaMemPrefetchAsync(const void *devPtr, size_t count, cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream) {
    return CU(cuMemPrefetchAsync_v2)(address(devPtr), count, same_struct<CUmemLocation>(location),
                                     flags, stream_of(stream));
}

cudaError_t cudaMemAdvise(const void *devPtr, size_t count, cudaMemoryAdvise advice,
                          cudaMemLocation location) {
    return CU(cuMemAdvise_v2)(address(devPtr), count, same<CUmem_advise>(advice),
                              same_struct<CUmemLocation>(location));
}
#else
cudaError_t cudaMemPrefetchAsync(const void *devPtr, size_t count, int dstDevice,
                                 cudaStream_t stream) {
    return CU(cuMemPrefetchAsync)(address(devPtr), count, dstDevice, stream_of(stream));
}

cudaError_t cudaMemAdvise(const void *devPtr, size_t count, cudaMemoryAdvise advice, int device) {
    return CU(cuMemAdvise)(address(devPtr), count, same<CUmem_advise>(advice), device);
}
#if CUDART_VERSION >= 12020
cudaError_t cudaMemPrefetchAsync_v2(const void *devPtr, size_t count, cudaMemLocation location,
                                    unsigned int flags, cudaStream_t stream) {
    return CU(cuMemPrefetchAsync_v2)(address(devPtr), count, same_struct<CUmemLocation>(location),
                                     flags, stream_of(stream));
}

cudaError_t cudaMemAdvise_v2(const void *devPtr, size_t count, cudaMemoryAdvise advice,
                             cudaMemLocation location) {
    return CU(cuMemAdvise_v2)(address(devPtr), count, same<CUmem_advise>(advice),
                              same_struct<CUmemLocation>(location));
}
#endif
#endif

cudaError_t cudaMemRangeGetAttribute(void *data, size_t dataSize, cudaMemRangeAttribute attribute,
                                     const void *devPtr, size_t count) {
    return CU(cuMemRangeGetAttribute)(data, dataSize, same<CUmem_range_attribute>(attribute),
                                      address(devPtr), count);
}

cudaError_t cudaMemRangeGetAttributes(void **data, size_t *dataSizes,
                                      cudaMemRangeAttribute *attributes, size_t numAttributes,
                                      const void *devPtr, size_t count) {
    return CU(cuMemRangeGetAttributes)(data, dataSizes,
                                       same_memory<CUmem_range_attribute>(attributes),
                                       numAttributes, address(devPtr), count);
}

#if CUDART_VERSION >= 13000
cudaError_t cudaMemPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                      cudaMemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                      size_t numPrefetchLocs, unsigned long long flags,
                                      cudaStream_t stream) {
    return CU(cuMemPrefetchBatchAsync)(address_out(dptrs), sizes, count,
                                       same_memory<CUmemLocation>(prefetchLocs), prefetchLocIdxs,
                                       numPrefetchLocs, flags, stream_of(stream));
}

cudaError_t cudaMemDiscardBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                     unsigned long long flags, cudaStream_t stream) {
    return CU(cuMemDiscardBatchAsync)(address_out(dptrs), sizes, count, flags, stream_of(stream));
}

cudaError_t cudaMemDiscardAndPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                                cudaMemLocation *prefetchLocs,
                                                size_t *prefetchLocIdxs, size_t numPrefetchLocs,
                                                unsigned long long flags, cudaStream_t stream) {
    return CU(cuMemDiscardAndPrefetchBatchAsync)(
        address_out(dptrs), sizes, count, same_memory<CUmemLocation>(prefetchLocs), prefetchLocIdxs,
        numPrefetchLocs, flags, stream_of(stream));
}
#endif

} // namespace sim::runtime
