// The functions of libcudart that neighbour.cpp uses, to link it without a toolkit. Never run: at
// run time the process finds CUDA's or the simulator's library by the same name.
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
