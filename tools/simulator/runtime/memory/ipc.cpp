// Memory and events that processes share.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

namespace sim::runtime {

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event) {
    return CU(cuIpcGetEventHandle)(same_memory<CUipcEventHandle>(handle), event);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle) {
    return CU(cuIpcOpenEventHandle)(event, same_struct<CUipcEventHandle>(handle));
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr) {
    return CU(cuIpcGetMemHandle)(same_memory<CUipcMemHandle>(handle), address(devPtr));
}

cudaError_t cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags) {
    return CU(cuIpcOpenMemHandle_v2)(address_out(devPtr), same_struct<CUipcMemHandle>(handle),
                                     flags);
}

cudaError_t cudaIpcCloseMemHandle(void *devPtr) {
    return CU(cuIpcCloseMemHandle)(address(devPtr));
}

} // namespace sim::runtime
