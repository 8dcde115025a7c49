#include "engine/pool.hpp"
#include "base/immortal.hpp"
#include "call/misuse.hpp"
#include "engine/device.hpp"

#include <algorithm>

namespace sim {
namespace {

std::size_t round_up(std::size_t value, std::size_t step) {
    return (value + step - 1) / step * step;
}

// How much a pool may grow: `wanted`, but not beyond its limit; 0 if even `needed` does not fit.
std::size_t room(const Device &device, std::size_t wanted, std::size_t needed) {
    const std::size_t limit = device_limit(device.ordinal);
    const std::size_t left = limit > device.used ? limit - device.used : 0;
    return needed > left ? 0 : std::min(wanted, left);
}

// Pools with a handle that may reserve unused memory. Every synchronizing call walks them.
using UnusedPools = LinkedList<PoolState, &PoolState::in_unused>;

UnusedPools &unused_pools() {
    static Immortal<UnusedPools> all;
    return *all;
}

} // namespace

PoolState::~PoolState() {
    if (device < device_count()) {
        std::size_t &total = sim::device(device).used;
        total -= std::min(total, reserved);
    }
}

void PoolState::take(std::size_t bytes) {
    const std::size_t limit = max_size != 0 ? max_size : ~std::size_t(0) / 2;
    require(bytes <= limit && used <= limit - bytes, CUDA_ERROR_OUT_OF_MEMORY);
    if (used + bytes > reserved) {
        const std::size_t needed = used + bytes - reserved;
        const std::size_t grown = std::min(round_up(used + bytes, pool_reserve_step), limit);
        Device &owner = sim::device(device);
        const std::size_t more = room(owner, grown - reserved, needed);
        require(more != 0, CUDA_ERROR_OUT_OF_MEMORY);
        owner.used += more;
        reserved += more;
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
    if (reserved > target && device < device_count()) {
        std::size_t &total = sim::device(device).used;
        total -= std::min(total, reserved - target);
        reserved = target;
    }
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

void require_pools(CUdevice ordinal) {
    device(ordinal);
    require(device_has(ordinal, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED),
            CUDA_ERROR_NOT_SUPPORTED);
}

Pool &default_pool(int ordinal) {
    Device &owner = device(ordinal);
    if (owner.default_pool == nullptr) {
        auto state = std::make_shared<PoolState>();
        state->device = ordinal;
        state->is_default = true;
        owner.default_pool = Registry::get().make<Pool>(std::move(state));
    }
    return *owner.default_pool;
}

Pool &current_pool(int ordinal) {
    Pool *set = device(ordinal).pool;
    return set != nullptr ? *set : default_pool(ordinal);
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
    state->handle = nullptr;
}
