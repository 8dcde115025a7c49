// The names that neighbour.cpp takes from libcudart: what it is linked to where no toolkit is at
// hand. Nobody runs this; the library that a process finds by the same name is CUDA's, or the
// simulator's.
#include <cuda_runtime_api.h>

#define EXPORTED extern "C" __attribute__((visibility("default"))) cudaError_t

EXPORTED cudaMalloc(void **, size_t) {
    return cudaErrorNotSupported;
}
EXPORTED cudaMemcpy(void *, const void *, size_t, cudaMemcpyKind) {
    return cudaErrorNotSupported;
}
EXPORTED cudaFree(void *) {
    return cudaErrorNotSupported;
}
