/* Existing CUDA code with a leak, which only a report shows. */
#include <cuda_runtime_api.h>

int main(void) {
    void *memory = 0;
    return cudaMalloc(&memory, 1000) == cudaSuccess ? 0 : 1;
}
