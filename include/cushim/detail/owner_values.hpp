/* What owners hold: a handle, and what belongs to it. Sizes are in bytes. */
#ifndef CUSHIM_DETAIL_OWNER_VALUES_HPP
#define CUSHIM_DETAIL_OWNER_VALUES_HPP

#include <cstddef>

#include <cushim/detail/cpp20.hpp>
#include <cushim/detail/driver_headers.h>

namespace cushim::detail {

struct KernelHandle {
    CUfunction native = nullptr; // or a CUkernel, cast
    CUcontext context = nullptr; // of its module; null: unknown, or a library's kernel
    bool of_library = false;
};

struct Physical {
    CUmemGenericAllocationHandle native = 0;
    std::size_t size = 0;
    std::size_t granularity = 0; // 0: unknown
};

struct Addresses {
    CUdeviceptr native = 0;
    std::size_t size = 0;
};

struct Mapped {
    CUdeviceptr native = 0;
    std::size_t size = 0;
    std::size_t offset = 0; // in the range
};

struct ExternalMemoryValue {
    CUexternalMemory native = nullptr;
    CUcontext context = nullptr;
    std::size_t size = 0; // bytes
};

struct ExternalBufferValue {
    CUdeviceptr native = 0;
    std::size_t size = 0; // bytes
};

struct ExternalArrayValue {
    CUmipmappedArray native = nullptr;
    CUcontext context = nullptr;
    unsigned int levels = 0;
};

struct SemaphoreValue {
    CUexternalSemaphore native = nullptr;
    CUcontext context = nullptr;
};

struct OpenedMemory {
    CUdeviceptr native = 0;
    std::size_t size = 0;
};

} // namespace cushim::detail

#endif
