// The states of a process: fork and exit. POSIX.
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>

#ifndef _WIN32
#include <atomic>
#include <cstdlib>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

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

namespace {

// The child's answer to a call: 0 where it is 3, whatever the parent's threads were in the middle of.
[[noreturn]] void ask_in_child() {
    alarm(20); // a child that hangs ends all the same
    int count = 0;
    _exit(d.cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
}

} // namespace

TEST_CASE("a child answers while its parent's threads are in calls", "[process]") {
    start();
    CUcontext context = nullptr;
    REQUIRE(d.cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    std::atomic<bool> stop{false};
    std::vector<std::thread> busy;
    for (int i = 0; i < 2; ++i) {
        busy.emplace_back([&] {
            d.cuCtxSetCurrent(context);
            while (!stop) {
                CUdeviceptr memory = 0;
                d.cuMemAlloc(&memory, std::size_t(1) << 20);
                d.cuMemFree(memory);
            }
        });
    }
    int failed = 0;
    for (int i = 0; i < 30 && failed == 0; ++i) {
        failed = in_child(ask_in_child);
    }
    stop = true;
    for (std::thread &thread : busy) {
        thread.join();
    }
    CHECK(failed == 0);
}

TEST_CASE("a child answers while its parent's work runs", "[process]") {
    start("mode=threaded");
    constexpr std::size_t size = std::size_t(16) << 20;
    CUstream stream = nullptr;
    CUdeviceptr memory = 0;
    REQUIRE(d.cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
    REQUIRE(d.cuMemAlloc(&memory, size) == CUDA_SUCCESS);
    int failed = 0;
    for (int i = 0; i < 20 && failed == 0; ++i) {
        for (int j = 0; j < 4; ++j) {
            REQUIRE(d.cuMemsetD8Async(memory, 1, size, stream) == CUDA_SUCCESS);
        }
        failed = in_child(ask_in_child);
        REQUIRE(d.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    }
    CHECK(failed == 0);
    CHECK(d.cuMemFree(memory) == CUDA_SUCCESS);
    CHECK(d.cuStreamDestroy(stream) == CUDA_SUCCESS);
}

TEST_CASE("a child that exits says nothing of what its parent has", "[process]") {
    start("report=fail");
    CUdeviceptr memory = 0;
    REQUIRE(d.cuMemAlloc(&memory, 64) == CUDA_SUCCESS);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    CHECK(in_child([&] {
              dup2(ends[1], STDERR_FILENO);
              std::exit(0);
          }) == 0);
    close(ends[1]);
    char byte = 0;
    CHECK(read(ends[0], &byte, 1) == 0);
    close(ends[0]);
    CHECK(d.cuMemFree(memory) == CUDA_SUCCESS);
    configure("report=0");
}

TEST_CASE("a child can have worker threads, where its parent had some before it began anew",
          "[process]") {
    start("mode=threaded");
    const auto use_worker = [] {
        CUstream stream = nullptr;
        const auto nothing = [](void *) {};
        return d.cuStreamCreate(&stream, 0) == CUDA_SUCCESS &&
               d.cuLaunchHostFunc(stream, nothing, nullptr) == CUDA_SUCCESS &&
               d.cuStreamSynchronize(stream) == CUDA_SUCCESS &&
               d.cuStreamDestroy(stream) == CUDA_SUCCESS;
    };
    CHECK(use_worker());
    sim_control().reset();
    CHECK(in_child([&] {
              alarm(20);
              start("mode=threaded;patience=5000");
              _exit(use_worker() ? 0 : 1);
          }) == 0);
}

TEST_CASE("a child of a process that never called cuInit can call it", "[process]") {
    sim_control().reset();
    CHECK(in_child([] { _exit(d.cuInit(0) == CUDA_SUCCESS ? 0 : 1); }) == 0);
}

#endif
