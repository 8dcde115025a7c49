// Contexts: each thread's stack, and primary contexts with the objects they own.
#include "handles.hpp"

using namespace sim_test;

TEST_CASE("before cuInit calls fail with NOT_INITIALIZED unless they need no driver", "[fresh]") {
    CUcontext context = nullptr;
    int value = 0;
    const char *text = nullptr;
    check_all(CUDA_ERROR_NOT_INITIALIZED, {d.cuCtxGetCurrent(&context), d.cuDeviceGetCount(&value),
                                           d.cuProfilerStart(), d.cuProfilerStop()});
    CHECK(d.cuDriverGetVersion(&value) == good);
    CHECK(d.cuGetErrorName(invalid, &text) == good);
    CHECK(d.cuInit(1) == invalid);
    CHECK(d.cuInit(0) == good);
    CHECK(d.cuInit(0) == good);
}

TEST_CASE("each thread has its own context stack", "[fresh]") {
    REQUIRE(d.cuInit(0) == good);
    const CUcontext a = make_context(), b = make_context();
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

TEST_CASE("destroyed and wrong handles fail and are reported as misuse", "[fresh]") {
    REQUIRE(d.cuInit(0) == good);
    const CUcontext context = make_context();
    const CUevent event = make_event();
    constexpr auto refused = CUDA_ERROR_INVALID_CONTEXT;
    check_misuse(d.cuCtxPushCurrent(reinterpret_cast<CUcontext>(event)), refused,
                 "a context handle was expected, but this is event");
    check_misuse(d.cuCtxPushCurrent(reinterpret_cast<CUcontext>(0x1230)), refused,
                 "is not a context handle");
    destroy(event);
    check_misuse(d.cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE, "use of a destroyed event");
    destroy(context);
    check_misuse(d.cuCtxPushCurrent(context), refused, "use of a destroyed context");
}

TEST_CASE("a primary context is counted and survives its reset", "[fresh]") {
    REQUIRE(d.cuInit(0) == good);
    unsigned int flags = 0;
    CHECK(got<int>(&Driver::cuDevicePrimaryCtxGetState, 0, &flags, out) == 0);
    CHECK(d.cuDevicePrimaryCtxRelease(0) == CUDA_ERROR_INVALID_CONTEXT);
    const CUcontext first = retain_primary(0);
    CHECK(first == retain_primary(0));
    CHECK(current() == nullptr);
    REQUIRE(d.cuCtxSetCurrent(first) == good);
    CUdeviceptr p = allocate(16);
    void *const pinned = allocate_pinned(16);
    const CUevent event = make_event();
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
    CHECK(leaks().empty());
    constexpr auto gone = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    check_all(gone, {d.cuMemFree(p), d.cuMemFreeHost(pinned), d.cuEventQuery(event),
                     d.cuEventDestroy(event), d.cuMemAlloc(&p, 16)});
    CHECK(d.cuCtxPushCurrent(first) == good);
    CHECK(pop_current() == first);
    CHECK(first == retain_primary(0));
    release(allocate(16));
    for (int i = 0; i < 3; ++i) {
        CHECK(d.cuDevicePrimaryCtxRelease(0) == good);
    }
    CHECK(d.cuDevicePrimaryCtxRelease(0) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuMemAlloc(&p, 16) == gone);
    CHECK(current() == first);
    CHECK(d.cuCtxDestroy(first) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(retain_primary(0) == first);
    release(allocate(16));
    CHECK(misuses().empty());
    CHECK(d.cuDevicePrimaryCtxRelease(0) == good);
}

TEST_CASE("a limit that is set can be read back, rounded up") {
    std::size_t value = 0;
    CHECK(got(d.cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE), value) == 1024);
    CHECK(d.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1000) == good);
    CHECK(got(d.cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE), value) == 1008);
    CHECK(d.cuCtxGetLimit(&value, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH) == CUDA_ERROR_UNSUPPORTED_LIMIT);
    CHECK(d.cuCtxSetLimit(static_cast<CUlimit>(99), 1) == invalid);
}
