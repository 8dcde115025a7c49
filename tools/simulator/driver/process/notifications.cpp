// Callbacks for device notifications. The only one reports that the process exceeds its memory
// budget. It never happens here: allocations fail instead.
#include "driver_functions.hpp"
#include "engine/device.hpp"
#include "engine/object.hpp"

#if CUDA_VERSION >= 12040

// The object behind a CUasyncCallbackHandle.
struct CUasyncCallbackEntry_st final : sim::Object {
    CUasyncCallbackEntry_st(CUdevice on, CUasyncCallback function, void *data)
        : Object(own_kind), device(on), callback(function), user(data) {}
    static constexpr sim::Kind own_kind = sim::Kind::other;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    CUdevice device;
    CUasyncCallback callback;
    void *user;
};

namespace sim::driver {

EXPORT CUresult cuDeviceRegisterAsyncNotification(CUdevice device, CUasyncCallback callbackFunc,
                                                  void *userData,
                                                  OUT CUasyncCallbackHandle *callback) {
    sim::device(device, "device");
    require(callbackFunc != nullptr && callback != nullptr);
    *callback = Registry::get().make<CUasyncCallbackEntry_st>(device, callbackFunc, userData);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceUnregisterAsyncNotification(CUdevice device,
                                                    CUasyncCallbackHandle callback) {
    sim::device(device, "device");
    CUasyncCallbackEntry_st &entry = checked(callback, CUDA_ERROR_INVALID_VALUE);
    require(entry.device == device);
    Registry::get().destroy(&entry);
    return CUDA_SUCCESS;
}

} // namespace sim::driver

#endif
