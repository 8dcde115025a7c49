#include "engine/pool.hpp"
#include "base/immortal.hpp"
#include "call/misuse.hpp"
#include "call/settings.hpp"
#include "engine/device.hpp"

#include <algorithm>

namespace sim {
namespace {

std::size_t round_up(std::size_t value, std::size_t step) {
    return (value + step - 1) / step * step;
}

// Takes `wanted` bytes of a device, or as many as it has; fails if it has less than `needed`.
std::size_t grow(Device &device, std::size_t wanted, std::size_t needed) {
    const std::size_t limit = device_limit(device.ordinal);
    const std::size_t left = limit > device.used ? limit - device.used : 0;
    require(needed <= left, CUDA_ERROR_OUT_OF_MEMORY);
    const std::size_t taken = std::min(wanted, left);
    device.used += taken;
    return taken;
}

void give_back(const PoolState &pool, std::size_t bytes) noexcept {
    if (pool.place.on_device() && pool.place.id < device_count()) {
        std::size_t &total = sim::device(pool.place.id).used;
        total -= std::min(total, bytes);
    }
}

// Pools with a handle that may reserve unused memory. Every synchronizing call walks them.
using UnusedPools = LinkedList<PoolState, &PoolState::in_unused>;

UnusedPools &unused_pools() {
    static Immortal<UnusedPools> all;
    return *all;
}

// Device attributes that old headers lack.
constexpr int host_numa_memory_pools = 142, host_memory_pools = 144;

// Default pools, and those that the client made current, by place.
using PoolOfPlace = std::map<PoolPlace, Pool *>;
PoolOfPlace &defaults() {
    static Immortal<PoolOfPlace> all;
    return *all;
}
PoolOfPlace &selected() {
    static Immortal<PoolOfPlace> all;
    return *all;
}

} // namespace

PoolState::~PoolState() {
    give_back(*this, reserved);
}

void PoolState::take(std::size_t bytes) {
    const std::size_t limit = max_size != 0 ? max_size : ~std::size_t(0) / 2;
    require(bytes <= limit && used <= limit - bytes, CUDA_ERROR_OUT_OF_MEMORY);
    require(place.on_device() || bytes <= platform::host_memory(), CUDA_ERROR_OUT_OF_MEMORY);
    if (used + bytes > reserved) {
        const std::size_t needed = used + bytes - reserved;
        const std::size_t grown = std::min(round_up(used + bytes, pool_reserve_step), limit);
        reserved += place.on_device() ? grow(sim::device(place.id), grown - reserved, needed)
                                      : grown - reserved;
        reserved_high = std::max(reserved_high, reserved);
    }
    used += bytes;
    used_high = std::max(used_high, used);
}

void PoolState::note_unused() noexcept {
    if (handle != nullptr && !UnusedPools::contains(*this)) {
        unused_pools().add(*this);
    }
}

void PoolState::trim(std::size_t keep) noexcept {
    const std::size_t needed = round_up(used + ending, pool_reserve_step);
    const std::size_t target = std::max(keep, needed);
    if (reserved > target) {
        give_back(*this, reserved - target);
        reserved = target;
    }
}

CUmemAccess_flags PoolState::access_of(int type, int id) const noexcept {
    const auto found = access.find({type, id});
    if (found != access.end()) {
        return found->second;
    }
    const bool of_device = type == location::device;
    const bool own =
        !place.is_managed() && (place.on_device() ? of_device && id == place.id : !of_device);
    return own ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

bool PoolState::allows(int device, bool write) const noexcept {
    return place.is_managed() || (access_of(location::device, device) & (write ? 2 : 1)) != 0;
}

PoolFile *PoolState::file() const noexcept {
    return segment != nullptr ? reinterpret_cast<PoolFile *>(segment->view) : nullptr;
}

PoolAllocation::~PoolAllocation() {
    (ending ? pool->ending : pool->used) -= bytes;
    pool->note_unused();
    PoolFile *file = pool->file();
    if (identity == 0 || file == nullptr) {
        return;
    }
    PoolFile::Slot &shared = file->slots[slot];
    if (pool->imported) {
        shared.imports.fetch_sub(1);
        return;
    }
    shared.identity.store(0);
    if (const std::uint32_t others = shared.imports.load()) {
        misuse("pool memory was freed while it is imported " + std::to_string(others) +
               (others == 1 ? " time" : " times") + " in other processes: they must free it first");
    }
}

Pool &pool_of(CUmemoryPool handle) {
    return checked(handle, CUDA_ERROR_INVALID_VALUE);
}

// Managed pools are new in CUDA 13.0.
bool is_allocation_type(int type) {
    return type == PoolPlace::pinned || (type == PoolPlace::managed && driver_version() >= 13000);
}

void require_pools(CUdevice ordinal) {
    device(ordinal);
    require(device_has(ordinal, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED),
            CUDA_ERROR_NOT_SUPPORTED);
}

PoolPlace checked_place(const CUmemLocation &where, int type, const char *unknown_id) {
    const bool managed = type == PoolPlace::managed;
    const int kind = static_cast<int>(where.type);
    switch (kind) {
    case location::none:
    case location::host_numa_current:
        require(managed);
        return {type, kind, 0};
    case location::host:
        require(managed || device_has(0, host_memory_pools), CUDA_ERROR_NOT_SUPPORTED);
        return {type, kind, 0};
    case location::host_numa:
        require(managed || device_has(0, host_numa_memory_pools), CUDA_ERROR_NOT_SUPPORTED);
        require(where.id == 0); // the only node of the simulated machine
        return {type, kind, 0};
    case location::device:
        if (!is_visible(where)) {
            refuse(CUDA_ERROR_INVALID_VALUE, unknown_id, where.id);
        }
        require_pools(where.id);
        return {type, kind, where.id};
    default:
        refuse(managed ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE);
    }
}

PoolPlace checked_place(const CUmemPoolProps &properties) {
    const int type = static_cast<int>(properties.allocType);
    if (!is_allocation_type(type)) {
        refuse(CUDA_ERROR_INVALID_VALUE, "poolProps: Invalid allocation type (0x%x)",
               static_cast<unsigned int>(type));
    }
    // Only memory of a device, or of a node of the host, is shared with other processes.
    const int kind = static_cast<int>(properties.location.type);
    const bool shared = static_cast<unsigned int>(properties.handleTypes) != 0;
    require(!shared || (type == PoolPlace::pinned && kind != location::host));
    return checked_place(properties.location, type, "poolProps: Invalid location id (%d)");
}

bool is_host_pool(const Range &range) noexcept {
    return range.memory == Memory::pool && range.on_host() && !range.managed;
}

Pool &default_pool(const PoolPlace &place) {
    Pool *&pool = defaults()[place];
    if (pool == nullptr) {
        auto state = std::make_shared<PoolState>();
        state->place = place;
        state->is_default = true;
        pool = Registry::get().make<Pool>(std::move(state));
    }
    return *pool;
}

Pool &current_pool(const PoolPlace &place) {
    const auto set = selected().find(place);
    return set != selected().end() ? *set->second : default_pool(place);
}

void set_current_pool(Pool &pool) {
    selected()[pool.state->place] = &pool;
}

PoolAllocation &pool_allocation(const Range &range) noexcept {
    return *static_cast<PoolAllocation *>(range.owner.get());
}

void release_unused_pool_memory() noexcept {
    while (PoolState *pool = unused_pools().first()) {
        UnusedPools::remove(*pool);
        pool->trim(static_cast<std::size_t>(pool->release_threshold));
    }
}

} // namespace sim

CUmemPoolHandle_st::CUmemPoolHandle_st(std::shared_ptr<sim::PoolState> of)
    : Object(own_kind), state(std::move(of)) {
    state->handle = this;
    counted = !state->is_default;
}

CUmemPoolHandle_st::~CUmemPoolHandle_st() {
    sim::UnusedPools::remove(*state);
    for (sim::PoolOfPlace *of : {&sim::defaults(), &sim::selected()}) {
        std::erase_if(*of, [this](const auto &entry) { return entry.second == this; });
    }
    state->handle = nullptr;
}
