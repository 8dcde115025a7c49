// An ordinary CUDA program that does not know the simulator: the weighted mean of each number and
// its neighbours.
#include <cuda_runtime.h>

#include <cstdio>

namespace {

__constant__ float weights[3];

__global__ void blur(float *to, const float *from, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) {
        to[i] = weights[0] * from[i - 1] + weights[1] * from[i] + weights[2] * from[i + 1];
    }
}

} // namespace

int main() {
    constexpr int n = 5;
    const float numbers[n] = {0, 4, 8, 12, 0}, means[3] = {0.25F, 0.5F, 0.25F};
    float *from = nullptr, *to = nullptr, blurred[n] = {};
    cudaMalloc(&from, sizeof numbers);
    cudaMalloc(&to, sizeof numbers);
    cudaMemcpy(from, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(weights, means, sizeof means);
    cudaMemset(to, 0, sizeof numbers);
    blur<<<1, 32>>>(to, from, n);
    cudaMemcpy(blurred, to, sizeof blurred, cudaMemcpyDeviceToHost);
    cudaFree(to);
    cudaFree(from);
    std::printf("%g %g %g, %s\n", blurred[1], blurred[2], blurred[3],
                cudaGetErrorName(cudaGetLastError()));
    return cudaPeekAtLastError() == cudaSuccess ? 0 : 1;
}
