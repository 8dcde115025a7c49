// Mappings of physical memory in reservations: cuMemMap, cuMemUnmap.
#include "call/misuse.hpp"
#include "call/settings.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/engine.hpp"
#include "memory/virtual_memory.hpp"

#include <algorithm>
#include <iterator>

namespace sim {
namespace {

bool is_free(const Range &range, std::size_t offset, std::size_t size) {
    const auto &mappings = reservation_of(range).mappings;
    const auto next = mappings.lower_bound(offset);
    const bool ends_before = next == mappings.end() || next->first - offset >= size;
    return ends_before && mapping_at(range.base + offset) == nullptr;
}

bool uses(const Operation &operation, CUdeviceptr address, std::size_t size) {
    const auto &used = operation.work.uses;
    return std::any_of(used.begin(), used.end(),
                       [=](const Use &use) { return use.overlaps(address, size); });
}

void map(Range &range, std::size_t offset, PhysicalMemory &memory) {
    Reservation &reservation = reservation_of(range);
    const std::size_t usable = std::min(memory.size, range.size - offset);
    if (!memory.multicast()) {
        const Backing &backing = *memory.backing;
        require(backing.containing_file().map_at(reservation.view + offset, backing.offset(),
                                                 usable, false),
                CUDA_ERROR_OUT_OF_MEMORY);
    }
    auto *mapping = Registry::get().make<Mapping>(memory, offset, usable);
    reservation.mappings.emplace(offset, mapping);
    ++memory.mappings;
}

PhysicalMemory &mapped_memory(CUmemGenericAllocationHandle handle) try {
    return physical_memory(handle);
} catch (const Refusal &) {
    explain("Parameter handle is not a valid CUmemGenericAllocationHandle");
    throw;
}

void unmap(Range &range, Mapping &mapping) {
    Reservation &reservation = reservation_of(range);
    PhysicalMemory &memory = mapping.memory;
    if (!memory.multicast()) {
        platform::unmap_at(reservation.view + mapping.offset, mapping.usable);
    }
    if (mapping.access.contains(Mapping::host_access)) {
        platform::decommit(reinterpret_cast<void *>(range.base + mapping.offset), mapping.usable);
    }
    reservation.mappings.erase(mapping.offset);
    Registry::get().destroy(&mapping);
    --memory.mappings;
    end_if_unused(memory);
}

} // namespace

Mapping::Mapping(PhysicalMemory &of, std::size_t where, std::size_t inside)
    : Object(own_kind), memory(of), backing(of.backing), offset(where), size(of.size),
      usable(inside) {}

// A reservation counts enqueued operations as a whole; this finds those that use a part.
std::size_t queued_users(CUdeviceptr address, std::size_t size, std::optional<CUdevice> device) {
    std::size_t count = 0;
    const Range *range = AddressSpace::get().find(address);
    if (range == nullptr || range->pending == 0) {
        return 0;
    }
    for (const Stream *stream : engine().busy) {
        if (!device || stream->context->device == *device) {
            count += static_cast<std::size_t>(
                std::count_if(stream->queue.begin(), stream->queue.end(),
                              [=](const Ticket &ticket) { return uses(*ticket, address, size); }));
        }
    }
    return count;
}

std::vector<Mapping *> whole_mappings(const Range &range, std::size_t offset, std::size_t size,
                                      const char *reason) {
    const auto &mappings = reservation_of(range).mappings;
    const std::size_t end = offset + size;
    auto next = mappings.lower_bound(offset);
    if (next != mappings.begin()) {
        const auto &[begin, before] = *std::prev(next);
        require(begin + before->size <= offset, reason);
    }
    std::vector<Mapping *> found;
    for (; next != mappings.end() && next->first < end; ++next) {
        require(next->first + next->second->size <= end, reason);
        found.push_back(next->second);
    }
    return found;
}

namespace driver {

EXPORT CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                         CUmemGenericAllocationHandle handle, unsigned long long flags) {
    // Recorded: checked before the sizes.
    require(offset == 0, CUDA_ERROR_NOT_SUPPORTED, "Specifying an offset is not supported");
    require(flags == 0, "Parameter flags must be 0");
    require(size != 0, "Parameter size cannot be 0");
    require_granular(ptr, "Pointer");
    PhysicalMemory &memory = mapped_memory(handle);
    Range &range = reserved_range(ptr, 1, "specified");
    if (size < memory.size) {
        require_granular(size, "Size");
    }
    if (size != memory.size) { // only whole physical memory can be mapped
        refuse(CUDA_ERROR_NOT_SUPPORTED, "Requested mapping %s than handle, (0x%zx %c 0x%zx)",
               size < memory.size ? "smaller" : "bigger", size, size < memory.size ? '<' : '>',
               memory.size);
    }
    require(size <= ~CUdeviceptr(0) - ptr);
    require(is_free(range, ptr - range.base, size),
            "Specified range overlaps with another allocation");
    if (memory.multicast()) {
        check_team_complete(memory);
    }
    if (const std::size_t inside = range.size - (ptr - range.base); size > inside) {
        // The recorded driver only checks the start.
        misuse("cuMemMap of " + std::to_string(size) + " bytes, of which the last " +
               std::to_string(size - inside) + " lie past the end of " + range.describe());
    }
    map(range, ptr - range.base, memory);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
    const std::size_t granularity = vmm_granularity();
    require(ptr % granularity == 0 && size % granularity == 0);
    Range &range = reserved_range(ptr, size);
    constexpr char partial[] = "Partially unmapping a previous cuMemMap mapping is not supported";
    const bool mapped = !whole_mappings(range, ptr - range.base, size, partial).empty();
    if (mapped && settings().mode == Mode::adversarial) {
        if (const std::size_t users = queued_users(ptr, size)) {
            misuse("a part of " + range.describe() + " is unmapped while " + std::to_string(users) +
                   (users == 1 ? " enqueued operation needs it" : " enqueued operations need it"));
        }
    } else if (mapped) {
        wait_until_unused(range.base);
    }
    // The wait released the lock: another thread may have unmapped it or freed the range.
    Range &same = reserved_range(ptr, size);
    for (Mapping *mapping : whole_mappings(same, ptr - same.base, size, partial)) {
        unmap(same, *mapping);
    }
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
