// Vector addition, runtime API: kernel<<<...>>>, with variables of every kind: __constant__,
// __device__, __managed__. A second translation unit has a kernel and variables of its own.
#include "../check_runtime.h"
#include "vector_add.h"

#include <vector>

namespace {

constexpr int count = 50000;
constexpr size_t bytes = count * sizeof(float);

__constant__ float weights[2];
__device__ int last_index = -1;
__managed__ unsigned blocks_done = 0;

__global__ void add(const float *a, const float *b, float *out, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) {
        out[i] = weights[0] * a[i] + weights[1] * b[i];
        atomicMax(&last_index, i);
    }
    if (threadIdx.x == 0) {
        atomicAdd(&blocks_done, 1U);
    }
}

void set_weights(float first, float second) {
    const float both[2] = {first, second};
    CHECK(cudaMemcpyToSymbol(weights, both, sizeof both));
}

// The kernel and the variables as the runtime describes them.
int about_the_code() {
    size_t size = 0;
    void *address = nullptr;
    float read_back[2] = {0, 0};
    cudaFuncAttributes attributes;
    int blocks = 0, threads = 0;
    CHECK(cudaGetSymbolSize(&size, weights));
    CHECK(cudaGetSymbolAddress(&address, weights));
    CHECK(cudaMemcpy(read_back, address, sizeof read_back, cudaMemcpyDeviceToHost));
    CHECK(cudaFuncGetAttributes(&attributes, add));
    CHECK(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, add, 0, 0));
    printf("weights: %d bytes, %g and %g; blocks of up to %d threads\n", static_cast<int>(size),
           read_back[0], read_back[1], attributes.maxThreadsPerBlock);
    return size == sizeof weights && read_back[0] == 2 && read_back[1] == 3 && blocks > 0 &&
                   threads > 0 && threads <= attributes.maxThreadsPerBlock
               ? 0
               : 1;
}

int wrong_sums(const std::vector<float> &a, const std::vector<float> &b, const float *device,
               float factor) {
    std::vector<float> sums(count);
    CHECK(cudaMemcpy(sums.data(), device, bytes, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < count; ++i) {
        wrong += sums[i] == factor * (2 * a[i] + 3 * b[i]) ? 0 : 1;
    }
    printf("first %g, last %g, wrong %d\n", sums.front(), sums.back(), wrong);
    return wrong;
}

// The values of the variables after the kernel, as the host reads them.
int wrong_variables(int launched_blocks) {
    int index = 0;
    CHECK(cudaMemcpyFromSymbol(&index, last_index, sizeof index));
    printf("last index %d, blocks done %u, elements scaled %llu\n", index, blocks_done,
           scaled_elements());
    return index == count - 1 && blocks_done == static_cast<unsigned>(launched_blocks) &&
                   scaled_elements() == count
               ? 0
               : 1;
}

} // namespace

int main() {
    need_device();
    std::vector<float> a(count), b(count);
    for (int i = 0; i < count; ++i) {
        a[i] = static_cast<float>(i);
        b[i] = static_cast<float>(2 * i + 1);
    }
    float *a_there = nullptr, *b_there = nullptr, *out = nullptr;
    CHECK(cudaMalloc(&a_there, bytes));
    CHECK(cudaMalloc(&b_there, bytes));
    CHECK(cudaMalloc(&out, bytes));
    CHECK(cudaMemcpy(a_there, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b_there, b.data(), bytes, cudaMemcpyHostToDevice));

    set_weights(2, 3);
    int wrong = about_the_code();
    const int threads = 256, blocks = (count + threads - 1) / threads;
    add<<<blocks, threads>>>(a_there, b_there, out, count);
    CHECK(cudaGetLastError());
    wrong += wrong_sums(a, b, out, 1);
    scale(out, count, 4);
    wrong += wrong_sums(a, b, out, 4);
    CHECK(cudaDeviceSynchronize());
    wrong += wrong_variables(blocks);

    CHECK(cudaFree(a_there));
    CHECK(cudaFree(b_there));
    CHECK(cudaFree(out));
    return wrong == 0 ? 0 : EXIT_WRONG_RESULT;
}
