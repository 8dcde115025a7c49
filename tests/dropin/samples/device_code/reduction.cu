// Reduction with templated kernels that use static and dynamic shared memory. The program does
// not look for a device: its first CUDA call is a launch, whose status it checks.
#include "../check_runtime.h"

#include <vector>

namespace {

constexpr int count = 100000;
constexpr int block_count = 64;

__global__ void warm_up() {}

// Each block adds up one part and writes the sum to partial[block].
template <class T, int threads>
__global__ void reduce(const T *values, int n, T *partial) {
    __shared__ T sums[threads];
    T mine = 0;
    for (int i = static_cast<int>(blockIdx.x * threads + threadIdx.x); i < n;
         i += static_cast<int>(gridDim.x * threads)) {
        mine += values[i];
    }
    sums[threadIdx.x] = mine;
    __syncthreads();
    for (int half = threads / 2; half > 0; half /= 2) {
        if (static_cast<int>(threadIdx.x) < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sums[0];
    }
}

// One block adds up the partial sums in dynamic shared memory.
template <class T>
__global__ void reduce_rest(const T *values, T *result) {
    extern __shared__ __align__(16) unsigned char memory[];
    T *sums = reinterpret_cast<T *>(memory);
    sums[threadIdx.x] = values[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        T sum = 0;
        for (unsigned i = 0; i < blockDim.x; ++i) {
            sum += sums[i];
        }
        *result = sum;
    }
}

template <class T, int threads>
int reduce_and_check(const char *name) {
    std::vector<T> values(count);
    T expected = 0, sum = 0;
    for (int i = 0; i < count; ++i) {
        values[i] = static_cast<T>(i % 10); // exact in every type
        expected += values[i];
    }
    T *there = nullptr, *partial = nullptr, *result = nullptr;
    CHECK(cudaMalloc(&there, count * sizeof(T)));
    CHECK(cudaMalloc(&partial, block_count * sizeof(T)));
    CHECK(cudaMalloc(&result, sizeof(T)));
    CHECK(cudaMemcpy(there, values.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    reduce<T, threads><<<block_count, threads>>>(there, count, partial);
    CHECK(cudaGetLastError());
    reduce_rest<T><<<1, block_count, block_count * sizeof(T)>>>(partial, result);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&sum, result, sizeof sum, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(there));
    CHECK(cudaFree(partial));
    CHECK(cudaFree(result));
    printf("%s, %d threads: %.0f, %s\n", name, threads, static_cast<double>(sum),
           sum == expected ? "right" : "WRONG");
    return sum == expected ? 0 : 1;
}

// A launch with more shared memory than a block may have fails; the next launch succeeds.
int refuses_too_much() {
    warm_up<<<1, 1, 1 << 20>>>();
    const cudaError_t refused = cudaGetLastError();
    warm_up<<<1, 1>>>();
    const cudaError_t then = cudaGetLastError();
    CHECK(cudaDeviceSynchronize());
    printf("1 MiB of shared memory: %s; then: %s\n", cudaGetErrorString(refused),
           cudaGetErrorString(then));
    return refused == cudaErrorInvalidValue && then == cudaSuccess ? 0 : 1;
}

} // namespace

int main() {
    warm_up<<<1, 32>>>();
    CHECK(cudaGetLastError());
    const int wrong = reduce_and_check<int, 128>("int") + reduce_and_check<int, 512>("int") +
                      reduce_and_check<unsigned long long, 256>("unsigned long long") +
                      reduce_and_check<float, 256>("float") +
                      reduce_and_check<double, 1024>("double") + refuses_too_much();
    CHECK(cudaDeviceReset());
    return wrong == 0 ? 0 : EXIT_WRONG_RESULT;
}
