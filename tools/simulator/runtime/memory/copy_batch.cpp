// Batched copies.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

namespace sim::runtime {

#if CUDART_VERSION >= 12080
namespace {

CUdeviceptr *addresses(const void *const *pointers) noexcept {
    return reinterpret_cast<CUdeviceptr *>(const_cast<const void **>(pointers));
}

// Recorded: batches require a created stream, even if null means the per-thread stream.
CUstream created(cudaStream_t stream) {
    require(stream != nullptr);
    return stream_of(stream);
}

} // namespace
#endif

#if CUDART_VERSION >= 13000
EXPORT cudaError_t cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs,
                                        const size_t *sizes, size_t count,
                                        cudaMemcpyAttributes *attrs, size_t *attrsIdxs,
                                        size_t numAttrs, cudaStream_t stream) {
    return CU(cuMemcpyBatchAsync_v2)(addresses(dsts), addresses(srcs), const_cast<size_t *>(sizes),
                                     count, same_memory<CUmemcpyAttributes>(attrs), attrsIdxs,
                                     numAttrs, created(stream));
}

EXPORT cudaError_t cudaMemcpy3DBatchAsync(size_t numOps, cudaMemcpy3DBatchOp *opList,
                                          unsigned long long flags, cudaStream_t stream) {
    return CU(cuMemcpy3DBatchAsync_v2)(numOps, same_memory<CUDA_MEMCPY3D_BATCH_OP>(opList), flags,
                                       created(stream));
}
#elif CUDART_VERSION >= 12080
EXPORT cudaError_t cudaMemcpyBatchAsync(void **dsts, void **srcs, size_t *sizes, size_t count,
                                        cudaMemcpyAttributes *attrs, size_t *attrsIdxs,
                                        size_t numAttrs, size_t *failIdx, cudaStream_t stream) {
    return CU(cuMemcpyBatchAsync)(addresses(dsts), addresses(srcs), sizes, count,
                                  same_memory<CUmemcpyAttributes>(attrs), attrsIdxs, numAttrs,
                                  failIdx, created(stream));
}

EXPORT cudaError_t cudaMemcpy3DBatchAsync(size_t numOps, cudaMemcpy3DBatchOp *opList,
                                          size_t *failIdx, unsigned long long flags,
                                          cudaStream_t stream) {
    return CU(cuMemcpy3DBatchAsync)(numOps, same_memory<CUDA_MEMCPY3D_BATCH_OP>(opList), failIdx,
                                    flags, created(stream));
}
#endif

} // namespace sim::runtime
