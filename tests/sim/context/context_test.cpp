// Contexts: the stack of each thread, primary contexts, what goes with them.
#include "handles.hpp"

#include <thread>

using namespace sim_test;

namespace {

void initialise() {
    sim_control().reset();
    REQUIRE(d.cuInit(0) == good);
}

} // namespace

TEST_CASE("before cuInit calls answer 3, but for those that need no driver") {
    sim_control().reset();
    CUcontext context = nullptr;
    int value = 0;
    const char *text = nullptr;
    CHECK(d.cuCtxGetCurrent(&context) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(d.cuDeviceGetCount(&value) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(d.cuProfilerStart() == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(d.cuProfilerStop() == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(d.cuDriverGetVersion(&value) == good);
    CHECK(d.cuGetErrorName(invalid, &text) == good);
    CHECK(d.cuInit(1) == invalid);
    CHECK(d.cuInit(0) == good);
    CHECK(d.cuInit(0) == good);
}

TEST_CASE("each thread has a stack of its own") {
    initialise();
    CUcontext a = nullptr, b = nullptr;
    REQUIRE(d.cuCtxCreate_v2(&a, 0, 0) == good);
    REQUIRE(d.cuCtxCreate_v2(&b, 0, 0) == good);
    CHECK(current() == b);
    std::thread([] {
        CHECK(current() == nullptr);
        CUcontext none = nullptr;
        CHECK(d.cuCtxPopCurrent(&none) == CUDA_ERROR_INVALID_CONTEXT);
    }).join();
    CHECK(got<CUcontext>(&Driver::cuCtxPopCurrent, out) == b);
    CHECK(current() == a);
    CHECK(d.cuCtxSetCurrent(b) == good); // in place of a
    CHECK(got<CUcontext>(&Driver::cuCtxPopCurrent, out) == b);
    CHECK(current() == nullptr);
    CHECK(d.cuCtxDestroy(a) == good);
    CHECK(d.cuCtxDestroy(b) == good);
}

TEST_CASE("a context that is destroyed while it is current in another thread") {
    initialise();
    CUcontext context = nullptr;
    REQUIRE(d.cuCtxCreate_v2(&context, 0, 0) == good);
    std::thread([&] { CHECK(d.cuCtxDestroy(context) == good); }).join();
    CHECK(current() == context);
    CUdeviceptr p = 0;
    CHECK(d.cuMemAlloc(&p, 16) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(d.cuCtxPopCurrent(nullptr) == good);
}

TEST_CASE("stale and wrong handles are refused and reported") {
    initialise();
    CUcontext context = nullptr;
    REQUIRE(d.cuCtxCreate_v2(&context, 0, 0) == good);
    const CUevent event = make_event();
    CHECK(d.cuCtxPushCurrent(reinterpret_cast<CUcontext>(event)) == CUDA_ERROR_INVALID_CONTEXT);
    expect_misuse("a context handle was expected, but this is event");
    CHECK(d.cuCtxPushCurrent(reinterpret_cast<CUcontext>(0x1230)) == CUDA_ERROR_INVALID_CONTEXT);
    expect_misuse("is not a context handle");
    REQUIRE(d.cuEventDestroy(event) == good);
    CHECK(d.cuEventQuery(event) != good);
    expect_misuse("use of a destroyed event");
    REQUIRE(d.cuCtxDestroy(context) == good);
    CHECK(d.cuCtxPushCurrent(context) == CUDA_ERROR_INVALID_CONTEXT);
    expect_misuse("use of a destroyed context");
}

TEST_CASE("the primary context is counted, and survives its reset") {
    initialise();
    unsigned int flags = 0;
    CHECK(got<int>(&Driver::cuDevicePrimaryCtxGetState, 0, &flags, out) == 0);
    CHECK(d.cuDevicePrimaryCtxRelease(0) == CUDA_ERROR_INVALID_CONTEXT);
    const CUcontext first = retain_primary(0);
    CHECK(first == got<CUcontext>(&Driver::cuDevicePrimaryCtxRetain, out, 0));
    CHECK(current() == nullptr);
    REQUIRE(d.cuCtxSetCurrent(first) == good);
    CUdeviceptr p = allocate(16);
    const CUevent event = make_event();
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
    CHECK(leaks().empty());
    CHECK(d.cuMemFree(p) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(d.cuEventDestroy(event) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(d.cuMemAlloc(&p, 16) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(first == got<CUcontext>(&Driver::cuDevicePrimaryCtxRetain, out, 0));
    CHECK(d.cuMemFree(got(d.cuMemAlloc(&p, 16), p)) == good);
    for (int i = 0; i < 3; ++i) {
        CHECK(d.cuDevicePrimaryCtxRelease(0) == good);
    }
    CHECK(d.cuDevicePrimaryCtxRelease(0) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuMemAlloc(&p, 16) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(current() == first);
    CHECK(d.cuCtxDestroy(first) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("what is left of a primary context after its reset") {
    start();
    CUcontext after = nullptr;
    const CUcontext before = current();
    const CUevent event = make_event();
    CUdeviceptr memory = allocate(64);
    void *pinned = allocate_pinned(64);
    REQUIRE(d.cuDevicePrimaryCtxReset(0) == good);
    CHECK(d.cuEventQuery(event) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(d.cuEventDestroy(event) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(d.cuMemFree(memory) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(d.cuMemFreeHost(pinned) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(d.cuCtxPushCurrent(before) == good);
    CHECK(got(d.cuCtxPopCurrent(&after), after) == before);
    CHECK(d.cuDevicePrimaryCtxRelease(0) == good);
    CHECK(d.cuDevicePrimaryCtxRelease(0) == CUDA_ERROR_INVALID_CONTEXT);
    after = nullptr;
    CHECK(got(d.cuDevicePrimaryCtxRetain(&after, 0), after) == before);
    CHECK(d.cuMemFree(got(d.cuMemAlloc(&memory, 64), memory)) == good);
    CHECK(misuses().empty());
    CHECK(d.cuDevicePrimaryCtxRelease(0) == good);
}

TEST_CASE("limits keep what they are given") {
    start();
    std::size_t value = 0;
    CHECK(got(d.cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE), value) == 1024);
    CHECK(d.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1000) == good);
    CHECK(got(d.cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE), value) == 1008);
    CHECK(d.cuCtxGetLimit(&value, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH) == CUDA_ERROR_UNSUPPORTED_LIMIT);
    CHECK(d.cuCtxSetLimit(static_cast<CUlimit>(99), 1) == invalid);
}
