// Memory pools: attributes, trimming, access of other devices.
#include "call/settings.hpp"
#include "driver_functions.hpp"
#include "engine/device.hpp"
#include "engine/pool.hpp"
#include "engine/work.hpp"
#include "memory/virtual_memory.hpp"

namespace sim {
namespace {

// Since CUDA 13.1.
enum NewAttribute : int {
    allocation_type = 9,
    export_handle_types = 10,
    location_id = 11,
    location_type = 12,
    max_pool_size = 13,
    hardware_decompression = 14,
};

void write_int(void *value, int number) {
    *static_cast<int *>(value) = number;
}
void write_long(void *value, std::uint64_t number) {
    *static_cast<cuuint64_t *>(value) = number;
}

void get_new_attribute(const PoolState &pool, int attribute, void *value) {
    require(driver_version() >= 13010);
    switch (attribute) {
    case allocation_type:
        return write_int(value, pool.place.type);
    case export_handle_types:
        return write_int(value, pool.imported ? 0 : static_cast<int>(pool.handle_types));
    case location_id:
        return write_int(value, pool.place.id);
    case location_type:
        return write_int(value, pool.place.where);
    case max_pool_size:
        return write_long(value, pool.max_size);
    case hardware_decompression:
        return write_int(value, (pool.usage & 2) != 0);
    default:
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
}

void get_attribute(const PoolState &pool, CUmemPool_attribute attribute, void *value) {
    switch (static_cast<int>(attribute)) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        return write_int(value, pool.follow_events);
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        return write_int(value, pool.opportunistic);
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        return write_int(value, pool.internal_dependencies);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        return write_long(value, pool.release_threshold);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        return write_long(value, pool.reserved);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        return write_long(value, pool.reserved_high);
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        return write_long(value, pool.used);
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return write_long(value, pool.used_high);
    default:
        return get_new_attribute(pool, attribute, value);
    }
}

void set_attribute(PoolState &pool, CUmemPool_attribute attribute, const void *value) {
    const auto number = [value] { return *static_cast<const int *>(value) != 0 ? 1 : 0; };
    const auto bytes = [value] { return *static_cast<const cuuint64_t *>(value); };
    switch (static_cast<int>(attribute)) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        pool.follow_events = number();
        return;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        pool.opportunistic = number();
        return;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        pool.internal_dependencies = number();
        return;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        pool.release_threshold = bytes();
        pool.note_unused();
        return;
    // A high-water mark can only be reset to zero, and then immediately rises to the current value.
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        require(bytes() == 0);
        pool.reserved_high = pool.reserved;
        return;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        require(bytes() == 0);
        pool.used_high = pool.used;
        return;
    default:
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
}

// Locations that have access or none.
bool is_accessor(int where) {
    return where == location::device || where == location::host || where == location::host_numa;
}

// The key of a location in PoolState::access. The host has one, whatever the id is.
std::pair<int, int> accessor_of(const CUmemLocation &where) {
    const int type = static_cast<int>(where.type);
    return {type, type == location::host ? 0 : where.id};
}

void check_grant(const PoolState &pool, const CUmemAccessDesc &grant) {
    const int where = static_cast<int>(grant.location.type);
    const bool none = grant.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE;
    require(where == location::device || !pool.place.on_device(), CUDA_ERROR_NOT_SUPPORTED);
    if (where == location::device) {
        device(grant.location.id); // another status than that of cuMemPoolGetAccess, as recorded
    }
    require(grant.flags != CU_MEM_ACCESS_FLAGS_PROT_READ, CUDA_ERROR_NOT_SUPPORTED,
            "Mempools do not support Read-Only flag");
    require(none || grant.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    require(is_accessor(where));
    if (where != location::device) { // the host cannot lose access to its own memory
        require(!none || pool.place.is_managed(), CUDA_ERROR_NOT_SUPPORTED);
        return;
    }
    const int who = grant.location.id;
    // The pool's own device cannot lose access.
    const bool own = pool.place.on_device() && who == pool.place.id;
    const bool possible =
        own ? !none : !pool.place.on_device() || can_access_peer(who, pool.place.id);
    require(possible, CUDA_ERROR_INVALID_DEVICE,
            own ? "Modifying accessibility of memory pool on owning device is not supported" : "");
}

} // namespace

namespace driver {

EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value) {
    const Pool &object = pool_of(pool);
    require(value != nullptr);
    get_attribute(*object.state, attr, value);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value) {
    const Pool &object = pool_of(pool);
    require(value != nullptr);
    require(!object.state->imported, "Set Attribute operation is only supported with pools created "
                                     "with the memory pool creation API");
    set_attribute(*object.state, attr, value);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep) {
    require(pool != nullptr, "Parameter pool cannot be NULL");
    pool_of(pool).state->trim(minBytesToKeep);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count) {
    PoolState &state = *pool_of(pool).state;
    require(map != nullptr);
    for (std::size_t i = 0; i != count; ++i) {
        check_grant(state, map[i]);
    }
    for (std::size_t i = 0; i != count; ++i) {
        state.access[accessor_of(map[i].location)] = map[i].flags;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemPoolGetAccess(OUT CUmemAccess_flags *flags, CUmemoryPool memPool,
                                   CUmemLocation *location) {
    const PoolState &state = *pool_of(memPool).state;
    require(flags != nullptr && location != nullptr);
    const auto [type, id] = accessor_of(*location);
    require(is_accessor(type));
    if (type == location::device && !is_visible(*location)) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Specified invalid device ordinal(%d) in location->id",
               location->id);
    }
    *flags = state.access_of(type, id);
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
