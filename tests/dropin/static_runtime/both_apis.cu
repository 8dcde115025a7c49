// A program that uses both APIs: memory of the runtime API, which a kernel fills and the driver API
// reads. It calls the driver API first, or with an argument the runtime API.
#include "../samples/exit_codes.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>

static constexpr int size = 32;

__global__ void count_up(int *values) {
    values[threadIdx.x] = static_cast<int>(threadIdx.x);
}

static void start() {
    std::printf("cuInit: %d\n", static_cast<int>(cuInit(0)));
}

static bool has_device() {
    int count = 77;
    const cudaError_t counted = cudaGetDeviceCount(&count);
    std::printf("cudaGetDeviceCount: %d\n", static_cast<int>(counted));
    return counted == cudaSuccess && count > 0;
}

static bool counts_up() {
    int *values = nullptr;
    if (cudaMalloc(&values, size * sizeof *values) != cudaSuccess) {
        return false;
    }
    count_up<<<1, size>>>(values);
    int read[size] = {};
    CUdeviceptr memory = reinterpret_cast<CUdeviceptr>(values);
    bool right = cuMemcpyDtoH(read, memory, sizeof read) == CUDA_SUCCESS;
    for (int i = 0; i < size; ++i) {
        right = right && read[i] == i;
    }
    return right && cudaFree(values) == cudaSuccess;
}

int main(int argc, char **) {
    const bool runtime_first = argc > 1;
    if (!runtime_first) {
        start();
    }
    const bool found = has_device();
    if (runtime_first) {
        start();
    }
    if (!found) {
        return EXIT_NO_DEVICE;
    }
    const bool right = counts_up();
    std::printf("kernel: %s\n", right ? "right" : "wrong");
    return right ? 0 : EXIT_WRONG_RESULT;
}
