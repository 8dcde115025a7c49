// Devices: selection, state, limits, flags, pool attributes, device-wide calls.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

namespace sim::runtime {
namespace {

// The runtime always maps host memory and sets the flag in its contexts.
cudaError_t set_flags(int device, unsigned int flags) {
    require((flags & ~static_cast<unsigned int>(cudaDeviceMask)) == 0);
    return CU_ANY(cuDevicePrimaryCtxSetFlags_v2)(device, flags | cudaDeviceMapHost);
}

// The driver has limits that the runtime does not name, and returns another status for invalid
// ones.
CUlimit limit_of(cudaLimit limit) {
    bool named = static_cast<unsigned int>(limit) <= cudaLimitPersistingL2CacheSize;
#if CUDART_VERSION >= 13040
    named = named || limit == cudaLimitPerBlockMemorySize;
#endif
    require(named);
    return same<CUlimit>(limit);
}

} // namespace

cudaError_t cudaGetDeviceCount(int *count) {
    require(count != nullptr, "count cannot be NULL");
    *count = known_device_count();
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    choose_device(device);
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
    require(device != nullptr, "device cannot be NULL");
    *device = current_device();
    return cudaSuccess;
}

cudaError_t cudaSetValidDevices(int *device_arr, int len) {
    require(len >= 0 && (device_arr != nullptr || len == 0));
    choose_first_of(device_arr, len);
    return cudaSuccess;
}

#if CUDART_VERSION >= 12000
// Other bits of `flags` are ignored.
cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags) {
    checked_device(device);
    if ((flags & cudaInitDeviceFlagsAreValid) != 0) {
        demand(set_flags(device, deviceFlags));
    }
    (void)primary_context(device);
    if (device == current_device()) {
        need_context(); // recorded: also makes the thread's own device current
    }
    return cudaSuccess;
}
#endif

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
    return set_flags(current_device(), flags);
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags) {
    require(flags != nullptr, "flags cannot be NULL");
    int active = 0;
    unsigned int found = 0;
    demand(CU_ANY(cuDevicePrimaryCtxGetState)(current_device(), &found, &active));
    *flags = found | cudaDeviceMapHost;
    return cudaSuccess;
}

cudaError_t cudaDeviceReset() {
    return reset_device();
}

cudaError_t cudaDeviceSynchronize() {
    return CU(cuCtxSynchronize)();
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
    return CU(cuCtxSetLimit)(limit_of(limit), value);
}

cudaError_t cudaDeviceGetLimit(size_t *pValue, cudaLimit limit) {
    return CU(cuCtxGetLimit)(pValue, limit_of(limit));
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache *pCacheConfig) {
    return CU(cuCtxGetCacheConfig)(same_memory<CUfunc_cache>(pCacheConfig));
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache cacheConfig) {
    return CU(cuCtxSetCacheConfig)(same<CUfunc_cache>(cacheConfig));
}

cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig *pConfig) {
    return CU(cuCtxGetSharedMemConfig)(same_memory<CUsharedconfig>(pConfig));
}

cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
    return CU(cuCtxSetSharedMemConfig)(same<CUsharedconfig>(config));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority) {
    return CU(cuCtxGetStreamPriorityRange)(leastPriority, greatestPriority);
}

cudaError_t cudaCtxResetPersistingL2Cache() {
    return CU(cuCtxResetPersistingL2Cache)();
}

cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTarget target,
                                               cudaFlushGPUDirectRDMAWritesScope scope) {
    return CU(cuFlushGPUDirectRDMAWrites)(same<CUflushGPUDirectRDMAWritesTarget>(target),
                                          same<CUflushGPUDirectRDMAWritesScope>(scope));
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *pciBusId) {
    return CU_ANY(cuDeviceGetByPCIBusId)(device, pciBusId);
}

cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device) {
    return CU_ANY(cuDeviceGetPCIBusId)(pciBusId, len, existing_device(device));
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attr, int device) {
    return CU_ANY(cuDeviceGetAttribute)(value, same<CUdevice_attribute>(attr),
                                        checked_device(device, "dev"));
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, cudaDeviceP2PAttr attr, int srcDevice,
                                      int dstDevice) {
    return CU_ANY(cuDeviceGetP2PAttribute)(value, same<CUdevice_P2PAttribute>(attr), srcDevice,
                                           dstDevice);
}

#if CUDART_VERSION >= 12040
cudaError_t cudaDeviceRegisterAsyncNotification(int device, cudaAsyncCallback callbackFunc,
                                                void *userData,
                                                cudaAsyncCallbackHandle_t *callback) {
    return CU_ANY(cuDeviceRegisterAsyncNotification)(
        device, reinterpret_cast<CUasyncCallback>(callbackFunc), userData,
        reinterpret_cast<CUasyncCallbackHandle *>(callback));
}

cudaError_t cudaDeviceUnregisterAsyncNotification(int device, cudaAsyncCallbackHandle_t callback) {
    return CU_ANY(cuDeviceUnregisterAsyncNotification)(
        device, reinterpret_cast<CUasyncCallbackHandle>(callback));
}
#endif

// --- deprecated names

#if CUDART_VERSION < 13000
cudaError_t cudaThreadExit() {
    return reset_device();
}

cudaError_t cudaThreadSynchronize() {
    return CU(cuCtxSynchronize)();
}

cudaError_t cudaThreadSetLimit(cudaLimit limit, size_t value) {
    return CU(cuCtxSetLimit)(limit_of(limit), value);
}

cudaError_t cudaThreadGetLimit(size_t *pValue, cudaLimit limit) {
    return CU(cuCtxGetLimit)(pValue, limit_of(limit));
}

cudaError_t cudaThreadGetCacheConfig(cudaFuncCache *pCacheConfig) {
    return CU(cuCtxGetCacheConfig)(same_memory<CUfunc_cache>(pCacheConfig));
}

cudaError_t cudaThreadSetCacheConfig(cudaFuncCache cacheConfig) {
    return CU(cuCtxSetCacheConfig)(same<CUfunc_cache>(cacheConfig));
}

// All devices support doubles, so nothing is converted.
cudaError_t cudaSetDoubleForDevice(double *d) {
    require(d != nullptr);
    return cudaSuccess;
}

cudaError_t cudaSetDoubleForHost(double *d) {
    require(d != nullptr);
    return cudaSuccess;
}
#endif

} // namespace sim::runtime
