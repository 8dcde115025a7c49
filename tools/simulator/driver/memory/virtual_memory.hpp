// Virtual memory management: physical memory, reservations of addresses, and what of the one is
// mapped where in the other. vmm_*.cpp, multicast.cpp.
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

// Values that older headers do not name.
namespace handle_type {
constexpr unsigned int posix_fd = 1, win32 = 2, win32_kmt = 4, fabric = 8;
#ifdef _WIN32
constexpr unsigned int native = win32;
#else
constexpr unsigned int native = posix_fd;
#endif
} // namespace handle_type
namespace location {
constexpr int none = 0, device = 1, host = 2, host_numa = 3, host_numa_current = 4;
}

// What lies behind the last byte of physical memory in the file by which it leaves the process:
// what the importer knows of it. Another process may have written it: nothing in it is trusted.
struct PhysicalMemoryTrailer {
    static constexpr std::uint64_t own_magic = 0x7972746d656d6d76;
    std::uint64_t magic;
    std::uint64_t size; // bytes of the memory
    std::int32_t device;
    std::uint32_t handle_types;
    std::int32_t location;
    std::uint32_t reserved;
};

// vmm_share.cpp. Bytes of the physical memory that a file is; 0 where it is something else.
std::size_t physical_memory_size(const platform::File &file);

// A multicast object in all processes that have it.
struct MulticastTeam {
    static constexpr std::uint64_t own_magic = 0x747361636d6d7673;
    std::uint64_t magic;
    std::uint64_t size; // bytes per device
    std::uint64_t handle_types;
    std::uint64_t flags;
    std::uint32_t device_count;
    std::atomic<std::uint32_t> devices; // that were added: a bit for each
};

// What of a multicast object is bound to memory, in this process.
struct MulticastBinding {
    int device;
    std::size_t offset, size;         // in the object
    std::shared_ptr<Backing> backing; // stays alive with the binding
};

// What a CUmemGenericAllocationHandle stands for: its address.
struct PhysicalMemory final : Object {
    PhysicalMemory(const CUmemAllocationProp &properties, std::shared_ptr<Backing> backing);
    PhysicalMemory(Shared<MulticastTeam> team);
    static constexpr Kind own_kind = Kind::physical_memory;
    static bool is(Kind kind) noexcept { return kind == own_kind; }

    CUmemGenericAllocationHandle handle() const noexcept {
        return reinterpret_cast<std::uintptr_t>(this);
    }
    bool multicast() const noexcept { return static_cast<bool>(team); }
    // The device that it lies on; -1 for memory of the host.
    int device() const noexcept;

    CUmemAllocationProp properties{}; // not of multicast objects
    std::size_t size = 0;
    std::shared_ptr<Backing> backing; // null for multicast objects
    Shared<MulticastTeam> team;       // of multicast objects
    std::vector<MulticastBinding> bindings;
    unsigned int references = 1; // creation or import, and each retain; 0: released
    unsigned int mappings = 0;   // it lives while either is not 0
};

struct Reservation;

// Physical memory in a part of a reservation.
struct Mapping final : Object {
    Mapping(PhysicalMemory &memory, std::size_t offset, std::size_t usable);
    static constexpr Kind own_kind = Kind::memory_mapping;

    PhysicalMemory &memory;                  // lives as long as this
    std::shared_ptr<Backing> backing;        // of it
    std::size_t offset, size;                // in the reservation
    std::size_t usable;                      // of these bytes, those that lie before its end
    std::map<int, CUmemAccess_flags> access; // by device; `host_access` for the host
    static constexpr int host_access = -1;
    // Whether anybody may access it.
    bool accessible() const noexcept;
};

// What a Range of Memory::mapped owns.
struct Reservation {
    std::byte *view = nullptr;
    std::size_t size = 0;
    std::map<std::size_t, Mapping *> mappings; // by offset; the registry owns them

    Reservation() = default;
    ~Reservation();
    Reservation(const Reservation &) = delete;
    Reservation &operator=(const Reservation &) = delete;
};

// Waits for no device: refuses where not all devices of a multicast team were added.
void check_team_complete(const PhysicalMemory &multicast);

// Of all allocations, and of addresses and sizes where they are mapped; not always a power of two.
std::size_t vmm_granularity() noexcept;
// Refuses types of other platforms, and those that nobody is permitted.
void check_handle_types(unsigned int types);

// Refuses handles that are none, and released ones, with INVALID_VALUE.
PhysicalMemory &physical_memory(CUmemGenericAllocationHandle handle);
// Ends it where nothing refers to it any more.
void end_if_unused(PhysicalMemory &memory);

// The reservation in which [address, address+size) lies, or what is mapped in it and reaches past
// its end; refuses with INVALID_VALUE. `size` is not 0.
Range &reserved_range(CUdeviceptr address, std::size_t size);
Reservation &reservation_of(const Range &range) noexcept;
// What is mapped at an address, or null.
Mapping *mapping_at(CUdeviceptr address) noexcept;
// What is mapped in a part of a reservation, in order. Refuses parts of mappings with
// INVALID_VALUE.
std::vector<Mapping *> whole_mappings(const Range &range, std::size_t offset, std::size_t size);
// How many queued operations use a part of a reservation; where a device is given, of those that
// run on it.
std::size_t queued_users(CUdeviceptr address, std::size_t size,
                         std::optional<CUdevice> device = {});
// Range::check of reservations.
void check_mapped(const Range &range, std::size_t offset, std::size_t size, bool write, Accessor);

} // namespace sim
