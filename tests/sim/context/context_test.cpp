// Contexts: each thread's stack, and wrong handles.
#include "handles.hpp"

using namespace sim_test;

namespace {

unsigned int flags_of_context() {
    return got<unsigned int>(&Driver::cuCtxGetFlags, out);
}

unsigned int flags_of_device() {
    int active = 0;
    unsigned int flags = 0;
    require_ok(driver().cuDevicePrimaryCtxGetState(0, &flags, &active));
    return flags;
}

void enter_primary() {
    require_ok(driver().cuCtxSetCurrent(got<CUcontext>(&Driver::cuDevicePrimaryCtxRetain, out, 0)));
}

void leave_primary(int times) {
    for (int i = 0; i < times; ++i) {
        ok(driver().cuDevicePrimaryCtxRelease(0));
    }
}

constexpr unsigned int map_host = CU_CTX_MAP_HOST, spin = CU_CTX_SCHED_SPIN,
                       blocking = CU_CTX_SCHED_BLOCKING_SYNC;

} // namespace

TEST_CASE("a primary context maps host memory and has the flags of its device", "[fresh]") {
    require_ok(driver().cuInit(0));
    CHECK(driver().cuDevicePrimaryCtxSetFlags(0, map_host) == invalid);
    ok(driver().cuDevicePrimaryCtxSetFlags(0, blocking));
    enter_primary();
    CHECK(flags_of_context() == (map_host | blocking));
    CHECK(flags_of_device() == blocking);
    ok(driver().cuDevicePrimaryCtxSetFlags(0, spin));
    CHECK(flags_of_context() == (map_host | spin));
    enter_primary();
    CHECK(flags_of_context() == (map_host | spin));
    ok(driver().cuDevicePrimaryCtxReset(0));
    CHECK(flags_of_device() == 0);
    enter_primary();
    CHECK(flags_of_context() == map_host);
    leave_primary(3);
}

#if CUDA_VERSION >= 12010
TEST_CASE("flags are set in the current context alone", "[fresh]") {
    constexpr unsigned int core_dump = 0x20, core_dump_on_request = 0x40, synchronous = 0x80;
    require_ok(driver().cuInit(0));
    enter_primary();
    ok(driver().cuCtxSetFlags(spin));
    CHECK(flags_of_context() == (map_host | spin));
    CHECK(flags_of_device() == 0);
    ok(driver().cuCtxSetFlags(synchronous | core_dump));
    CHECK(flags_of_context() == (map_host | synchronous));
    CHECK(flags_of_device() == synchronous);
    CUcontext made = nullptr;
    require_ok(driver().cuCtxCreate_v2(&made, core_dump_on_request, 0));
    CHECK(flags_of_context() == core_dump);
    ok(driver().cuCtxSetFlags(map_host | blocking));
    CHECK(flags_of_context() == (core_dump | blocking));
    destroy(made);
    leave_primary(1);
}
#endif

TEST_CASE("each thread has its own context stack", "[fresh]") {
    require_ok(driver().cuInit(0));
    const CUcontext context = make_context();
    std::thread([] {
        CUcontext none = nullptr;
        CHECK(current() == nullptr);
        CHECK(driver().cuCtxPopCurrent(&none) == CUDA_ERROR_INVALID_CONTEXT);
    }).join();
    CHECK(current() == context);
    destroy(context);
}

TEST_CASE("destroyed and wrong handles fail and are reported as misuse", "[fresh]") {
    require_ok(driver().cuInit(0));
    const CUcontext context = make_context();
    const CUevent event = make_event();
    constexpr auto refused = CUDA_ERROR_INVALID_CONTEXT;
    check_misuse(driver().cuCtxPushCurrent(reinterpret_cast<CUcontext>(event)), refused,
                 "a context handle was expected, but this is event");
    check_misuse(driver().cuCtxPushCurrent(reinterpret_cast<CUcontext>(0x1230)), refused,
                 "is not a context handle");
    destroy(event);
    check_misuse(driver().cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE,
                 "use of a destroyed event");
    destroy(context);
    check_misuse(driver().cuCtxPushCurrent(context), refused, "use of a destroyed context");
}
