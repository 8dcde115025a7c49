// Client-visible memory, by address. Every range has two addresses: the client's, which the host
// cannot access, and the address at which the simulator accesses the same bytes.
#pragma once

#include "base/cuda_headers.hpp"
#include "base/linked_list.hpp"
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
struct Work;
struct ManagedState; // memory/managed.hpp

// The kind of a range.
enum class Memory : unsigned char {
    device,     // cuMemAlloc, cuMemAllocPitch, graph allocations
    pool,       // cuMemAllocAsync: belongs to a pool
    managed,    // cuMemAllocManaged and managed variables: both addresses are the same
    host,       // cuMemHostAlloc, cuMemAllocHost: both addresses are the same
    registered, // cuMemHostRegister: both addresses are the same, the client's own memory
    mapped,     // cuMemAddressReserve: has bytes where memory is mapped
    ipc,        // cuIpcOpenMemHandle
    external,   // cuExternalMemoryGetMappedBuffer
    global,     // a variable of a module or library
    array,      // has no client address
};
const char *name_of(Memory memory) noexcept; // "device memory"

// Physical bytes, shared by ranges and freed with the last of them.
class Backing {
  public:
    // A slice of the device heap, or a separate memory file, which can be exported to other
    // processes. Fails with OUT_OF_MEMORY beyond the device's budget. Filled with zeros. A slice of
    // at least platform::map_granularity() bytes starts at a multiple of it in its file. `trailer`:
    // additional bytes at the end of a separate file, not counted.
    static std::shared_ptr<Backing> of_device(int device, std::size_t size, bool own_file,
                                              std::size_t trailer = 0);
    // Bytes that a memory pool has already counted: a slice of the segment, or of the device heap
    // if it is null. Fails with OUT_OF_MEMORY.
    static std::shared_ptr<Backing> of_pool(int device, std::size_t size,
                                            const std::shared_ptr<Segment> &segment);
    // Memory of another process or of an imported descriptor; not counted against a budget. Fails
    // with INVALID_VALUE if the range exceeds the file.
    static std::shared_ptr<Backing> of_file(platform::File file, std::size_t offset,
                                            std::size_t size, int device);
    ~Backing();

    std::byte *view() const noexcept { return view_; }
    std::size_t size() const noexcept { return size_; }
    int device() const noexcept { return device_; }
    const platform::File &file() const noexcept { return file_; } // invalid for a slice
    std::size_t offset() const noexcept { return offset_; } // offset of the bytes in their file
    const platform::File &containing_file() const noexcept; // the separate file, or the heap's
    // Whether the bytes still exist: the owner of an imported file may have made it smaller.
    bool contains(std::size_t offset, std::size_t size) const noexcept;
    // Whether the guard bytes there are unchanged.
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
    std::size_t guard_ = 0; // guard bytes at the end; 0: no guard on either side
    int device_ = 0;
    platform::File file_;
    std::shared_ptr<Segment> segment_; // segment of a slice
    std::byte *mapped_ = nullptr;      // mapping of a separate file
    std::size_t mapped_size_ = 0;
    unsigned int counted_ = 0; // generation in which it was counted; 0: not counted
};

// The device that accesses memory. Without a value, it is not known yet and every device qualifies.
using Accessor = std::optional<int>;

struct Range {
    std::uintptr_t base = 0;   // the client's address
    std::size_t size = 0;      // requested size in bytes
    std::byte *view = nullptr; // simulator's view: the byte at base + i is view[i]
    Memory memory = Memory::device;
    int device = 0;
    CUctx_st *context = nullptr; // the context it is bound to, or null; set before add()
    ListPlace<Range> of_context; // ranges that are bound to the same context
    std::shared_ptr<Backing> backing;
    unsigned int flags = 0;                    // flags of the call that made it
    bool read_only = false;                    // registered with that flag
    unsigned long long id = 0;                 // CU_POINTER_ATTRIBUTE_BUFFER_ID
    const char *made_by = "";                  // entry point
    std::uint64_t made_in = 0;                 // number of that call
    const CUctx_st *made_in_context = nullptr; // see Object
    // The call that freed it in stream order, possibly not completed yet. Null: not freed.
    const char *ended_by = nullptr;
    std::uint64_t ended_in = 0;
    bool counted = true;         // reported as a leak at exit; false for parts of objects
    std::size_t guard = 0;       // guard bytes after the end if the backing has none
    bool sync_memops = false;    // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
    int pending = 0;             // enqueued operations that use it
    int pending_synchronous = 0; // those of calls that returned as if they were synchronous
    // False for stream-ordered memory before its allocation and after its free, in stream order.
    bool usable = true;
    std::shared_ptr<void> owner; // keeps alive: a pool, a mapping table, an import
    // For reservations and pools: fails if [offset, offset+size) is not mapped, or if the device
    // lacks that access.
    void (*check)(const Range &, std::size_t offset, std::size_t size, bool write,
                  Accessor) = nullptr;

    bool managed = false;                 // can be moved between the host and devices
    std::shared_ptr<ManagedState> advice; // of managed memory; created when needed

    // Whether the host can use it at the client's address.
    bool on_host() const noexcept { return reinterpret_cast<std::uintptr_t>(view) == base; }
    std::string
    describe() const; // "device memory 0x…, 4096 bytes, made by cuMemAlloc_v2 in call 3"
};

using BoundRanges = LinkedList<Range, &Range::of_context>;

// All ranges of the process.
class AddressSpace {
  public:
    static AddressSpace &get();

    // Reserves an address range that the host cannot access and that is never reused, with guard
    // space on both sides. alignment: a power of two, or 0. Fails with OUT_OF_MEMORY.
    std::uintptr_t reserve(std::size_t size, std::size_t alignment);
    // Reserves addresses for the simulator's own view of a reservation, see
    // platform::reserve_view(). Fails with OUT_OF_MEMORY.
    std::byte *reserve_view(std::size_t size);
    void unreserve_view(std::byte *view, std::size_t size) noexcept;
    // Whether reserve() returned this address or may do so, as opposed to the client's own memory.
    bool owns(std::uintptr_t address) const noexcept;

    // Adds a range and sets its id, made_by and made_in.
    Range &add(Range range);
    // The range that contains an address, or null.
    Range *find(std::uintptr_t address) noexcept;
    // The range that begins at an address, or null.
    Range *find_base(std::uintptr_t address) noexcept;
    // Removes a range. Reports damaged guard bytes and enqueued work that still uses the range.
    void remove(Range &range) noexcept;
    // Removes all ranges that are bound to a context.
    void remove_all_of(CUctx_st &context) noexcept;
    // Records a misuse if the address was in a freed range, "WHAT of memory that was freed: …", or
    // is the output of a failed call.
    bool report_freed(std::uintptr_t address, const char *what) const;
    // Whether the range of the address was freed while enqueued work needed it, which is already
    // reported.
    bool ended_in_use(std::uintptr_t address) const noexcept;
    // Any range that overlaps [address, address+size), or null.
    Range *overlapping(std::uintptr_t address, std::size_t size) noexcept;
    void for_each(const auto &function) {
        for (auto &[base, range] : ranges_) {
            function(range);
        }
    }
    // Removes everything except the addresses that were used.
    void clear();

  private:
    // No addresses are left for so many bytes. Records a misuse if the request would succeed with
    // reused addresses.
    [[noreturn]] void refuse_exhausted(std::size_t wanted) const;
    std::map<std::uintptr_t, Range> ranges_;
};

// The range that contains [address, address+size), to be read or written. Fails with INVALID_VALUE
// if this is not one live range, exceeds its bounds, or lacks the access. Use of a freed range is a
// misuse.
Range &device_range(CUdeviceptr address, std::size_t size, bool write);
// Fails with INVALID_VALUE if the mapping or pool behind the address does not permit access by the
// device. Other addresses and memory without an access list are not checked.
void check_access_by(int device, CUdeviceptr address, std::size_t size, bool write);
// The simulator's view of the range. Also throws a Fault if stream-ordered memory is not usable
// now.
std::byte *device_view(CUdeviceptr address, std::size_t size, bool write);
// The same without a report; returns null instead of failing.
std::byte *view_or_null(CUdeviceptr address, std::size_t size, bool write) noexcept;
// The same for host or device memory (cuMemcpy): an unknown address is pageable host memory.
std::byte *any_view(CUdeviceptr address, std::size_t size, bool write);
// Pinned or pageable host memory. Fails for null and for addresses that the simulator reserved.
std::byte *host_view(const void *host, std::size_t size);

// Writes guard bytes, and checks that they are unchanged.
void write_guard(std::byte *begin, std::size_t bytes) noexcept;
bool is_guard(const std::byte *begin, std::size_t bytes) noexcept;

// Allocates device memory in a new range, as cuMemAlloc does; its contents are arbitrary.
Range &allocate(Memory memory, int device, std::size_t size, CUctx_st *context, bool own_file);
// The same for an existing backing.
Range &allocate(Memory memory, std::shared_ptr<Backing> backing, CUctx_st *context);
// Allocates zero-filled host memory in a new range; the host can access it until the range's owner
// is destroyed.
Range &allocate_on_host(Memory memory, int device, std::size_t size, CUctx_st *context,
                        bool managed);
// The same for the bytes of a backing in a memory file, which begins at a page and has whole pages.
Range &map_on_host(Memory memory, std::shared_ptr<Backing> backing);

// Enqueued work uses the ranges that contain these, until release().
void hold(const Work &work) noexcept;
void release(const Work &work) noexcept;
// Releases the lock and blocks until no enqueued work uses the range that begins there. Returns at
// once in adversarial mode. Call it before remove() where the real driver waits.
void wait_until_unused(std::uintptr_t base);

} // namespace sim
