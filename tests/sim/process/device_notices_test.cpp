// Callbacks for notices of a device, and the profiler's switch: what little there is to get wrong.
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace sim_test;

#if CUDA_VERSION >= 12040
TEST_CASE("a callback for notices is registered until it is unregistered", "[notices]") {
    start("devices=2");
    const auto &d = cushim::driver();
    const CUasyncCallback never = [](CUasyncNotificationInfo *, void *, CUasyncCallbackHandle) {};
    CUasyncCallbackHandle handle = nullptr;
    CHECK(d.cuDeviceRegisterAsyncNotification(9, never, nullptr, &handle) ==
          CUDA_ERROR_INVALID_DEVICE);
    CHECK(d.cuDeviceRegisterAsyncNotification(0, nullptr, nullptr, &handle) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuDeviceRegisterAsyncNotification(0, never, nullptr, nullptr) ==
          CUDA_ERROR_INVALID_VALUE);
    REQUIRE(d.cuDeviceRegisterAsyncNotification(0, never, nullptr, &handle) == CUDA_SUCCESS);
    CHECK(leaks().size() == 1);
    CHECK(d.cuDeviceUnregisterAsyncNotification(1, handle) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuDeviceUnregisterAsyncNotification(0, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d.cuDeviceUnregisterAsyncNotification(0, handle) == CUDA_SUCCESS);
    CHECK(d.cuDeviceUnregisterAsyncNotification(0, handle) == CUDA_ERROR_INVALID_VALUE);
    expect_misuse("made by cuDeviceRegisterAsyncNotification");
}
#endif

TEST_CASE("the profiler's switch needs a context", "[notices]") {
    start();
    const auto &d = cushim::driver();
    CHECK(d.cuProfilerStart() == CUDA_SUCCESS);
    CHECK(d.cuProfilerStop() == CUDA_SUCCESS);
    REQUIRE(d.cuCtxSetCurrent(nullptr) == CUDA_SUCCESS);
    CHECK(d.cuProfilerStart() == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuProfilerStop() == CUDA_ERROR_INVALID_CONTEXT);
}
