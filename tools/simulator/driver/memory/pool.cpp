// Memory pools: created pools, and the default pool of every device.
#include "engine/pool.hpp"
#include "driver_functions.hpp"
#include "engine/device.hpp"
#include "engine/work.hpp"
#include "memory/virtual_memory.hpp"

#include <new>

namespace sim {
namespace {

// The headers have it since CUDA 12.2.
template <class Properties>
std::size_t max_size_of(const Properties &properties) {
    if constexpr (requires { properties.maxSize; }) {
        return properties.maxSize;
    } else {
        return 0;
    }
}
template <class Properties>
unsigned int usage_of(const Properties &properties) {
    if constexpr (requires { properties.usage; }) {
        return properties.usage;
    } else {
        return 0;
    }
}

bool has_reserved_bytes(const CUmemPoolProps &properties) {
    for (const unsigned char byte : properties.reserved) {
        if (byte != 0) {
            return true;
        }
    }
    return false;
}

// Pools of host memory and of managed memory are not simulated.
void check_properties(const CUmemPoolProps *properties) {
    require(properties != nullptr);
    if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) {
        refuse(CUDA_ERROR_INVALID_VALUE, "poolProps: Invalid allocation type (0x%x)",
               static_cast<unsigned int>(properties->allocType));
    }
    const int where = static_cast<int>(properties->location.type);
    require(where == location::device || where == location::host || where == location::host_numa);
    require(where == location::device, CUDA_ERROR_NOT_SUPPORTED);
    require(properties->win32SecurityAttributes == nullptr && !has_reserved_bytes(*properties));
    if (!is_visible(properties->location)) {
        refuse(CUDA_ERROR_INVALID_VALUE, "poolProps: Invalid location id (%d)",
               properties->location.id);
    }
    require_pools(properties->location.id);
}

// An exportable pool has all its bytes in one file, whose pages are allocated on first use.
std::shared_ptr<Segment> exportable_segment(const PoolState &state) {
    const std::size_t page = platform::map_granularity();
    const std::size_t header = (sizeof(PoolFile) + page - 1) / page * page;
    // Larger than the limit: memory with a pending free still takes up space, and so do guard
    // bytes.
    const std::size_t most = state.max_size != 0 ? state.max_size : device_limit(state.device);
    const std::size_t bytes = header + 3 * ((most + page - 1) / page * page) + vmm_granularity();
    auto segment = std::make_shared<Segment>();
    segment->file = platform::File::create(bytes);
    segment->view = segment->file.valid() ? segment->file.map(0, bytes) : nullptr;
    require(segment->view != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
    segment->size = bytes;
    segment->give_back(header, bytes - header);
    auto *file = new (segment->view) PoolFile;
    file->magic = PoolFile::own_magic;
    file->identity = unique_number();
    file->size = bytes;
    file->device = state.device;
    file->handle_types = state.handle_types;
    return segment;
}

#if CUDA_VERSION >= 13000
// The device of the pools for a location.
int pool_device(const CUmemLocation *where, CUmemAllocationType type) {
    require(where != nullptr);
    require(type == CU_MEM_ALLOCATION_TYPE_PINNED || type == CU_MEM_ALLOCATION_TYPE_MANAGED);
    const int kind = static_cast<int>(where->type);
    const bool none = kind == location::none && type == CU_MEM_ALLOCATION_TYPE_MANAGED;
    require(none || kind == location::device || kind == location::host ||
            kind == location::host_numa);
    require(kind == location::device && type == CU_MEM_ALLOCATION_TYPE_PINNED,
            CUDA_ERROR_NOT_SUPPORTED);
    if (!is_visible(*where)) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Invalid device ordinal specified in location id (%d)",
               where->id);
    }
    require_pools(where->id);
    return where->id;
}
#endif

void set_current_pool(int ordinal, Pool &pool) {
    require(pool.state->device == ordinal && !pool.state->imported);
    device(ordinal).pool = &pool;
}

Pool &pool_to_destroy(CUmemoryPool handle) try { return pool_of(handle); } catch (const Refusal &) {
    if (handle != nullptr) {
        explain("CUmemoryPool handle already marked for destruction");
    }
    throw;
}

} // namespace

namespace driver {

EXPORT CUresult cuDeviceGetDefaultMemPool(OUT CUmemoryPool *pool_out, CUdevice dev) {
    device(dev, "dev");
    require_pools(dev);
    require(pool_out != nullptr);
    *pool_out = &default_pool(dev);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetMemPool(OUT CUmemoryPool *pool, CUdevice dev) {
    require_pools(dev);
    require(pool != nullptr);
    *pool = &current_pool(dev);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
    require_pools(dev);
    set_current_pool(dev, pool_of(pool));
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13000
EXPORT CUresult cuMemGetDefaultMemPool(OUT CUmemoryPool *pool_out, CUmemLocation *location,
                                       CUmemAllocationType type) {
    require(pool_out != nullptr);
    *pool_out = &default_pool(pool_device(location, type));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemGetMemPool(OUT CUmemoryPool *pool, CUmemLocation *location,
                                CUmemAllocationType type) {
    require(pool != nullptr);
    *pool = &current_pool(pool_device(location, type));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type,
                                CUmemoryPool pool) {
    const int ordinal = pool_device(location, type);
    set_current_pool(ordinal, pool_of(pool));
    return CUDA_SUCCESS;
}
#endif

EXPORT CUresult cuMemPoolCreate(OUT CUmemoryPool *pool, const CUmemPoolProps *poolProps) {
    potentially_unsafe_call();
    require(pool != nullptr, "pool cannot be NULL");
    check_properties(poolProps);
    const auto types = static_cast<unsigned int>(poolProps->handleTypes);
    check_handle_types(types);
    require((types & handle_type::win32) == 0, CUDA_ERROR_NOT_SUPPORTED);
    auto state = std::make_shared<PoolState>();
    state->device = poolProps->location.id;
    state->handle_types = types;
    state->usage = usage_of(*poolProps);
    state->max_size = max_size_of(*poolProps);
    require(state->max_size <= ~std::size_t(0) / 4);
    if ((types & handle_type::posix_fd) != 0) {
        state->segment = exportable_segment(*state);
    }
    *pool = Registry::get().make<Pool>(std::move(state));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    potentially_unsafe_call();
    Pool &object = pool_to_destroy(pool);
    require(!object.state->is_default, "Cannot destroy a default mempool");
    Device &owner = device(object.state->device);
    if (owner.pool == &object) {
        owner.pool = nullptr;
    }
    // Its allocations stay valid and keep their memory alive.
    object.state->trim(0);
    Registry::get().destroy(&object);
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
