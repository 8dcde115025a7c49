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

// Recorded: limits of memory that is not on a device are not checked, and managed pools have none.
void check_limits(const PoolPlace &place, const CUmemPoolProps &properties) {
    require(!place.is_managed() || (max_size_of(properties) == 0 && usage_of(properties) == 0));
    require(!place.on_device() || max_size_of(properties) <= ~std::size_t(0) / 4,
            CUDA_ERROR_OUT_OF_MEMORY);
}

// An exportable pool has all its bytes in one file, whose pages are allocated on first use.
std::shared_ptr<Segment> exportable_segment(const PoolState &state) {
    const std::size_t page = platform::map_granularity();
    const std::size_t header = (sizeof(PoolFile) + page - 1) / page * page;
    // Larger than the limit: memory with a pending free still takes up space, and so do guard
    // bytes.
    const std::size_t most = state.max_size != 0       ? state.max_size
                             : state.place.on_device() ? device_limit(state.place.id)
                                                       : platform::host_memory();
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
    file->place = state.place;
    file->handle_types = state.handle_types;
    return segment;
}

#if CUDA_VERSION >= 13000
PoolPlace checked_place(const CUmemLocation *where, CUmemAllocationType type) {
    require(where != nullptr);
    const int kind = static_cast<int>(where->type);
    require(kind >= location::none && kind <= location::host_numa, CUDA_ERROR_NOT_SUPPORTED);
    require(is_allocation_type(type));
    return sim::checked_place(*where, type, "Invalid device ordinal specified in location id (%d)");
}
#endif

PoolPlace place_on(CUdevice device) {
    require(device >= 0 && device < device_count());
    require_pools(device);
    return {.id = device};
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
    const PoolPlace place = place_on(dev);
    require(pool_out != nullptr);
    *pool_out = &default_pool(place);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetMemPool(OUT CUmemoryPool *pool, CUdevice dev) {
    const PoolPlace place = place_on(dev);
    require(pool != nullptr);
    *pool = &current_pool(place);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
    const int ordinal = place_on(dev).id;
    Pool &object = pool_of(pool);
    const PoolPlace &place = object.state->place;
    // Recorded: a managed pool of the device is set among the managed ones.
    require(place.where == location::device && place.id == ordinal && !object.state->imported);
    set_current_pool(object);
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13000
EXPORT CUresult cuMemGetDefaultMemPool(OUT CUmemoryPool *pool_out, CUmemLocation *location,
                                       CUmemAllocationType type) {
    require(pool_out != nullptr);
    *pool_out = &default_pool(checked_place(location, type));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemGetMemPool(OUT CUmemoryPool *pool, CUmemLocation *location,
                                CUmemAllocationType type) {
    require(pool != nullptr);
    *pool = &current_pool(checked_place(location, type));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type,
                                CUmemoryPool pool) {
    Pool &object = pool_of(pool);
    require(checked_place(location, type) == object.state->place && !object.state->imported);
    set_current_pool(object);
    return CUDA_SUCCESS;
}
#endif

EXPORT CUresult cuMemPoolCreate(OUT CUmemoryPool *pool, const CUmemPoolProps *poolProps) {
    require(pool != nullptr, "pool cannot be NULL");
    require(poolProps != nullptr);
    const PoolPlace place = checked_place(*poolProps);
    require(poolProps->win32SecurityAttributes == nullptr && !has_reserved_bytes(*poolProps));
    check_limits(place, *poolProps);
    const auto types = static_cast<unsigned int>(poolProps->handleTypes);
    check_handle_types(types);
    require((types & handle_type::win32) == 0, CUDA_ERROR_NOT_SUPPORTED);
    auto state = std::make_shared<PoolState>();
    state->place = place;
    state->handle_types = types;
    state->usage = usage_of(*poolProps);
    state->max_size = max_size_of(*poolProps);
    if ((types & handle_type::posix_fd) != 0) {
        state->segment = exportable_segment(*state);
    }
    *pool = Registry::get().make<Pool>(std::move(state));
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    Pool &object = pool_to_destroy(pool);
    require(!object.state->is_default, "Cannot destroy a default mempool");
    // Its allocations stay valid and keep their memory alive.
    object.state->trim(0);
    Registry::get().destroy(&object);
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
