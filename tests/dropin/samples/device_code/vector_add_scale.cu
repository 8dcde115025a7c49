// The second translation unit of vector_add.
#include "../check_runtime.h"
#include "vector_add.h"

namespace {

__constant__ float factor;
__device__ unsigned long long elements;

__global__ void multiply(float *values, int n) {
    // Each thread takes several elements.
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n;
         i += static_cast<int>(gridDim.x * blockDim.x)) {
        values[i] *= factor;
        atomicAdd(&elements, 1ULL);
    }
}

} // namespace

void scale(float *device, int count, float by) {
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemcpyToSymbolAsync(factor, &by, sizeof by, 0, cudaMemcpyHostToDevice, stream));
    multiply<<<dim3(8), dim3(128), 0, stream>>>(device, count);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
}

unsigned long long scaled_elements() {
    unsigned long long result = 0;
    CHECK(cudaMemcpyFromSymbol(&result, elements, sizeof result));
    return result;
}
