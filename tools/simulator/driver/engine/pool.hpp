// Memory pools and their stream-ordered allocations. pool*.cpp, stream_ordered.cpp.
#pragma once

#include "base/shared_state.hpp"
#include "engine/heap.hpp"
#include "engine/memory.hpp"
#include "engine/object.hpp"
#include "engine/work.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

namespace sim {

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
    std::int32_t device;
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
    int device = 0;
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
    std::map<int, CUmemAccess_flags> access;     // access of other devices
    std::shared_ptr<Segment> segment;            // of an exportable or imported pool
    CUmemoryPool handle = nullptr;               // null: the handle is destroyed
    ListPlace<PoolState> in_unused;              // pools that may reserve unused memory

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
    PoolFile *file() const noexcept; // null if the pool is not exportable
};

// The owner of a Range of Memory::pool.
struct PoolAllocation {
    std::shared_ptr<PoolState> pool;
    std::size_t bytes = 0;      // bytes counted by the pool; 0 for an import
    std::uint64_t identity = 0; // of an exported or imported allocation, see PoolFile::Slot
    std::uint32_t slot = 0;
    bool ending = false; // freed by a call that may not have run yet
    Ticket made;         // the work that makes it usable

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
Pool &default_pool(int device);
Pool &current_pool(int device);
// Fails if the device does not support pools.
void require_pools(CUdevice ordinal);
// The allocation of a Memory::pool range.
PoolAllocation &pool_allocation(const Range &range) noexcept;

// For calls that synchronize with a stream, an event or a context: pools release unused memory
// beyond their release thresholds.
void release_unused_pool_memory() noexcept;

} // namespace sim
