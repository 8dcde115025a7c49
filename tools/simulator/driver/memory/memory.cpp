// Device memory: allocation, sizes, addresses.
#include "engine/memory.hpp"
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/graph.hpp"
#include "engine/graph_memory.hpp"
#include "engine/pool.hpp"
#include "engine/work.hpp"
#include "memory/kernel_memory.hpp"
#include "memory/stream_ordered.hpp"
#include "memory/virtual_memory.hpp"

#include <algorithm>
#include <string>

namespace sim {
namespace {

constexpr std::size_t pitch_step = 512; // bytes

// Kinds of memory that cuMemFree frees: those allocated by one call.
bool is_freed_by_address(const Range &range) {
    return range.memory == Memory::device || range.memory == Memory::managed ||
           range.memory == Memory::pool || range.memory == Memory::external;
}

// The range that begins at the address. Fails for everything else and reports what is there.
Range &freed_range(std::uintptr_t address) {
    AddressSpace &space = AddressSpace::get();
    Range *range = space.find(address);
    if (range == nullptr) {
        // A destroyed context has freed its memory, so the status is sufficient.
        require(!current_has_ended(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        space.report_freed(address, "cuMemFree");
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    if (range->base != address) {
        misuse("cuMemFree of an address inside " + range->describe());
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    if (range->ended_by != nullptr) {
        misuse("cuMemFree of memory that was freed: " + range->describe() + ", freed by " +
               range->ended_by + " in call " + std::to_string(range->ended_in));
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    if (!is_freed_by_address(*range)) {
        misuse("cuMemFree of " + range->describe());
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    return *range;
}

} // namespace
} // namespace sim

namespace sim::driver {

EXPORT CUresult cuMemGetInfo_v2(OUT size_t *free, OUT size_t *total) {
    const Device &device = sim::device(current_context().device);
    const std::size_t memory = device_memory(device.ordinal);
    const std::size_t limit = std::min(device_limit(device.ordinal), memory);
    if (free != nullptr) {
        *free = limit - std::min(limit, device.used);
    }
    if (total != nullptr) {
        *total = memory;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAlloc_v2(OUT CUdeviceptr *dptr, size_t bytesize) {
    Context &context = current_context();
    require(dptr != nullptr, "NULL return value pointer");
    require(bytesize != 0, "Requested 0 byte allocation");
    *dptr = static_cast<CUdeviceptr>(
        allocate(Memory::device, context.device, bytesize, &context, false).base);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAllocPitch_v2(OUT CUdeviceptr *dptr, OUT size_t *pPitch, size_t WidthInBytes,
                                   size_t Height, unsigned int ElementSizeBytes) {
    Context &context = current_context();
    require(dptr != nullptr && pPitch != nullptr);
    require(WidthInBytes != 0, "Parameter WidthInBytes cannot be 0");
    require(Height != 0, "Parameter Height cannot be 0");
    require(ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16,
            "Parameter ElementSizeBytes is invalid");
    std::size_t pitch = 0, bytes = 0;
    require(!__builtin_add_overflow(WidthInBytes, pitch_step - 1, &pitch));
    pitch = pitch / pitch_step * pitch_step;
    require(!__builtin_mul_overflow(pitch, Height, &bytes), CUDA_ERROR_OUT_OF_MEMORY);
    *dptr = static_cast<CUdeviceptr>(
        allocate(Memory::device, context.device, bytes, &context, false).base);
    *pPitch = pitch;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr dptr) {
    if (dptr == 0) {
        return CUDA_SUCCESS;
    }
    if (is_graph_memory(dptr)) {
        graph_memory_free(dptr);
        return CUDA_SUCCESS;
    }
    const auto address = static_cast<std::uintptr_t>(dptr);
    freed_range(address);
    wait_until_unused(address); // releases the lock
    Range &range = freed_range(address);
    const CUresult failed = fault_of(range.context);
    if (range.memory == Memory::pool) {
        free_pool_memory(range);
    } else {
        AddressSpace::get().remove(range);
    }
    return failed;
}

EXPORT CUresult cuMemGetAddressRange_v2(OUT CUdeviceptr *pbase, OUT size_t *psize,
                                        CUdeviceptr dptr) {
    const Context &context = current_context();
    if (pbase == nullptr && psize == nullptr) {
        return CUDA_SUCCESS; // recorded for every address
    }
    const Range *range = AddressSpace::get().find(static_cast<std::uintptr_t>(dptr));
    require(range != nullptr && range->memory != Memory::array, CUDA_ERROR_NOT_FOUND);
    require(in_reach(context, *range), CUDA_ERROR_NOT_FOUND);
    std::uintptr_t base = range->base;
    std::size_t size = range->size;
    if (range->memory == Memory::mapped) {
        const Mapping *mapping = mapping_at(dptr);
        require(mapping != nullptr && mapping->accessible(), CUDA_ERROR_NOT_FOUND);
        base += mapping->offset;
        size = mapping->size;
    }
    if (pbase != nullptr) {
        *pbase = static_cast<CUdeviceptr>(base);
    }
    if (psize != nullptr) {
        *psize = size;
    }
    return CUDA_SUCCESS;
}

} // namespace sim::driver
