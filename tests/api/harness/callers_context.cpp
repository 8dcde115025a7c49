#include "callers_context.hpp"

#include <cushim/init.hpp>

#include "simulator.hpp"

namespace api_test {
namespace {

CUcontext current_context() {
    CUcontext context = nullptr;
    REQUIRE(cushim::driver().cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    return context;
}

void push(CUcontext context) {
    REQUIRE(cushim::driver().cuCtxPushCurrent(context) == CUDA_SUCCESS);
}

void pop() {
    CUcontext popped = nullptr;
    CHECK(cushim::driver().cuCtxPopCurrent(&popped) == CUDA_SUCCESS);
}

// Makes the new context current, as cuCtxCreate does.
CUcontext create() {
    CUcontext context = nullptr;
    REQUIRE(cushim::driver().cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS);
    return context;
}

// A context that the scenarios do not use. On a real driver the process keeps one, as making it
// takes a third of a second.
CUcontext enter_foreign() {
    if (simulator() != nullptr) {
        return create();
    }
    static CUcontext lasting = nullptr;
    if (lasting == nullptr) {
        lasting = create();
    } else {
        push(lasting);
    }
    return lasting;
}

CUcontext enter_primary(CUdevice device) {
    CUcontext context = nullptr;
    REQUIRE(cushim::driver().cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS);
    push(context);
    return context;
}

} // namespace

const char *name_of(Current current) {
    switch (current) {
    case Current::foreign:
        return "a context of the caller";
    case Current::primary:
        return "the primary context of device 0";
    case Current::other_device:
        return "the primary context of device 1";
    default:
        return "none";
    }
}

CallersContext::CallersContext(Current current) : current_(current) {
    REQUIRE(current_context() == nullptr);
    if (current == Current::foreign) {
        context_ = enter_foreign();
    } else if (current != Current::none) {
        context_ = enter_primary(current == Current::primary ? 0 : 1);
    }
}

CallersContext::~CallersContext() {
    CHECK(current_context() == context_);
    if (context_ != nullptr) {
        pop();
    }
    const bool is_simulated = simulator() != nullptr;
    if (current_ == Current::foreign && is_simulated) {
        CHECK(cushim::driver().cuCtxDestroy(context_) == CUDA_SUCCESS);
    } else if (current_ == Current::primary) {
        CHECK(cushim::driver().cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
    } else if (current_ == Current::other_device && is_simulated) { // a real driver keeps it
        CHECK(cushim::driver().cuDevicePrimaryCtxRelease(1) == CUDA_SUCCESS);
    }
}

KeptPrimary::KeptPrimary() {
    if (simulator() == nullptr) {
        CUcontext context = nullptr;
        REQUIRE(cushim::init().has_value());
        REQUIRE(cushim::driver().cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    }
}

KeptPrimary::~KeptPrimary() {
    if (simulator() == nullptr) {
        CHECK(cushim::driver().cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
    }
}

} // namespace api_test
