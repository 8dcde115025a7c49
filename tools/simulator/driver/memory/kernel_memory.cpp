#include "memory/kernel_memory.hpp"
#include "base/poison.hpp"
#include "call/misuse.hpp"
#include "engine/graph_memory.hpp"
#include "engine/pool.hpp"
#include "memory/virtual_memory.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

namespace sim {
namespace {

// The calling thread's scope, or null.
const KernelScope *&running() noexcept {
    static thread_local const KernelScope *scope = nullptr;
    return scope;
}

CUdeviceptr word_at(const std::vector<std::byte> &bytes, std::size_t offset) {
    CUdeviceptr word = 0;
    std::memcpy(&word, bytes.data() + offset, sizeof word);
    return word;
}

bool grants(const std::map<int, CUmemAccess_flags> &access, int device) {
    const auto found = access.find(device);
    return found != access.end() && found->second != CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

// Memory that is not mapped yet may be mapped when it is used.
bool mapping_grants(CUdeviceptr address, int device) {
    const Mapping *mapping = mapping_at(address);
    return mapping == nullptr || grants(mapping->access, device);
}

bool graph_grants(CUdeviceptr address, int device) {
    const auto allocation = find_allocation(address);
    return allocation != nullptr &&
           std::any_of(allocation->access.begin(), allocation->access.end(),
                       [device](const auto &entry) {
                           return static_cast<int>(entry.location.type) == location::device &&
                                  entry.location.id == device;
                       });
}

// For memory without an access list: memory of the device or a peer, memory that the device opened
// from another process, and graph memory with access for the device.
bool reaches_plain(const Context &context, const Range &range) {
    if (range.memory == Memory::ipc) {
        return range.context->device == context.device; // peer access of contexts does not matter
    }
    return range.device == context.device || has_peer_on(context, range.device) ||
           graph_grants(static_cast<CUdeviceptr>(range.base), context.device);
}

bool reaches(const Context &context, const Range &range, CUdeviceptr address) {
    if (range.memory == Memory::pool) {
        return pool_allocation(range).pool->allows(context.device, false);
    }
    if (range.on_host()) {
        return true;
    }
    return range.memory == Memory::mapped ? mapping_grants(address, context.device)
                                          : reaches_plain(context, range);
}

// Returns whether the pointer is invalid and reported, here or when the memory was freed.
bool check_pointer(CUdeviceptr address, const std::string &kernel, const Context &context) {
    AddressSpace &space = AddressSpace::get();
    const Range *range = space.find(static_cast<std::uintptr_t>(address));
    if (range == nullptr) {
        return space.ended_in_use(static_cast<std::uintptr_t>(address)) ||
               space.report_freed(static_cast<std::uintptr_t>(address),
                                  ("kernel " + kernel + " runs with the address").c_str());
    }
    if (!range->usable) {
        misuse("kernel " + kernel +
               " runs with stream-ordered memory before its allocation or after its free, in the "
               "order "
               "of streams: " +
               range->describe());
        return true;
    }
    if (!reaches(context, *range, address)) {
        misuse("kernel " + kernel + " runs on device " + std::to_string(context.device) +
               " with memory of device " + std::to_string(range->device) +
               ", which it cannot access: " + range->describe());
        return true;
    }
    return false;
}

} // namespace

bool in_reach(const Context &context, const Range &range) {
    if (is_host_pool(range)) {
        return pool_allocation(range).pool->allows(context.device, false);
    }
    return range.on_host() || range.memory == Memory::pool || range.memory == Memory::mapped ||
           reaches_plain(context, range);
}

std::vector<Use> uses_of(const KernelArguments &arguments) {
    std::vector<Use> found;
    found.reserve(arguments.size());
    for (const std::vector<std::byte> &argument : arguments) {
        for (std::size_t at = 0; at + sizeof(CUdeviceptr) <= argument.size();
             at += sizeof(CUdeviceptr)) {
            const CUdeviceptr address = word_at(argument, at);
            if (AddressSpace::get().find(static_cast<std::uintptr_t>(address)) != nullptr) {
                found.push_back({address, 1});
            }
        }
    }
    return found;
}

std::vector<CUdeviceptr> check_pointers(const KernelArguments &arguments, const std::string &kernel,
                                        const Context &context) {
    std::vector<CUdeviceptr> reported;
    for (const std::vector<std::byte> &argument : arguments) {
        if (argument.size() == sizeof(CUdeviceptr)) {
            const CUdeviceptr address = word_at(argument, 0);
            if (AddressSpace::get().owns(static_cast<std::uintptr_t>(address))) {
                if (check_pointer(address, kernel, context)) {
                    reported.push_back(address);
                }
            } else if (is_poisoned(address)) {
                misuse("kernel " + kernel + " runs with an address that a failed call returned");
                reported.push_back(address);
            }
        }
    }
    return reported;
}

MemoryRest rest_of(CUdeviceptr address, bool write) {
    const Range *range = AddressSpace::get().find(static_cast<std::uintptr_t>(address));
    if (range == nullptr) {
        return {};
    }
    if (range->memory != Memory::mapped) {
        const std::size_t size = range->size - (address - range->base);
        std::byte *const view = view_or_null(address, size, write);
        return {view, view == nullptr ? 0 : size};
    }
    MemoryRest rest;
    for (const Mapping *mapping = mapping_at(address); mapping != nullptr;
         mapping = mapping_at(address + rest.size)) {
        const CUdeviceptr end = range->base + mapping->offset + mapping->usable;
        const std::size_t size = end - (address + rest.size);
        std::byte *const view = view_or_null(address + rest.size, size, write);
        if (view == nullptr) {
            break;
        }
        rest = {rest.view == nullptr ? view : rest.view, rest.size + size};
    }
    return rest;
}

KernelScope::KernelScope(const Context &context, const char *kernel,
                         const std::vector<CUdeviceptr> &reported) noexcept
    : context_(&context), kernel_(kernel), reported_(reported),
      outer_(std::exchange(running(), this)) {}

KernelScope::~KernelScope() {
    running() = outer_;
}

bool KernelScope::may_view(CUdeviceptr address) noexcept {
    const KernelScope *scope = running();
    const Range *range = AddressSpace::get().find(static_cast<std::uintptr_t>(address));
    return scope == nullptr || range == nullptr || reaches(*scope->context_, *range, address);
}

void KernelScope::check_null(CUdeviceptr address, std::size_t size) noexcept try {
    const KernelScope *scope = running();
    if (scope != nullptr && address == 0 && size != 0) {
        misuse(std::string("kernel ") + scope->kernel_ + " uses " + std::to_string(size) +
               (size == 1 ? " byte" : " bytes") +
               " at address 0, the pointer of a buffer that is empty, closed or moved "
               "from");
    }
} catch (...) { // out of memory
}

void KernelScope::report_address(CUdeviceptr address) noexcept try {
    const KernelScope *scope = running();
    if (scope == nullptr || std::find(scope->reported_.begin(), scope->reported_.end(), address) !=
                                scope->reported_.end()) {
        return;
    }
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
    misuse(std::string("kernel ") + scope->kernel_ + " uses address " + text +
           ", which is in no memory that it can access");
} catch (...) { // out of memory
}

void KernelScope::check_end(CUdeviceptr address, std::size_t size) noexcept try {
    const KernelScope *scope = running();
    const Range *range = AddressSpace::get().find(static_cast<std::uintptr_t>(address));
    if (scope == nullptr || range == nullptr) {
        return;
    }
    const std::size_t rest = range->size - (static_cast<std::uintptr_t>(address) - range->base);
    if (size > rest) {
        misuse(std::string("kernel ") + scope->kernel_ + " uses " + std::to_string(size - rest) +
               (size - rest == 1 ? " byte" : " bytes") + " past the end of " + range->describe());
    }
} catch (...) { // out of memory
}

} // namespace sim
