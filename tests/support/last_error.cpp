// Without a runtime library, cudaGetLastError reports failed calls of its own thread: through the
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
    // Requests for names and descriptions do not fail.
    (void)CALL(cudaGetErrorString)(cudaErrorMemoryAllocation);
    // Failures of the driver API have no effect.
    EXPECT_INT(cushim::driver().cuInit(0), CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);

    // cudaPeekAtLastError keeps the error, for this thread only.
    EXPECT_INT(CALL(cudaPeekAtLastError)(), cudaErrorInsufficientDriver);
    std::thread(fresh_thread).join();
    std::thread(failing_thread).join();
    EXPECT_INT(CALL(cudaPeekAtLastError)(), cudaErrorInsufficientDriver);

    // cudaGetLastError clears it.
    EXPECT_INT(CALL(cudaGetLastError)(), cudaErrorInsufficientDriver);
    EXPECT_INT(CALL(cudaPeekAtLastError)(), cudaSuccess);
    EXPECT_INT(CALL(cudaGetLastError)(), cudaSuccess);
    return finish();
}
