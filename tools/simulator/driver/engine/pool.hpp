// Memory pools and their stream-ordered allocations. pool*.cpp, stream_ordered.cpp.
#pragma once

#include "base/shared_state.hpp"
#include "engine/device.hpp"
#include "engine/heap.hpp"
#include "engine/memory.hpp"
#include "engine/object.hpp"
#include "engine/work.hpp"

#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

namespace sim {

// What memory a pool has, and where, with the API's numbers. Pools of the host, and of no location,
// have the id 0.
struct PoolPlace {
    static constexpr std::int32_t pinned = 1, managed = 2;
    std::int32_t type = pinned;            // CUmemAllocationType
    std::int32_t where = location::device; // CUmemLocationType
    std::int32_t id = 0;
    auto operator<=>(const PoolPlace &) const = default;

    bool is_managed() const noexcept { return type == managed; }
    // Whether it counts against the budget of a device, and the host cannot use it.
    bool on_device() const noexcept { return type == pinned && where == location::device; }
    // The device that its addresses belong to.
    int device() const noexcept { return where == location::device ? id : 0; }
};

// The header of the memory file of an exportable pool; the pool's bytes follow. Another process may
// have written it, so its contents are not trusted.
struct PoolFile {
    static constexpr std::uint64_t own_magic = 0x656c69666c6f6f70;
    // An allocation whose pointer was exported.
    struct Slot {
        std::atomic<std::uint64_t> identity; // 0: the slot is free
        std::atomic<std::uint32_t> imports;  // current imports in all other processes
        std::uint32_t reserved;
    };
    std::uint64_t magic;
    std::uint64_t identity; // unique across processes
    std::uint64_t size;     // size of the whole file
    PoolPlace place;
    std::uint32_t handle_types;
    std::array<Slot, 4093> slots;
};

// Contents of CUmemPoolPtrExportData.
struct PoolPointer {
    static constexpr std::uint64_t own_magic = 0x7274706c6f6f7076;
    std::uint64_t magic;
    std::uint64_t pool;     // PoolFile::identity
    std::uint64_t identity; // identity of the allocation
    std::uint64_t offset;   // offset in the file
    std::uint64_t size;     // bytes
    std::uint32_t slot;
    std::uint32_t reserved[5];
};
static_assert(sizeof(PoolPointer) == sizeof(CUmemPoolPtrExportData));

// Pools reserve device memory in steps of this size, if available.
constexpr std::size_t pool_reserve_step = std::size_t(32) << 20;

// The state of a pool. It outlives the handle until the last allocation is freed. Sizes are in
// bytes and count allocations and frees when they are called, not when they run.
struct PoolState {
    PoolPlace place;
    bool is_default = false, imported = false;
    bool exported = false; // exported to a handle at least once
    unsigned int handle_types = 0;
    unsigned int usage = 0;
    std::size_t max_size = 0; // 0: no limit
    int follow_events = 1, opportunistic = 1, internal_dependencies = 1;
    std::uint64_t release_threshold = 0;
    std::size_t used = 0, used_high = 0;
    std::size_t reserved = 0, reserved_high = 0; // counted against the device's budget
    std::size_t ending = 0;                      // freed by a call whose work has not run yet
    // By type and id of a location, where it was changed.
    std::map<std::pair<int, int>, CUmemAccess_flags> access;
    std::shared_ptr<Segment> segment; // of an exportable or imported pool
    CUmemoryPool handle = nullptr;    // null: the handle is destroyed
    ListPlace<PoolState> in_unused;   // pools that may reserve unused memory

    PoolState() = default;
    ~PoolState();
    PoolState(const PoolState &) = delete;
    PoolState &operator=(const PoolState &) = delete;

    // Counts an allocation. Fails with OUT_OF_MEMORY.
    void take(std::size_t bytes);
    // Some memory may no longer be used, or kept: see release_unused_pool_memory().
    void note_unused() noexcept;
    // Returns unused memory beyond `keep` to the device.
    void trim(std::size_t keep) noexcept;
    // The access of a location. Managed memory can be used without it.
    CUmemAccess_flags access_of(int type, int id) const noexcept;
    bool allows(int device, bool write) const noexcept;
    PoolFile *file() const noexcept; // null if the pool is not exportable
};

// The owner of a Range of Memory::pool.
struct PoolAllocation {
    std::shared_ptr<PoolState> pool;
    std::size_t bytes = 0;      // bytes counted by the pool; 0 for an import
    std::uint64_t identity = 0; // of an exported or imported allocation, see PoolFile::Slot
    std::uint32_t slot = 0;
    bool ending = false;         // freed by a call that may not have run yet
    Ticket made;                 // the work that makes it usable
    std::shared_ptr<void> pages; // accessible to the host, or null

    ~PoolAllocation();
};

} // namespace sim

struct CUmemPoolHandle_st final : sim::Object {
    explicit CUmemPoolHandle_st(std::shared_ptr<sim::PoolState> state);
    ~CUmemPoolHandle_st() override;
    static constexpr sim::Kind own_kind = sim::Kind::memory_pool;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    std::shared_ptr<sim::PoolState> state;
};

namespace sim {

using Pool = CUmemPoolHandle_st;

Pool &pool_of(CUmemoryPool handle); // fails with INVALID_VALUE
Pool &default_pool(const PoolPlace &place);
Pool &current_pool(const PoolPlace &place);
void set_current_pool(Pool &pool); // in its place
// The place of pools with these properties, which a pool or a graph node has. Fails if there are no
// such pools.
PoolPlace checked_place(const CUmemPoolProps &properties);
PoolPlace checked_place(const CUmemLocation &where, int type, const char *unknown_id);
// Whether the driver has pools of such memory (CUmemAllocationType).
bool is_allocation_type(int type);
// Whether this is memory of the host from a pool: devices need access to it, and it is not device
// memory in calls that distinguish them.
bool is_host_pool(const Range &range) noexcept;
// Fails if the device does not support pools.
void require_pools(CUdevice ordinal);
// The allocation of a Memory::pool range.
PoolAllocation &pool_allocation(const Range &range) noexcept;

// For calls that synchronize with a stream, an event or a context: pools release unused memory
// beyond their release thresholds.
void release_unused_pool_memory() noexcept;

} // namespace sim
