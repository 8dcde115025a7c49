/* Existing CUDA code that does not know cushim. */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <stdio.h>

int main(void) {
    int count = 77;
    const CUresult started = cuInit(0);
    const cudaError_t counted = cudaGetDeviceCount(&count);
    printf("cuInit %d, cudaGetDeviceCount %d, %d devices\n", (int)started, (int)counted, count);
    return 0;
}
