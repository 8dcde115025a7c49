// Device memory for other drivers: cuMemGetHandleForAddressRange returns real descriptors of the
// range's size but not of its bytes, since no device can access simulated memory by DMA. Flushing
// writes therefore does nothing.
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/open_calls.hpp"
#include "memory/virtual_memory.hpp"

#include <cstring>

namespace sim {
namespace {

constexpr int dma_buf_supported = 124;
constexpr unsigned long long by_pcie = 1; // CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE

// The device that holds the whole range.
int device_of_range(CUdeviceptr address, std::size_t size) {
    Range *range = AddressSpace::get().find(address);
    require(range != nullptr && size <= range->size - (address - range->base));
    if (range->memory == Memory::device) {
        return range->device;
    }
    require(!range->on_host(), CUDA_ERROR_NOT_SUPPORTED);
    require(range->memory == Memory::mapped);
    const Mapping *first = mapping_at(address);
    for (const CUdeviceptr end = address + size; address < end;) {
        const Mapping *mapping = mapping_at(address);
        require(mapping != nullptr && !mapping->memory.multicast());
        require(mapping->memory.device() == first->memory.device());
        address = range->base + mapping->offset + mapping->size;
    }
    require(first->memory.device() != Mapping::host_access, CUDA_ERROR_NOT_SUPPORTED);
    return first->memory.device();
}

} // namespace

namespace driver {

EXPORT CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr dptr, size_t size,
                                              CUmemRangeHandleType handleType,
                                              unsigned long long flags) {
    current_context();
    const std::size_t page = platform::page_size();
    require(handle != nullptr && handleType == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
    require(flags == 0 || (flags & by_pcie) != 0);
    require(size != 0 && dptr % page == 0 && size % page == 0);
    require(device_has(device_of_range(dptr, size), dma_buf_supported), CUDA_ERROR_NOT_SUPPORTED);
    require((flags & by_pcie) == 0, CUDA_ERROR_NOT_SUPPORTED);
#ifdef _WIN32
    return CUDA_ERROR_NOT_SUPPORTED;
#else
    platform::File file = platform::File::create(size);
    require(file.valid(), CUDA_ERROR_OUT_OF_MEMORY);
    const int descriptor = static_cast<int>(file.release());
    note_export(descriptor);
    std::memcpy(handle, &descriptor, sizeof descriptor);
    return CUDA_SUCCESS;
#endif
}

EXPORT CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                           CUflushGPUDirectRDMAWritesScope scope) {
    const Context &context = current_context();
    require(target == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX &&
            (scope == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER ||
             scope == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES));
    const int options =
        device_attribute(context.device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);
    require((options & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) != 0, CUDA_ERROR_NOT_SUPPORTED);
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
