// Virtual memory management: physical memory, address reservations, and mappings between them.
// vmm_*.cpp, multicast.cpp.
#pragma once

#include "base/shared_state.hpp"
#include "engine/memory.hpp"
#include "engine/object.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace sim {

// Values that older headers lack.
namespace handle_type {
constexpr unsigned int posix_fd = 1, win32 = 2, win32_kmt = 4, fabric = 8;
#ifdef _WIN32
constexpr unsigned int native = win32;
#else
constexpr unsigned int native = posix_fd;
#endif
} // namespace handle_type

// The trailer after the bytes of physical memory in an exported file; it describes the memory to
// the importer. Another process may have written it, so its contents are not trusted.
struct PhysicalMemoryTrailer {
    static constexpr std::uint64_t own_magic = 0x7972746d656d6d76;
    std::uint64_t magic;
    std::uint64_t size; // bytes of the memory
    std::int32_t device;
    std::uint32_t handle_types;
    std::int32_t location;
    std::uint32_t reserved;
};

// vmm_share.cpp. The size of physical memory in a file; 0 if it is something else.
std::size_t physical_memory_size(const platform::File &file);

// State of a multicast object that all its processes share.
struct MulticastTeam {
    static constexpr std::uint64_t own_magic = 0x747361636d6d7673;
    std::uint64_t magic;
    std::uint64_t size; // bytes per device
    std::uint64_t handle_types;
    std::uint64_t flags;
    std::uint32_t device_count;
    std::atomic<std::uint32_t> devices; // bit mask of added devices
};

// Memory that this process has bound to a multicast object.
struct MulticastBinding {
    int device;
    std::size_t offset, size;         // range in the object
    std::shared_ptr<Backing> backing; // kept alive by the binding
};

// The object whose address is a CUmemGenericAllocationHandle.
struct PhysicalMemory final : Object {
    PhysicalMemory(const CUmemAllocationProp &properties, std::shared_ptr<Backing> backing);
    PhysicalMemory(Shared<MulticastTeam> team);
    static constexpr Kind own_kind = Kind::physical_memory;
    static bool is(Kind kind) noexcept { return kind == own_kind; }

    CUmemGenericAllocationHandle handle() const noexcept {
        return reinterpret_cast<std::uintptr_t>(this);
    }
    bool multicast() const noexcept { return static_cast<bool>(team); }
    // The device of the memory; -1 for host memory.
    int device() const noexcept;

    CUmemAllocationProp properties{}; // unused for multicast objects
    std::size_t size = 0;
    std::shared_ptr<Backing> backing; // null for multicast objects
    Shared<MulticastTeam> team;       // multicast objects only
    std::vector<MulticastBinding> bindings;
    unsigned int references = 1; // creation or import, plus retains; 0: released
    unsigned int mappings = 0;   // the object lives while either is not 0
};

struct Reservation;

// Physical memory that is mapped in a part of a reservation.
struct Mapping final : Object {
    Mapping(PhysicalMemory &memory, std::size_t offset, std::size_t usable);
    static constexpr Kind own_kind = Kind::memory_mapping;

    PhysicalMemory &memory;                  // kept alive by this
    std::shared_ptr<Backing> backing;        // bytes of the memory
    std::size_t offset, size;                // range in the reservation
    std::size_t usable;                      // bytes before the end of the reservation
    std::map<int, CUmemAccess_flags> access; // by device; `host_access` for the host
    static constexpr int host_access = -1;
    // Whether any device or the host may access it.
    bool accessible() const noexcept;
};

// The owner of a Range of Memory::mapped.
struct Reservation {
    std::byte *view = nullptr;
    std::size_t size = 0;
    std::map<std::size_t, Mapping *> mappings; // by offset; the registry owns them

    Reservation() = default;
    ~Reservation();
    Reservation(const Reservation &) = delete;
    Reservation &operator=(const Reservation &) = delete;
};

// Fails unless all devices of a multicast team were added; does not wait for them.
void check_team_complete(const PhysicalMemory &multicast);

// Granularity of allocations, and of the addresses and sizes of mappings; any number.
std::size_t vmm_granularity() noexcept;
// Fails for handle types of other platforms and for those that require permission.
void check_handle_types(unsigned int types, const char *reason = "");
// Checks a handle of another process and its type.
void check_imported(const void *handle, unsigned int type);

// Fails with INVALID_VALUE for invalid and for released handles.
PhysicalMemory &physical_memory(CUmemGenericAllocationHandle handle);
// Destroys it once nothing refers to it.
void end_if_unused(PhysicalMemory &memory);

// The reservation that contains [address, address+size), including mappings that exceed its end;
// fails with INVALID_VALUE. `size` is not 0.
Range &reserved_range(CUdeviceptr address, std::size_t size, const char *what = nullptr);
// Fails for a number of bytes that is not a multiple of vmm_granularity().
void require_granular(std::uint64_t number, const char *what);
Reservation &reservation_of(const Range &range) noexcept;
// The mapping at an address, or null.
Mapping *mapping_at(CUdeviceptr address) noexcept;
// The mappings in a part of a reservation, in order. Fails with INVALID_VALUE if the part cuts one.
std::vector<Mapping *> whole_mappings(const Range &range, std::size_t offset, std::size_t size,
                                      const char *reason = "");
// The number of enqueued operations that use a part of a reservation; with a device, only those
// that run on it.
std::size_t queued_users(CUdeviceptr address, std::size_t size,
                         std::optional<CUdevice> device = {});
// Range::check of reservations.
void check_mapped(const Range &range, std::size_t offset, std::size_t size, bool write, Accessor);

} // namespace sim
