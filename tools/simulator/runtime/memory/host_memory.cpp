// Pinned and registered host memory.
#include "runtime/base/driver_api.hpp"

namespace sim::runtime {

cudaError_t cudaMallocHost(void **ptr, size_t size) {
    return CU(cuMemAllocHost_v2)(ptr, size);
}

cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags) {
    if (size == 0) {
        flags = 0; // recorded: for 0 bytes, the flags are not checked
    }
    return CU(cuMemHostAlloc)(pHost, size, flags);
}

cudaError_t cudaFreeHost(void *ptr) {
    need_context();
    return ptr ? CU(cuMemFreeHost)(ptr) : cudaSuccess;
}

cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags) {
    return CU(cuMemHostRegister_v2)(ptr, size, flags);
}

cudaError_t cudaHostUnregister(void *ptr) {
    return CU(cuMemHostUnregister)(ptr);
}

cudaError_t cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags) {
    return CU(cuMemHostGetDevicePointer_v2)(address_out(pDevice), pHost, flags);
}

cudaError_t cudaHostGetFlags(unsigned int *pFlags, void *pHost) {
    return CU(cuMemHostGetFlags)(pFlags, pHost);
}

} // namespace sim::runtime
