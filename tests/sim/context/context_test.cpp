// Contexts: each thread's stack, and wrong handles.
#include "handles.hpp"

using namespace sim_test;

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
