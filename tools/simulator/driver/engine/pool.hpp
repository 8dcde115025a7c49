// Memory pools, and the stream-ordered memory that comes from them. pool*.cpp, stream_ordered.cpp.
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

// The beginning of the memory file of a pool that can leave the process; the pool's bytes follow.
// What another process may have written: nothing in it is trusted.
struct PoolFile {
    static constexpr std::uint64_t own_magic = 0x656c69666c6f6f70;
    // An allocation whose pointer was exported.
    struct Slot {
        std::atomic<std::uint64_t> identity; // 0: none
        std::atomic<std::uint32_t> imports;  // in all other processes, now
        std::uint32_t reserved;
    };
    std::uint64_t magic;
    std::uint64_t identity; // of the pool: no other has it, in any process
    std::uint64_t size;     // of the whole file
    std::int32_t device;
    std::uint32_t handle_types;
    std::array<Slot, 4093> slots;
};

// The inside of CUmemPoolPtrExportData.
struct PoolPointer {
    static constexpr std::uint64_t own_magic = 0x7274706c6f6f7076;
    std::uint64_t magic;
    std::uint64_t pool;     // PoolFile::identity
    std::uint64_t identity; // of the allocation
    std::uint64_t offset;   // in the file
    std::uint64_t size;     // bytes
    std::uint32_t slot;
    std::uint32_t reserved[5];
};
static_assert(sizeof(PoolPointer) == sizeof(CUmemPoolPtrExportData));

// Pools reserve memory of their device in these, where there is so much.
constexpr std::size_t pool_reserve_step = std::size_t(32) << 20;

// A pool without its handle: lives until its last allocation ends. Sizes are in bytes, and count
// what the client has asked for and not yet given back with a call, not what ran.
struct PoolState {
    int device = 0;
    bool is_default = false, imported = false;
    bool exported = false; // to a handle, once
    unsigned int handle_types = 0;
    unsigned int usage = 0;
    std::size_t max_size = 0; // 0: none
    int follow_events = 1, opportunistic = 1, internal_dependencies = 1;
    std::uint64_t release_threshold = 0;
    std::size_t used = 0, used_high = 0;
    std::size_t reserved = 0, reserved_high = 0; // counted against the device's budget
    std::size_t ending = 0;                      // freed by a call whose work has not run
    std::map<int, CUmemAccess_flags> access;     // of other devices
    std::shared_ptr<Segment> segment; // of a pool that can leave the process, or came from another
    CUmemoryPool handle = nullptr;    // null: destroyed

    PoolState() = default;
    ~PoolState();
    PoolState(const PoolState &) = delete;
    PoolState &operator=(const PoolState &) = delete;

    // Counts an allocation. Refuses with OUT_OF_MEMORY.
    void take(std::size_t bytes);
    // Gives what is not used back to the device, but for so much.
    void trim(std::size_t keep) noexcept;
    PoolFile *file() const noexcept; // null where the pool stays in the process
};

// What a Range of Memory::pool owns.
struct PoolAllocation {
    std::shared_ptr<PoolState> pool;
    std::size_t bytes = 0;      // that the pool counts; 0 for an import
    std::uint64_t identity = 0; // exported or imported: see PoolFile::Slot
    std::uint32_t slot = 0;
    bool ending = false; // freed by a call; its end may be queued still
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

Pool &pool_of(CUmemoryPool handle); // refuses with INVALID_VALUE
Pool &default_pool(int device);
Pool &current_pool(int device);
// Refuses where the device has no pools.
void require_pools(CUdevice ordinal);
// Of Memory::pool ranges.
PoolAllocation &pool_allocation(const Range &range) noexcept;

// For calls that synchronise with a stream, an event or a context: pools give back what is beyond
// their release thresholds.
void release_unused_pool_memory() noexcept;

} // namespace sim
