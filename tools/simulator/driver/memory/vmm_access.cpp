// Access to mapped memory: cuMemSetAccess, cuMemGetAccess.
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/engine.hpp"
#include "memory/virtual_memory.hpp"

#include <algorithm>
#include <vector>

namespace sim {
namespace {

bool allows(CUmemAccess_flags flags, bool write) {
    return (flags & (write ? 2 : 1)) != 0;
}

bool may_access(const Mapping &mapping, bool write, Accessor device) {
    if (device) {
        const auto found = mapping.access.find(*device);
        return found != mapping.access.end() && allows(found->second, write);
    }
    return std::any_of(mapping.access.begin(), mapping.access.end(),
                       [write](const auto &entry) { return allows(entry.second, write); });
}

// The key of a location in Mapping::access.
int accessor(const CUmemLocation &where, CUresult otherwise = CUDA_ERROR_INVALID_VALUE) {
    switch (static_cast<int>(where.type)) {
    case location::device:
        require(is_visible(where), otherwise);
        return where.id;
    case location::host:
    case location::host_numa:
        return Mapping::host_access;
    default:
        refuse(otherwise);
    }
}

void check_grant(const Mapping &mapping, int who, CUmemAccess_flags flags, std::size_t index) {
    if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Index %zu: Invalid flag specified (0x%x)", index,
               static_cast<unsigned int>(flags));
    }
    const int home = mapping.memory.device();
    if (mapping.memory.multicast()) {
        require(who != Mapping::host_access);
    } else if (who == Mapping::host_access) {
        require(home == Mapping::host_access, CUDA_ERROR_NOT_SUPPORTED);
    } else if (home != Mapping::host_access && home != who) {
        require(can_access_peer(who, home), CUDA_ERROR_INVALID_DEVICE);
    }
}

platform::Access page_access(bool read, bool write) {
    return write  ? platform::Access::read_write
           : read ? platform::Access::read
                  : platform::Access::none;
}

// Applies the access flags to the pages of the simulator view.
void protect(const Range &range, const Mapping &mapping) {
    if (mapping.memory.multicast()) {
        return; // has no bytes of its own
    }
    bool read = false, write = false;
    for (const auto &[who, flags] : mapping.access) {
        read = read || allows(flags, false);
        write = write || allows(flags, true);
    }
    platform::protect(range.view + mapping.offset, mapping.usable, page_access(read, write));
}

void set_host_access(const Range &range, const Mapping &mapping, CUmemAccess_flags flags) {
    auto *where = reinterpret_cast<std::byte *>(range.base + mapping.offset);
    if (!mapping.access.contains(Mapping::host_access)) {
        const Backing &backing = *mapping.backing;
        require(backing.containing_file().map_at(where, backing.offset(), mapping.usable, false),
                CUDA_ERROR_NOT_SUPPORTED);
    }
    platform::protect(where, mapping.usable,
                      page_access(allows(flags, false), allows(flags, true)));
}

// The call is not known to wait for enqueued work, which then fails when it runs.
void report_users(const Range &range, const Mapping &mapping, CUdevice device,
                  CUmemAccess_flags flags) {
    const auto before = mapping.access.find(device);
    if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE || before == mapping.access.end() ||
        before->second == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
        return;
    }
    if (const std::size_t users = queued_users(range.base + mapping.offset, mapping.size, device)) {
        misuse("the access of device " + std::to_string(device) + " to a part of " +
               range.describe() + " is revoked while " + std::to_string(users) +
               (users == 1 ? " enqueued operation needs it" : " enqueued operations need it"));
    }
}

} // namespace

bool Mapping::accessible() const noexcept {
    return std::any_of(access.begin(), access.end(),
                       [](const auto &entry) { return allows(entry.second, false); });
}

void check_mapped(const Range &range, std::size_t offset, std::size_t size, bool write,
                  Accessor device) {
    for (const std::size_t end = offset + size; offset < end;) {
        const Mapping *mapping = mapping_at(range.base + offset);
        require(mapping != nullptr && !mapping->memory.multicast() &&
                may_access(*mapping, write, device));
        offset = mapping->offset + mapping->size;
    }
}

namespace driver {

EXPORT CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
                               size_t count) {
    require(desc != nullptr, "Parameter map(Access descriptor array) cannot be NULL");
    require(count != 0, "Parameter count cannot be 0");
    Range &range = reserved_range(ptr, size);
    const std::size_t begin = ptr - range.base;
    const auto mappings = whole_mappings(range, begin, size);
    std::size_t mapped = 0;
    for (const Mapping *mapping : mappings) {
        mapped += mapping->size;
    }
    require(mapped == size); // no holes
    for (std::size_t i = 0; i != count; ++i) {
        const int who = accessor(desc[i].location);
        for (const Mapping *mapping : mappings) {
            check_grant(*mapping, who, desc[i].flags, i);
        }
    }
    for (Mapping *mapping : mappings) {
        for (std::size_t i = 0; i != count; ++i) {
            const int who = accessor(desc[i].location);
            if (who == Mapping::host_access) {
                set_host_access(range, *mapping, desc[i].flags);
            } else {
                report_users(range, *mapping, who, desc[i].flags);
            }
            mapping->access[who] = desc[i].flags;
        }
        protect(range, *mapping);
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemGetAccess(OUT unsigned long long *flags, const CUmemLocation *location,
                               CUdeviceptr ptr) {
    require(flags != nullptr && location != nullptr);
    const int who = accessor(*location, CUDA_ERROR_INVALID_DEVICE);
    const Mapping *mapping = mapping_at(ptr);
    require(mapping != nullptr);
    const auto found = mapping->access.find(who);
    *flags = found == mapping->access.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE : found->second;
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
