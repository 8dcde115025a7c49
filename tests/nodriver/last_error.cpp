// Without a runtime library, cudaGetLastError tells of the calls of its own thread: through the
// table, and with BY_NAME through the drop-in.
#include <cushim/table.hpp>

#include <thread>

#include "expect.h"

#ifdef BY_NAME
#define CALL(name) ::name
#else
#define CALL(name) cushim::runtime().name
#endif

namespace {

void fresh_thread() {
    EXPECT_INT(CALL(cudaPeekAtLastError)(), cudaSuccess);
    EXPECT_INT(CALL(cudaGetLastError)(), cudaSuccess);
}

void failing_thread() {
    EXPECT_INT(CALL(cudaFree)(nullptr), cudaErrorInsufficientDriver);
    EXPECT_INT(CALL(cudaGetLastError)(), cudaErrorInsufficientDriver);
    EXPECT_INT(CALL(cudaGetLastError)(), cudaSuccess);
}

} // namespace

int main() {
    EXPECT_INT(CALL(cudaGetLastError)(), cudaSuccess);
    void *pointer = &pointer;
    EXPECT_INT(CALL(cudaMalloc)(&pointer, 1), cudaErrorInsufficientDriver);
    EXPECT(pointer == &pointer);
    // Names and descriptions are no calls that fail.
    (void)CALL(cudaGetErrorString)(cudaErrorMemoryAllocation);
    // Nor do the driver's functions have a part in it.
    EXPECT_INT(cushim::driver().cuInit(0), CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);

    // Looking leaves it there, for this thread only.
    EXPECT_INT(CALL(cudaPeekAtLastError)(), cudaErrorInsufficientDriver);
    std::thread(fresh_thread).join();
    std::thread(failing_thread).join();
    EXPECT_INT(CALL(cudaPeekAtLastError)(), cudaErrorInsufficientDriver);

    // Taking it away does not; and success of another call would not either.
    EXPECT_INT(CALL(cudaGetLastError)(), cudaErrorInsufficientDriver);
    EXPECT_INT(CALL(cudaPeekAtLastError)(), cudaSuccess);
    EXPECT_INT(CALL(cudaGetLastError)(), cudaSuccess);
    return finish();
}
