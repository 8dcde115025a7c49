// Without a runtime library, cudaGetLastError tells of the calls of its own thread.
#include <cushim/table.hpp>

#include <thread>

#include "expect.h"

namespace {

void fresh_thread() {
    const auto cuda = cushim::runtime();
    EXPECT_INT(cuda.cudaPeekAtLastError(), cudaSuccess);
    EXPECT_INT(cuda.cudaGetLastError(), cudaSuccess);
}

void failing_thread() {
    const auto cuda = cushim::runtime();
    EXPECT_INT(cuda.cudaFree(nullptr), cudaErrorInsufficientDriver);
    EXPECT_INT(cuda.cudaGetLastError(), cudaErrorInsufficientDriver);
    EXPECT_INT(cuda.cudaGetLastError(), cudaSuccess);
}

} // namespace

int main() {
    const auto cuda = cushim::runtime();
    EXPECT_INT(cuda.cudaGetLastError(), cudaSuccess);
    void *pointer = nullptr;
    EXPECT_INT(cuda.cudaMalloc(&pointer, 1), cudaErrorInsufficientDriver);
    // Names and descriptions are no calls that fail.
    (void)cuda.cudaGetErrorString(cudaErrorMemoryAllocation);
    // Nor do the driver's functions have a part in it.
    EXPECT_INT(cushim::driver().cuInit(0), CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);

    // Looking leaves it there, for this thread only.
    EXPECT_INT(cuda.cudaPeekAtLastError(), cudaErrorInsufficientDriver);
    std::thread(fresh_thread).join();
    std::thread(failing_thread).join();
    EXPECT_INT(cuda.cudaPeekAtLastError(), cudaErrorInsufficientDriver);

    // Taking it away does not; and success of another call would not either.
    EXPECT_INT(cuda.cudaGetLastError(), cudaErrorInsufficientDriver);
    EXPECT_INT(cuda.cudaPeekAtLastError(), cudaSuccess);
    EXPECT_INT(cuda.cudaGetLastError(), cudaSuccess);
    return finish();
}
