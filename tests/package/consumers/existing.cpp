// The same in C++, of a project that keeps to C++11.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>

static_assert(__cplusplus < 201402L, "the drop-in must not ask for a newer language");

int main() {
    int count = 77;
    const CUresult started = cuInit(0);
    const cudaError_t counted = cudaGetDeviceCount(&count);
    std::printf("cuInit %d, cudaGetDeviceCount %d, %d devices\n", started, counted, count);
}
