// Peer access between devices.
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/open_calls.hpp"

namespace sim::driver {
namespace {

constexpr int only_partial_native_atomics = 5; // missing from old headers

Context &checked_peer(CUcontext handle) {
    Context &context = checked_context(handle);
    if (context.green != nullptr) {
        check_usable(context);
    }
    return owner_of(context);
}

} // namespace

EXPORT CUresult cuDeviceCanAccessPeer(OUT int *canAccessPeer, CUdevice dev, CUdevice peerDev) {
    device(dev);
    device(peerDev, "peerDev");
    require(canAccessPeer != nullptr);
    *canAccessPeer = can_access_peer(dev, peerDev) ? 1 : 0;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) {
    Context &context = current_context();
    Context &peer = checked_peer(peerContext);
    require(Flags == 0);
    check_usable(peer);
    require(can_access_peer(context.device, peer.device), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    require(enable_peer(context, peer), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    note_peer_access(context, peer);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxDisablePeerAccess(CUcontext peerContext) {
    Context &context = current_context();
    Context &peer = checked_peer(peerContext);
    require(disable_peer(context, peer), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetP2PAttribute(OUT int *value, CUdevice_P2PAttribute attrib,
                                        CUdevice srcDevice, CUdevice dstDevice) {
    // Recorded: if the output pointer is valid, the devices are checked before the attribute.
    require(value != nullptr);
    device(srcDevice);
    device(dstDevice, "dstDevice");
    if (srcDevice == dstDevice) {
        refuse(CUDA_ERROR_INVALID_DEVICE, "Same source and destination device: %d", srcDevice);
    }
    const int access = can_access_peer(srcDevice, dstDevice) ? 1 : 0;
    switch (static_cast<int>(attrib)) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
        *value = 0;
        break;
    case only_partial_native_atomics: // the simulated device has all or none
        *value = 0;
        break;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
        *value = access;
        break;
    default:
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    return CUDA_SUCCESS;
}

} // namespace sim::driver
