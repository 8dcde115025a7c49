// Pointer attributes.
#include "runtime/base/driver_api.hpp"

namespace sim::runtime {
namespace {

constexpr int no_device = -2;

template <class T>
bool query(T &value, CUpointer_attribute attribute, const void *pointer) {
    return CU(cuPointerGetAttribute)(&value, attribute, address(pointer)) == cudaSuccess;
}

cudaMemoryType type_of(const void *pointer) {
    CUmemorytype type{};
    if (!query(type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer)) {
        return cudaMemoryTypeUnregistered;
    }
    unsigned int managed = 0;
    if (query(managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer) && managed != 0) {
        return cudaMemoryTypeManaged;
    }
    return type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
}

} // namespace

// Memory that CUDA does not know is not an error: its type is unregistered.
EXPORT cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *ptr) {
    require(attributes != nullptr);
    need_context();
    cudaPointerAttributes found{};
    found.type = type_of(ptr);
    found.device = no_device;
    if (found.type == cudaMemoryTypeUnregistered) {
        found.hostPointer = const_cast<void *>(ptr);
        *attributes = found;
        return cudaSuccess;
    }
    (void)query(found.device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, ptr);
    CUdeviceptr device_address = 0;
    if (query(device_address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, ptr)) {
        found.devicePointer = pointer(device_address);
    }
    void *host = nullptr;
    if (found.type != cudaMemoryTypeDevice && query(host, CU_POINTER_ATTRIBUTE_HOST_POINTER, ptr)) {
        found.hostPointer = host;
    }
    *attributes = found;
    return cudaSuccess;
}

} // namespace sim::runtime
