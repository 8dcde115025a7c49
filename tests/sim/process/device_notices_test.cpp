// Callbacks for notifications of a device.
#include "handles.hpp"

using namespace sim_test;

TEST_CASE("a notification callback is registered until it is unregistered") {
#if CUDA_VERSION >= 12040
    start("devices=2");
    const CUasyncCallback never = [](CUasyncNotificationInfo *, void *, CUasyncCallbackHandle) {};
    CUasyncCallbackHandle handle = nullptr;
    CHECK(driver().cuDeviceRegisterAsyncNotification(0, nullptr, nullptr, &handle) == invalid);
    require_ok(driver().cuDeviceRegisterAsyncNotification(0, never, nullptr, &handle));
    CHECK(leaks().size() == 1);
    CHECK(driver().cuDeviceUnregisterAsyncNotification(1, handle) == invalid);
    ok(driver().cuDeviceUnregisterAsyncNotification(0, handle));
    check_misuse(driver().cuDeviceUnregisterAsyncNotification(0, handle), invalid,
                 "made by cuDeviceRegisterAsyncNotification");
#else
    SKIP("requires CUDA 12.4");
#endif
}
