// Clang's host code for a kernel and for variables. The names are chosen so that another compiler
// can provide the device code.
#include "../check_runtime.h"

constexpr int threads = 64;

__constant__ int factor;
__device__ int launches;

__global__ void multiply(int *values) {
    const int i = static_cast<int>(threadIdx.x);
    values[i] = factor * i;
    if (i == 0) {
        ++launches;
    }
}

int main() {
    need_device();
    const int by = 3;
    int *values = nullptr;
    CHECK(cudaMalloc(&values, sizeof(int) * threads));
    CHECK(cudaMemcpyToSymbol(factor, &by, sizeof by));
    multiply<<<1, threads>>>(values);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    int host[threads], done = 0, wrong = 0;
    CHECK(cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpyFromSymbol(&done, launches, sizeof done));
    for (int i = 0; i < threads; ++i) {
        wrong += host[i] == by * i ? 0 : 1;
    }
    printf("last %d, launches %d, wrong %d\n", host[threads - 1], done, wrong);
    CHECK(cudaFree(values));
    return wrong == 0 && done == 1 ? 0 : EXIT_WRONG_RESULT;
}
