// An ordinary CUDA program that does not know the simulator: the mean of each number and its
// neighbours.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void blur(float *to, const float *from, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) {
        to[i] = (from[i - 1] + from[i] + from[i + 1]) / 3;
    }
}

int main() {
    constexpr int n = 5;
    const float numbers[n] = {0, 3, 6, 9, 0};
    float *from = nullptr, *to = nullptr, blurred[n] = {};
    cudaMalloc(&from, sizeof numbers);
    cudaMalloc(&to, sizeof numbers);
    cudaMemcpy(from, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    cudaMemset(to, 0, sizeof numbers);
    blur<<<1, 32>>>(to, from, n);
    cudaMemcpy(blurred, to, sizeof blurred, cudaMemcpyDeviceToHost);
    cudaFree(to);
    cudaFree(from);
    std::printf("%g %g %g, %s\n", blurred[1], blurred[2], blurred[3],
                cudaGetErrorName(cudaGetLastError()));
    return cudaPeekAtLastError() == cudaSuccess ? 0 : 1;
}
