// The same with device code, which nvcc compiles.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>

__global__ void fill(int *values) {
    values[threadIdx.x] = 1;
}

int main() {
    int count = 77;
    const CUresult started = cuInit(0);
    const cudaError_t counted = cudaGetDeviceCount(&count);
    std::printf("cuInit %d, cudaGetDeviceCount %d, %d devices\n", started, counted, count);
    if (counted == cudaSuccess && count > 0) {
        int *values = nullptr;
        cudaMalloc(&values, 32 * sizeof *values);
        fill<<<1, 32>>>(values);
        std::printf("kernel: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    }
}
