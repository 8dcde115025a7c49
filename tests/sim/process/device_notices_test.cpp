// Callbacks for notifications of a device, and the profiler switch.
#include "handles.hpp"

using namespace sim_test;

#if CUDA_VERSION >= 12040
TEST_CASE("a notification callback is registered until it is unregistered") {
    start("devices=2");
    const CUasyncCallback never = [](CUasyncNotificationInfo *, void *, CUasyncCallbackHandle) {};
    CUasyncCallbackHandle handle = nullptr;
    CHECK(d.cuDeviceRegisterAsyncNotification(9, never, nullptr, &handle) ==
          CUDA_ERROR_INVALID_DEVICE);
    CHECK(d.cuDeviceRegisterAsyncNotification(0, nullptr, nullptr, &handle) == invalid);
    CHECK(d.cuDeviceRegisterAsyncNotification(0, never, nullptr, nullptr) == invalid);
    REQUIRE(d.cuDeviceRegisterAsyncNotification(0, never, nullptr, &handle) == good);
    CHECK(leaks().size() == 1);
    CHECK(d.cuDeviceUnregisterAsyncNotification(1, handle) == invalid);
    CHECK(d.cuDeviceUnregisterAsyncNotification(0, nullptr) == invalid);
    CHECK(d.cuDeviceUnregisterAsyncNotification(0, handle) == good);
    CHECK(d.cuDeviceUnregisterAsyncNotification(0, handle) == invalid);
    expect_misuse("made by cuDeviceRegisterAsyncNotification");
}
#endif

TEST_CASE("starting and stopping the profiler need a context") {
    CHECK(d.cuProfilerStart() == good);
    CHECK(d.cuProfilerStop() == good);
    REQUIRE(d.cuCtxSetCurrent(nullptr) == good);
    CHECK(d.cuProfilerStart() == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuProfilerStop() == CUDA_ERROR_INVALID_CONTEXT);
}
