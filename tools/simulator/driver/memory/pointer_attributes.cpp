// Pointer attributes.
#include "base/platform.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/graph_memory.hpp"
#include "engine/memory.hpp"
#include "engine/pool.hpp"
#include "engine/work.hpp"
#include "memory/ipc_memory.hpp"
#include "memory/kernel_memory.hpp"
#include "memory/virtual_memory.hpp"

#include <cstring>

namespace sim {
namespace {

constexpr std::size_t big_page = std::size_t(2) << 20;
constexpr int newest_attribute = 21;
// Numbers of attributes that old headers lack.
constexpr int mapping_size = 18, mapping_base = 19, memory_block = 20, can_decompress = 21;

template <class T>
void write(void *data, const T &value) {
    std::memcpy(data, &value, sizeof value);
}

// The range of an address; null if CUDA does not know it.
Range *known(CUdeviceptr address) {
    Range *range = AddressSpace::get().find(static_cast<std::uintptr_t>(address));
    if (range == nullptr || range->memory == Memory::array) {
        return nullptr;
    }
    if (const auto graph = find_allocation(range->base); graph && !graph->outstanding()) {
        return nullptr;
    }
    return range->memory == Memory::mapped && mapping_at(address) == nullptr ? nullptr : range;
}

// Whether the memory comes from a reservation of a pool or of the graphs of a device.
bool is_reserved(const Range &range) {
    return range.memory == Memory::pool || is_graph_memory(range.base);
}

bool is_on_device(const Range &range) {
    return !range.on_host() || range.managed;
}

CUmemoryPool pool_handle(const Range &range) {
    return range.memory == Memory::pool ? pool_allocation(range).pool->handle : nullptr;
}

std::size_t mapped_bytes(const Range &range, CUdeviceptr address) {
    if (range.memory == Memory::mapped) {
        return mapping_at(address)->size;
    }
    const std::size_t step = range.memory == Memory::registered ? platform::page_size()
                             : is_reserved(range)               ? pool_reserve_step
                                                                : big_page;
    return (range.size + step - 1) / step * step;
}

unsigned long long handle_types(const Range &range, CUdeviceptr address) {
    if (range.memory == Memory::mapped) {
        const Mapping *mapping = mapping_at(address);
        return mapping->memory.multicast() ? 0 : mapping->memory.properties.requestedHandleTypes;
    }
    return range.memory == Memory::pool ? pool_allocation(range).pool->handle_types : 0;
}

CUresult host_pointer(void *data, const Range &range, CUdeviceptr address) {
    write(data, range.on_host() ? address : CUdeviceptr(0));
    return range.on_host() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// A client that queries tokens passes the memory to another device. Recorded: the driver
// synchronizes operations on the memory afterwards.
CUresult p2p_tokens(void *data, Range &range) {
    write(data, CUDA_POINTER_ATTRIBUTE_P2P_TOKENS{});
    if (!is_on_device(range)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    range.sync_memops = true;
    return CUDA_SUCCESS;
}

// The one attribute that depends on the current context.
CUresult device_pointer(void *data, const Range &range, CUdeviceptr address) {
    const bool current = current_or_null() != nullptr;
    const Context *context = living_current();
    const bool reached = current && (context == nullptr || in_reach(*context, range));
    write(data, reached ? address : CUdeviceptr(0));
    return reached ? CUDA_SUCCESS : current ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
}

// For memory of another process, the device it was opened for.
int device_ordinal(const Range &range, CUdeviceptr address) {
    return range.memory == Memory::mapped ? mapping_at(address)->memory.device()
           : range.memory == Memory::ipc  ? range.context->device
                                          : range.device;
}

CUdeviceptr mapping_start(const Range &range, CUdeviceptr address) {
    const std::size_t offset = range.memory == Memory::mapped ? mapping_at(address)->offset : 0;
    return range.base + offset;
}

CUresult return_attribute(void *data, int attribute, CUdeviceptr address, Range &range) {
    const bool plain = range.memory == Memory::device && !is_reserved(range);
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        write(data, range.context);
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        write(data, static_cast<unsigned int>(is_on_device(range) ? CU_MEMORYTYPE_DEVICE
                                                                  : CU_MEMORYTYPE_HOST));
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return device_pointer(data, range, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return host_pointer(data, range, address);
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        return p2p_tokens(data, range);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        write(data, static_cast<unsigned int>(range.sync_memops));
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case memory_block:
        write(data, range.id);
        break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        write(data, static_cast<unsigned int>(range.managed));
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        write(data, device_ordinal(range, address));
        break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        write(data, static_cast<unsigned int>(can_export_ipc(range) && !is_reserved(range)));
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: // of the whole reservation, if it is one
        write(data, static_cast<CUdeviceptr>(range.base));
        break;
    case mapping_base:
        write(data, mapping_start(range, address));
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        write(data, range.size);
        break;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        write(data, 1U);
        break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        write(data, handle_types(range, address));
        break;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case can_decompress:
        write(data, static_cast<unsigned int>(plain));
        break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        write(data, range.read_only ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ
                                    : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
        break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        write(data, pool_handle(range));
        break;
    case mapping_size:
        write(data, mapped_bytes(range, address));
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

bool is_attribute(int attribute) {
    return attribute >= CU_POINTER_ATTRIBUTE_CONTEXT && attribute <= newest_attribute;
}

// Bytes of an attribute's value.
std::size_t size_of(int attribute) {
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case mapping_size:
    case mapping_base:
    case memory_block:
        return 8;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        return sizeof(CUDA_POINTER_ATTRIBUTE_P2P_TOKENS);
    default:
        return 4;
    }
}

// The call for several attributes succeeds for an unknown address and returns these values.
void return_unknown(void *data, int attribute, CUdeviceptr address) {
    std::memset(data, 0, size_of(attribute));
    if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER) {
        write(data, address);
    } else if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
        write(data, CU_DEVICE_INVALID);
    }
}

} // namespace
} // namespace sim

namespace sim::driver {

EXPORT CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr) {
    Range *range = known(ptr);
    require(data != nullptr && is_attribute(attribute) && range != nullptr);
    return return_attribute(data, attribute, ptr, *range);
}

EXPORT CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                       void **data, CUdeviceptr ptr) {
    require(numAttributes != 0 && attributes != nullptr && data != nullptr);
    for (unsigned int i = 0; i < numAttributes; ++i) {
        require(is_attribute(attributes[i]) && data[i] != nullptr);
    }
    Range *range = known(ptr);
    for (unsigned int i = 0; i < numAttributes; ++i) {
        if (range == nullptr) {
            return_unknown(data[i], attributes[i], ptr);
        } else {
            return_attribute(data[i], attributes[i], ptr, *range);
        }
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                                      CUdeviceptr ptr) {
    Range *range = known(ptr);
    require(value != nullptr && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && range != nullptr);
    unsigned int wanted = 0;
    std::memcpy(&wanted, value, sizeof wanted);
    range->sync_memops = wanted != 0;
    return CUDA_SUCCESS;
}

} // namespace sim::driver
