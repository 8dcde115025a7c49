// Peer access between devices.
#include "runtime/base/driver_api.hpp"

namespace sim::runtime {

cudaError_t cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice) {
    return CU_ANY(cuDeviceCanAccessPeer)(canAccessPeer, checked_device(device),
                                         checked_device(peerDevice));
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags) {
    // Recorded: a device is not its own peer; the driver returns that status.
    return CU(cuCtxEnablePeerAccess)(primary_context(checked_device(peerDevice)), flags);
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice) {
    checked_device(peerDevice);
    return CU(cuCtxDisablePeerAccess)(primary_context(peerDevice));
}

} // namespace sim::runtime
