// The states of a process: fork and exit. POSIX.
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>

#ifndef _WIN32
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

using namespace sim_test;

namespace {

const auto d = cushim::driver();

// The exit status of a child that runs `body`.
template <class Body>
int in_child(Body body) {
    const pid_t child = fork();
    if (child == 0) {
        body();
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

CUresult seen_after_init = CUDA_ERROR_UNKNOWN;

} // namespace

// First: the handler counts from the first cuInit of the process.
TEST_CASE("exit handlers: those from before cuInit find no driver, later ones do", "[process]") {
    const int status = in_child([] {
        sim_control().reset();
        std::atexit([] { // runs last
            int count = 0;
            const CUresult now = d.cuDeviceGetCount(&count);
            _exit(now == CUDA_ERROR_DEINITIALIZED && seen_after_init == CUDA_SUCCESS ? 0 : 1);
        });
        d.cuInit(0);
        std::atexit([] {
            int count = 0;
            seen_after_init = d.cuDeviceGetCount(&count);
        });
        std::exit(2);
    });
    CHECK(status == 0);
}
TEST_CASE("in a child every call answers 3, but for what measured drivers answer", "[process]") {
    start();
    CUevent event = nullptr;
    REQUIRE(d.cuEventCreate(&event, 0) == CUDA_SUCCESS);
    const int status = in_child([&] {
        CUcontext context = nullptr;
        CUdeviceptr p = 0;
        int value = 0;
        const bool right = d.cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                           d.cuCtxGetCurrent(&context) == CUDA_ERROR_NOT_INITIALIZED &&
                           d.cuMemAlloc(&p, 16) == CUDA_ERROR_NOT_INITIALIZED &&
                           d.cuDriverGetVersion(&value) == CUDA_SUCCESS &&
                           d.cuEventDestroy(event) == CUDA_SUCCESS;
        _exit(right ? 0 : 1);
    });
    CHECK(status == 0);
    CHECK(d.cuEventDestroy(event) == CUDA_SUCCESS);
}

TEST_CASE("a child of a process that never called cuInit can call it", "[process]") {
    sim_control().reset();
    CHECK(in_child([] { _exit(d.cuInit(0) == CUDA_SUCCESS ? 0 : 1); }) == 0);
}

#endif
