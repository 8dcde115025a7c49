#include "engine/memory.hpp"
#include "base/poison.hpp"
#include "base/refusal.hpp"
#include "call/call.hpp"
#include "call/misuse.hpp"
#include "call/settings.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/engine.hpp"
#include "engine/object.hpp"
#include "engine/stream.hpp"
#include "engine/work.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace sim {
namespace {

constexpr std::size_t big = std::size_t(2) << 20; // alignment of allocations of at least this size
constexpr std::size_t small_alignment = 512;
constexpr std::size_t cheap_to_fill = std::size_t(16) << 10;
constexpr int fill_byte = 0xcd;

// Fills new device memory with a pattern, since its contents are undefined. Large allocations are
// filled at both ends only: touching all their pages would dominate the running time.
void fill(std::byte *view, std::size_t size) {
    if (size <= cheap_to_fill) {
        std::memset(view, fill_byte, size);
    } else {
        std::memset(view, fill_byte, cheap_to_fill / 4);
        std::memset(view + size - cheap_to_fill / 4, fill_byte, cheap_to_fill / 4);
    }
}

// Small allocations have exactly the documented alignment.
std::uintptr_t place_for(std::size_t size) {
    AddressSpace &space = AddressSpace::get();
    if (size >= big) {
        return space.reserve(size, big);
    }
    return space.reserve(size + small_alignment, 2 * small_alignment) + small_alignment;
}

// Pages of client address space that are accessible for the lifetime of this object.
struct HostPages {
    HostPages(void *begin, std::size_t bytes) : pages(begin), size(bytes) {}
    HostPages(const HostPages &) = delete;
    HostPages &operator=(const HostPages &) = delete;
    ~HostPages() { platform::decommit(pages, size); }

    void *pages;
    std::size_t size;
};

// A call that is passed such memory reports it by its status; for enqueued work, only a misuse can
// report it.
void check_access(const Range &range, std::size_t offset, std::size_t size, bool write) {
    if (range.check == nullptr) {
        return;
    }
    try {
        range.check(range, offset, size, write,
                    executing() ? Accessor(current_context().device) : Accessor());
    } catch (const Refusal &) {
        if (executing()) {
            misuse("enqueued work uses memory that its device cannot access: " + range.describe() +
                   ", at offset " + std::to_string(offset));
        }
        throw;
    }
}

} // namespace

Range &device_range(CUdeviceptr address, std::size_t size, bool write) {
    Range *range = AddressSpace::get().find(address);
    if (range == nullptr || range->memory == Memory::array) {
        AddressSpace::get().report_freed(address, "use");
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    const std::size_t offset = address - range->base;
    require(size <= range->size - offset);
    check_access(*range, offset, size, write);
    return *range;
}

void check_access_by(int device, CUdeviceptr address, std::size_t size, bool write) {
    const Range *range = AddressSpace::get().find(address);
    if (range != nullptr && range->check != nullptr) {
        range->check(*range, address - range->base, size, write, device);
    }
}

std::byte *device_view(CUdeviceptr address, std::size_t size, bool write) {
    Range &range = device_range(address, size, write);
    if (!range.usable) {
        misuse(
            "use of stream-ordered memory before its allocation or after its free, in the order of "
            "streams: " +
            range.describe());
        throw Fault{CUDA_ERROR_ILLEGAL_ADDRESS};
    }
    std::byte *const view = range.view + (address - range.base);
    if (range.memory == Memory::registered && !platform::is_mapped(view, size)) {
        misuse("use of registered memory that the program has unmapped: " + range.describe());
        if (executing()) {
            throw Fault{CUDA_ERROR_ILLEGAL_ADDRESS};
        }
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    return view;
}

std::byte *view_or_null(CUdeviceptr address, std::size_t size, bool write) noexcept try {
    Range *range = AddressSpace::get().find(address);
    if (range == nullptr || range->memory == Memory::array || !range->usable ||
        size > range->size - (address - range->base)) {
        return nullptr;
    }
    if (range->check != nullptr) {
        range->check(*range, address - range->base, size, write,
                     executing() ? Accessor(current_context().device) : Accessor());
    }
    return range->view + (address - range->base);
} catch (...) {
    return nullptr;
}

std::byte *host_view(const void *host, std::size_t size) {
    const auto address = reinterpret_cast<std::uintptr_t>(host);
    require(address != 0 && size <= ~std::uintptr_t(0) - address);
    if (AddressSpace::get().find(address) != nullptr) {
        return device_view(address, size, true);
    }
    // Addresses in the simulator's own address space, and outputs of failed calls, are not host
    // memory; a host access would crash.
    if (AddressSpace::get().owns(address) || is_poisoned(address)) {
        AddressSpace::get().report_freed(address, "use");
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    return reinterpret_cast<std::byte *>(address);
}

std::byte *any_view(CUdeviceptr address, std::size_t size, bool write) {
    if (AddressSpace::get().find(address) != nullptr) {
        return device_view(address, size, write);
    }
    return host_view(reinterpret_cast<const void *>(static_cast<std::uintptr_t>(address)), size);
}

Range &allocate(Memory memory, int device, std::size_t size, CUctx_st *context, bool own_file) {
    return allocate(memory, Backing::of_device(device, size, own_file), context);
}

Range &allocate(Memory memory, std::shared_ptr<Backing> backing, CUctx_st *context) {
    Range range;
    range.base = place_for(backing->size());
    range.size = backing->size();
    range.view = backing->view();
    range.memory = memory;
    range.device = backing->device();
    range.context = context;
    range.backing = std::move(backing);
    fill(range.view, range.size);
    return AddressSpace::get().add(std::move(range));
}

Range &allocate_on_host(Memory memory, int device, std::size_t size, CUctx_st *context,
                        bool managed) {
    const std::size_t page = platform::page_size();
    require(size != 0);
    // Managed memory may exceed host memory, since it can reside on the device.
    const std::size_t most = platform::host_memory() + (managed ? device_memory(device) : 0);
    require(size <= most, CUDA_ERROR_OUT_OF_MEMORY);
    const std::size_t bytes = (size + page - 1) / page * page;
    Range range;
    range.base = AddressSpace::get().reserve(bytes, platform::map_granularity());
    range.size = size;
    range.view = reinterpret_cast<std::byte *>(range.base);
    range.memory = memory;
    range.device = device;
    range.context = context;
    range.managed = managed;
    range.sync_memops = managed; // as recorded
    require(platform::commit(range.view, bytes), CUDA_ERROR_OUT_OF_MEMORY);
    range.owner = std::make_shared<HostPages>(range.view, bytes);
    range.guard = bytes - size; // the rest of the last page
    write_guard(range.view + size, range.guard);
    return AddressSpace::get().add(std::move(range));
}

Range &map_on_host(Memory memory, std::shared_ptr<Backing> backing) {
    Range range;
    range.size = backing->size();
    range.base = AddressSpace::get().reserve(range.size, platform::map_granularity());
    range.view = reinterpret_cast<std::byte *>(range.base);
    range.memory = memory;
    range.device = backing->device();
    require(backing->containing_file().map_at(range.view, backing->offset(), range.size, true),
            CUDA_ERROR_OUT_OF_MEMORY);
    range.owner = std::make_shared<HostPages>(range.view, range.size);
    range.backing = std::move(backing);
    return AddressSpace::get().add(std::move(range));
}

void hold(const Work &work) noexcept {
    for (const Use &use : work.uses) {
        if (Range *range = AddressSpace::get().find(use.address)) {
            ++range->pending;
            range->pending_synchronous += work.synchronous ? 1 : 0;
        }
    }
}

void release(const Work &work) noexcept {
    for (const Use &use : work.uses) {
        Range *range = AddressSpace::get().find(use.address);
        if (range != nullptr && range->pending > 0) {
            --range->pending;
            range->pending_synchronous -= work.synchronous ? 1 : 0;
        }
    }
}

namespace {

// Enqueued work of a call that has already returned as if it were synchronous, and that uses the
// range at `base`.
Ticket synchronous_user(std::uintptr_t base) {
    const Range *range = AddressSpace::get().find_base(base);
    if (range == nullptr || range->pending_synchronous == 0) {
        return nullptr;
    }
    const auto uses_it = [range](const Ticket &ticket) {
        const auto &uses = ticket->work.uses;
        return ticket->work.synchronous &&
               std::any_of(uses.begin(), uses.end(), [range](const Use &use) {
                   return AddressSpace::get().find(use.address) == range;
               });
    };
    for (const Stream *stream : engine().busy) {
        const auto found = std::find_if(stream->queue.begin(), stream->queue.end(), uses_it);
        if (found != stream->queue.end()) {
            return *found;
        }
    }
    return nullptr;
}

} // namespace

void wait_until_unused(std::uintptr_t base) {
    if (settings().mode == Mode::adversarial) {
        while (const Ticket ticket = synchronous_user(base)) {
            wait(ticket);
        }
        return;
    }
    const auto unused = [base] {
        const Range *range = AddressSpace::get().find_base(base);
        return range == nullptr || range->pending == 0;
    };
    if (unused()) {
        return;
    }
    if (settings().mode == Mode::immediate) {
        // No worker runs work that only waits for another process, so this thread does.
        const auto run = [&] { return drain(), unused(); };
        wait_until(run, "the free of memory that enqueued work needs");
        return;
    }
    wait_until(unused, "the free of memory that enqueued work needs");
}

} // namespace sim
