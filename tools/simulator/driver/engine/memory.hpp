// Memory that clients see, by address. Every range has two addresses: the client's, which the host
// cannot touch, and the simulator's own view of the same bytes.
#pragma once

#include "base/cuda_headers.hpp"
#include "base/memory_use.hpp"
#include "base/platform.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct CUctx_st;

namespace sim {

struct Segment;

// What a range is.
enum class Memory : unsigned char {
    device,     // cuMemAlloc, cuMemAllocPitch, graph and pool allocations
    pool,       // cuMemAllocAsync: belongs to a pool
    managed,    // cuMemAllocManaged: both addresses are the same
    host,       // cuMemHostAlloc, cuMemAllocHost: both addresses are the same
    registered, // cuMemHostRegister: both addresses are the same, the client's own memory
    mapped,     // a reservation of virtual memory management: bytes where something is mapped
    ipc,        // cuIpcOpenMemHandle
    external,   // cuExternalMemoryGetMappedBuffer
    global,     // a variable of a module or library
    array,      // never seen by its address
};
const char *name_of(Memory memory) noexcept; // "device memory"

// Physical bytes: given back when the last that shares them lets go.
class Backing {
  public:
    // A slice of the device's heap, cheap, or a memory file of its own, which can leave the
    // process. Refuses with OUT_OF_MEMORY beyond the device's budget. Contents: zeros. A slice of
    // at least platform::map_granularity() bytes begins at a multiple of it in its file. `trailer`:
    // as many bytes more, behind the others in a file of its own; not counted.
    static std::shared_ptr<Backing> of_device(int device, std::size_t size, bool own_file,
                                              std::size_t trailer = 0);
    // Bytes that a memory pool has counted already: a slice of the segment, or of the device's heap
    // where there is none. Refuses with OUT_OF_MEMORY.
    static std::shared_ptr<Backing> of_pool(int device, std::size_t size,
                                            const std::shared_ptr<Segment> &segment);
    // Memory of another process or of an imported descriptor; not counted against a budget. Refuses
    // with INVALID_VALUE what is not wholly in the file.
    static std::shared_ptr<Backing> of_file(platform::File file, std::size_t offset,
                                            std::size_t size, int device);
    ~Backing();

    std::byte *view() const noexcept { return view_; }
    std::size_t size() const noexcept { return size_; }
    int device() const noexcept { return device_; }
    const platform::File &file() const noexcept { return file_; } // invalid for a slice
    std::size_t offset() const noexcept { return offset_; }       // of the bytes in their file
    const platform::File &containing_file() const noexcept;       // own file, or the heap's
    // Whether nothing was written there.
    bool intact_before() const noexcept;
    bool intact_behind() const noexcept;

    Backing(const Backing &) = delete;
    Backing &operator=(const Backing &) = delete;

  private:
    Backing() = default;
    friend class Heap;
    void arm_guards(std::size_t bytes_behind) noexcept;

    std::byte *view_ = nullptr;
    std::size_t size_ = 0, offset_ = 0;
    std::size_t guard_ = 0; // bytes behind the last; 0 where there is none before the first either
    int device_ = 0;
    platform::File file_;
    std::shared_ptr<Segment> segment_; // of a slice
    std::byte *mapped_ = nullptr;      // where a file of its own is mapped
    std::size_t mapped_size_ = 0;
    unsigned int counted_ = 0; // in which generation it was counted; 0: not at all
};

// The device that memory is accessed by. Nothing: it is not known yet, so any that may.
using Accessor = std::optional<int>;

struct Range {
    std::uintptr_t base = 0;   // the client's address
    std::size_t size = 0;      // bytes, exactly what was asked for
    std::byte *view = nullptr; // the simulator's: the byte at base + i is view[i]
    Memory memory = Memory::device;
    int device = 0;
    CUctx_st *context = nullptr; // to which it is bound, or null
    std::shared_ptr<Backing> backing;
    unsigned int flags = 0;    // of the call that made it
    unsigned long long id = 0; // CU_POINTER_ATTRIBUTE_BUFFER_ID
    const char *made_by = "";  // entry point
    std::uint64_t made_in = 0; // number of the call
    // The call that freed it in stream order; its end may be queued still. Null: none.
    const char *ended_by = nullptr;
    std::uint64_t ended_in = 0;
    bool counted = true;   // a leak when it is still there at the end; false for owned parts
    std::size_t guard = 0; // bytes behind the last that nobody may write, where no backing has them
    bool sync_memops = false; // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
    int pending = 0;          // queued operations that use it
    // Stream-ordered memory: what is not yet allocated, or is freed already, in stream order.
    bool usable = true;
    std::shared_ptr<void> owner; // what else it keeps alive: a pool, a mapping table, an import
    // For reservations and pools: refuses where [offset, offset+size) is not mapped, or the device
    // lacks that access.
    void (*check)(const Range &, std::size_t offset, std::size_t size, bool write,
                  Accessor) = nullptr;

    bool on_host() const noexcept {
        return memory == Memory::host || memory == Memory::registered || memory == Memory::managed;
    }
    std::string
    describe() const; // "device memory 0x…, 4096 bytes, made by cuMemAlloc_v2 in call 3"
};

// All ranges of the process.
class AddressSpace {
  public:
    static AddressSpace &get();

    // An address range that the host cannot touch and that no later one overlaps. Guard space is
    // left on both sides. alignment: a power of two, or 0. Refuses with OUT_OF_MEMORY.
    std::uintptr_t reserve(std::size_t size, std::size_t alignment);
    // Addresses for the simulator's own view of a reservation, as platform::reserve_view() gives
    // them. Refuses with OUT_OF_MEMORY.
    std::byte *reserve_view(std::size_t size);
    void unreserve_view(std::byte *view, std::size_t size) noexcept;
    // Whether reserve() gave it, or could: no address of memory that the client got elsewhere.
    bool owns(std::uintptr_t address) const noexcept;

    // Adds a range; fills in id, made_by, made_in.
    Range &add(Range range);
    // The range that holds an address, or null.
    Range *find(std::uintptr_t address) noexcept;
    // The range that begins there, or null.
    Range *find_base(std::uintptr_t address) noexcept;
    // Ends it. Checks its guard bytes; queued work that still uses it is a misuse.
    void remove(Range &range) noexcept;
    // Ends all that are bound to a context.
    void remove_all_of(const CUctx_st *context) noexcept;
    // Notes a misuse where the address was in a range that has ended: "WHAT of memory that was
    // freed: …".
    bool report_freed(std::uintptr_t address, const char *what) const;
    // Whether it was in a range that ended while queued work needed it, which was reported then.
    bool ended_in_use(std::uintptr_t address) const noexcept;
    // Any range that overlaps [address, address+size), or null.
    Range *overlapping(std::uintptr_t address, std::size_t size) noexcept;
    void for_each(const auto &function) {
        for (auto &[base, range] : ranges_) {
            function(range);
        }
    }
    // Forgets everything, but for the addresses that were given out.
    void clear();

  private:
    // There are no addresses for so many bytes: a misuse where there would be if they were used
    // again.
    [[noreturn]] void refuse_exhausted(std::size_t wanted) const;
    std::map<std::uintptr_t, Range> ranges_;
};

// The range that holds [address, address+size), to be read or written there. Refuses with
// INVALID_VALUE what is not one living range, is out of its bounds, or lacks the access. A freed
// one is a misuse.
Range &device_range(CUdeviceptr address, std::size_t size, bool write);
// Refuses with INVALID_VALUE an access by a device that the mapping or pool behind the address does
// not let in. Of addresses that are no device's memory, and of memory without such a list, it says
// nothing.
void check_access_by(int device, CUdeviceptr address, std::size_t size, bool write);
// The simulator's view of it. Throws a Fault, too, where stream-ordered memory is not usable now.
std::byte *device_view(CUdeviceptr address, std::size_t size, bool write);
// The same without any report; null instead of a refusal.
std::byte *view_or_null(CUdeviceptr address, std::size_t size) noexcept;
// The same for what may be host or device memory (cuMemcpy): an unknown address is pageable host
// memory.
std::byte *any_view(CUdeviceptr address, std::size_t size, bool write);
// Host memory, pinned or pageable. Refuses null, and what only looks like host memory.
std::byte *host_view(const void *host, std::size_t size);

// Guard bytes: written, and whether they are still there.
void write_guard(std::byte *begin, std::size_t bytes) noexcept;
bool is_guard(const std::byte *begin, std::size_t bytes) noexcept;

// Fresh device memory in a range of its own, as cuMemAlloc makes it: with arbitrary contents.
Range &allocate(Memory memory, int device, std::size_t size, CUctx_st *context, bool own_file);
// The same with bytes that are there already.
Range &allocate(Memory memory, std::shared_ptr<Backing> backing, CUctx_st *context);
// Fresh host memory of zeros in a range of its own; the host can touch it until the range ends.
Range &allocate_on_host(Memory memory, int device, std::size_t size, CUctx_st *context);

// Queued work uses what holds these, until release().
void hold(const std::vector<Use> &uses) noexcept;
void release(const std::vector<Use> &uses) noexcept;
// Blocks, with the lock given up, until no queued work uses the range that begins there. The
// adversarial mode does not wait. Call it before remove() where the real driver waits.
void wait_until_unused(std::uintptr_t base);

} // namespace sim
