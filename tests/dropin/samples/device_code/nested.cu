// A kernel that launches kernels: device code that uses the device runtime (libcudadevrt).
#include "../check_runtime.h"

namespace {

constexpr int parents = 8;
constexpr int children = 64;
constexpr int count = parents * children;

__global__ void child(int *values, int parent) {
    values[parent * children + threadIdx.x] += parent * 1000 + static_cast<int>(threadIdx.x);
}

__global__ void parent(int *values) {
    const int mine = static_cast<int>(threadIdx.x);
    for (int i = 0; i < children; ++i) {
        values[mine * children + i] = 7;
    }
    child<<<1, children>>>(values, mine);
}

} // namespace

int main() {
    need_device();
    int *values = nullptr;
    CHECK(cudaMalloc(&values, sizeof(int) * count));
    parent<<<1, parents>>>(values);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    int host[count];
    CHECK(cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < count; ++i) {
        wrong += host[i] == 7 + i / children * 1000 + i % children ? 0 : 1;
    }
    printf("first %d, last %d, wrong %d\n", host[0], host[count - 1], wrong);
    CHECK(cudaFree(values));
    return wrong == 0 ? 0 : EXIT_WRONG_RESULT;
}
