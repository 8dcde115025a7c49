// Devices: selection, limits, flags, attributes, peer access.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

namespace sim::runtime {
namespace {

// Primary contexts always map host memory; the driver does not accept the flag for them.
cudaError_t set_flags(int device, unsigned int flags) {
    return CU_ANY(cuDevicePrimaryCtxSetFlags_v2)(
        device, flags & ~static_cast<unsigned int>(cudaDeviceMapHost));
}

// Recorded: these calls change the primary context, and fail while another one is current.
void refuse_other_context() {
    require(current_context() == primary_context(current_device()),
            cudaErrorIncompatibleDriverContext);
}

[[maybe_unused]] bool are_valid(unsigned int flags) {
    const unsigned int schedule = flags & cudaDeviceScheduleMask;
    return (flags & ~static_cast<unsigned int>(cudaDeviceMask)) == 0 &&
           (schedule & (schedule - 1)) == 0;
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

EXPORT cudaError_t cudaGetDeviceCount(OUT int *count) {
    require(count != nullptr, "count cannot be NULL");
    *count = known_device_count();
    return cudaSuccess;
}

EXPORT cudaError_t cudaSetDevice(int device) {
    choose_device(device);
    return cudaSuccess;
}

EXPORT cudaError_t cudaGetDevice(OUT int *device) {
    require(device != nullptr, "device cannot be NULL");
    *device = current_device();
    return cudaSuccess;
}

EXPORT cudaError_t cudaSetValidDevices(int *device_arr, int len) {
    require(len >= 0 && len <= device_count() && (device_arr != nullptr || len == 0));
    choose_first_of(device_arr, len);
    return cudaSuccess;
}

#if CUDART_VERSION >= 12000
// Other bits of `flags` are ignored.
EXPORT cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags) {
    checked_device(device);
    const CUcontext context = primary_context(device);
    if ((flags & cudaInitDeviceFlagsAreValid) == 0) {
        return cudaSuccess;
    }
    const cudaError_t status = set_flags(device, deviceFlags);
    if (status != cudaSuccess) {
        demand(CU_ANY(cuCtxSetCurrent)(context)); // recorded
    }
    return status;
}
#endif

EXPORT cudaError_t cudaSetDeviceFlags(unsigned int flags) {
#if CUDART_VERSION >= 12000
    require(are_valid(flags));
    refuse_other_context();
#endif
    return set_flags(current_device(), flags);
}

EXPORT cudaError_t cudaGetDeviceFlags(OUT unsigned int *flags) {
    require(flags != nullptr, "flags cannot be NULL");
    CUcontext current = nullptr;
    demand(CU_ANY(cuCtxGetCurrent)(&current));
    if (current != nullptr && CU_ANY(cuCtxGetFlags)(flags) == cudaSuccess) {
        return cudaSuccess;
    }
    const int device = current_device();
    int active = 0;
    demand(CU_ANY(cuDevicePrimaryCtxGetState)(device, flags, &active));
    if (!was_reset(device)) { // recorded
        *flags |= cudaDeviceMapHost;
    }
    return cudaSuccess;
}

EXPORT cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
    return CU(cuCtxSetLimit)(limit_of(limit), value);
}

EXPORT cudaError_t cudaDeviceGetLimit(OUT size_t *pValue, cudaLimit limit) {
    return CU(cuCtxGetLimit)(pValue, limit_of(limit));
}

EXPORT cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device) {
    return CU_ANY(cuDeviceGetPCIBusId)(pciBusId, len, existing_device(device));
}

EXPORT cudaError_t cudaDeviceGetAttribute(OUT int *value, cudaDeviceAttr attr, int device) {
    return CU_ANY(cuDeviceGetAttribute)(value, same<CUdevice_attribute>(attr),
                                        checked_device(device, "dev"));
}

// --- peer access

EXPORT cudaError_t cudaDeviceCanAccessPeer(OUT int *canAccessPeer, int device, int peerDevice) {
    return CU_ANY(cuDeviceCanAccessPeer)(canAccessPeer, checked_device(device),
                                         checked_device(peerDevice));
}

EXPORT cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags) {
    // Recorded: a device is not its own peer; the driver returns that status.
    checked_device(peerDevice);
    refuse_other_context();
    return CU(cuCtxEnablePeerAccess)(primary_context(peerDevice), flags);
}

EXPORT cudaError_t cudaDeviceDisablePeerAccess(int peerDevice) {
    checked_device(peerDevice);
    refuse_other_context();
    return CU(cuCtxDisablePeerAccess)(primary_context(peerDevice));
}

#if CUDART_VERSION < 13000
// All devices support doubles, so nothing is converted.
EXPORT cudaError_t cudaSetDoubleForDevice(OUT double *d) {
    require(d != nullptr);
    return cudaSuccess;
}

EXPORT cudaError_t cudaSetDoubleForHost(OUT double *d) {
    require(d != nullptr);
    return cudaSuccess;
}
#endif

} // namespace sim::runtime
