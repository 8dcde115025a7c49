#include <cushim/virtual_memory.hpp>

#include <cushim/init.hpp>

#include <utility>

#include "access_grants.hpp"
#include "base/call.hpp"
#include "base/explained.hpp"
#include "base/fork_guard.hpp"
#include "base/ranges.hpp"
#include "base/relaxed_capture.hpp"
#include "context/adopting.hpp"
#include "context/in_context.hpp"
#include "context/on_device.hpp"
#include "context/release_stream.hpp"
#include "context/requirements.hpp"
#include "memory_state.hpp"

namespace cushim {

using namespace detail;

namespace {

constexpr const char *empty_range = "the AddressRange is empty";
constexpr const char *empty_mapping = "the MappedRange is empty";

// The smallest page size of any supported system.
constexpr std::size_t smallest_page = 4096;

struct AddressesState final : State {
    AddressesState() noexcept : State(InCapture::safe) {}

    Destroyed destroy() noexcept override {
        return {call<entry::cuMemAddressFree>(address, size), address};
    }
    CUdeviceptr address = 0;
    std::size_t size = 0;
};

struct MappedState final : State {
    MappedState(const AddressRange &range, const PhysicalMemory &memory) noexcept
        : State(InCapture::safe, ordinal_of(memory)), keep_memory(memory), keep_range(range) {}

    Destroyed destroy() noexcept override {
        // Without the lock: there is no other owner.
        return release_stream ? destroy_after_release() : unmap();
    }

    void release_after(Stream &&stream) noexcept {
        if (cushim_may_call(generation) == 0) {
            return; // a child of fork never unmaps its parent's mapping
        }
        const LockGuard guard(lock);
        std::swap(release_stream, stream);
    }

    // In this order: the range is released before the memory.
    const KeepAlive keep_memory;
    const KeepAlive keep_range;
    CUdeviceptr address = 0;
    std::size_t size = 0;

  private:
    Destroyed unmap() const noexcept { return {call<entry::cuMemUnmap>(address, size), address}; }
    // Waiting for a stream is not safe during captures, unlike cuMemUnmap.
    [[gnu::cold]] Destroyed destroy_after_release() const noexcept {
        const RelaxedCapture relaxed;
        return destroy_after(release_stream, [this] { return unmap(); });
    }

    ForkLock lock = {}; // guards members that owners in several threads may set
    Stream release_stream;
};

Result<void> check_part(const AddressRange &range, std::size_t offset, const PhysicalMemory &memory,
                        std::size_t granularity) noexcept {
    CUSHIM_TRY_VOID(require(range, empty_range));
    CUSHIM_TRY_VOID(require(memory, "the PhysicalMemory is empty"));
    if (offset > range.size() || memory.size() > range.size() - offset) {
        return invalid_argument("range [%zu, %zu) exceeds the address range of %zu bytes", offset,
                                end_of(offset, memory.size()), range.size());
    }
    if (granularity != 0 && offset % granularity != 0) {
        return invalid_argument("offset %zu is not a multiple of the granularity of %zu bytes; use "
                                "Granularity::round_up()",
                                offset, granularity);
    }
    return {};
}

Result<void> set_access_of(CUdeviceptr address, std::size_t size,
                           std::span<const AccessGrant> grants,
                           const AccessPart &part = {}) noexcept {
    if (size == 0 || grants.empty()) {
        return {};
    }
    CUSHIM_TRY(const CUmemAccessDesc *const native, native(grants));
    return access_call<entry::cuMemSetAccess>(grants, part, address, size, native, grants.size());
}

Error not_mapped(const Error &error, std::size_t offset, std::size_t size) noexcept {
    return error.status() == CUDA_ERROR_INVALID_VALUE
               ? explained(error,
                           "range [%zu, %zu) could not be mapped; if part of it is already "
                           "mapped, destroy that MappedRange first",
                           offset, offset + size)
               : error;
}

Result<AccessFlags> access_at(CUdeviceptr address, Device device) noexcept {
    const CUmemLocation location = AccessGrant(device, AccessFlags::none).native().location;
    unsigned long long flags = 0;
    const Result<void> got = call<entry::cuMemGetAccess>(&flags, &location, address);
    if (got) {
        return static_cast<AccessFlags>(flags);
    }
    if (is_missing_device(got.error(), location.id)) {
        return no_such_device(got.error(), location.id);
    }
    return got.error().status() == CUDA_ERROR_INVALID_VALUE
               ? explained(got.error(), "address %#llx is not mapped",
                           static_cast<unsigned long long>(address))
               : got.error();
}

} // namespace

Result<AddressRange> AddressRange::reserve(Device device, std::size_t size,
                                           const AddressRangeOptions &options) noexcept {
    return named("AddressRange::reserve", [&]() -> Result<AddressRange> {
        CUSHIM_TRY_VOID(init());
        CUSHIM_TRY_VOID(require_virtual_memory(device));
        if (size == 0 || size % smallest_page != 0) {
            return invalid_argument(
                "size %zu is not a positive multiple of the page size of %zu bytes; use "
                "Granularity::round_up()",
                size, smallest_page);
        }
        if (options.hint % smallest_page != 0) {
            return invalid_argument("hint 0x%llx is not a multiple of the page size of %zu bytes",
                                    static_cast<unsigned long long>(options.hint), smallest_page);
        }
        if ((options.alignment & (options.alignment - 1)) != 0) {
            return invalid_argument("alignment %zu is not a power of two", options.alignment);
        }
        CUSHIM_TRY(auto state, make_state<AddressesState>());
        CUdeviceptr address = 0;
        CUSHIM_TRY_VOID(allocating_call<entry::cuMemAddressReserve>(
            size, unknown, &address, size, options.alignment, options.hint, 0));
        state->address = address;
        state->size = size;
        return AddressRange({address, size}, state.take());
    });
}

Result<AddressRange> AddressRange::adopt(CUdeviceptr address, std::size_t size) noexcept {
    return named("AddressRange::adopt", [&]() -> Result<AddressRange> {
        CUSHIM_TRY_VOID(require_handle_of(address, size, "the address is null"));
        CUSHIM_TRY(auto state, make_state<AddressesState>());
        state->address = address;
        state->size = size;
        return AddressRange({address, size}, state.take());
    });
}

Result<void> AddressRange::set_access(std::size_t offset, std::size_t size,
                                      std::span<const AccessGrant> grants) const noexcept {
    return named("AddressRange::set_access", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty_range));
        CUSHIM_TRY_VOID(check_range(offset, size, this->size()));
        return set_access_of(native() + offset, size, grants, {offset, size});
    });
}

Result<AccessFlags> AddressRange::get_access(std::size_t offset, Device device) const noexcept {
    return named("AddressRange::get_access", [&]() -> Result<AccessFlags> {
        CUSHIM_TRY_VOID(require(*this, empty_range));
        if (offset >= size()) [[unlikely]] {
            return invalid_argument("offset %zu is outside the range of %zu byte%s", offset, size(),
                                    plural(size()));
        }
        return access_at(native() + offset, device);
    });
}

Result<MappedRange> MappedRange::map(const AddressRange &range, std::size_t offset,
                                     const PhysicalMemory &memory) noexcept {
    return named("MappedRange::map", [&]() -> Result<MappedRange> {
        CUSHIM_TRY_VOID(check_part(range, offset, memory, memory.value().granularity));
        CUSHIM_TRY(auto state, make_state<MappedState>(range, memory));
        state->address = range.native() + offset;
        state->size = memory.size();
        if (const Result<void> made =
                call<entry::cuMemMap>(state->address, state->size, 0, memory.native(), 0);
            !made) [[unlikely]] {
            return not_mapped(made.error(), offset, state->size);
        }
        const Mapped value{state->address, state->size, offset};
        return MappedRange(value, state.take());
    });
}

Result<MappedRange> MappedRange::map(const AddressRange &range, std::size_t offset,
                                     const PhysicalMemory &memory,
                                     std::span<const AccessGrant> grants) noexcept {
    return named("MappedRange::map", [&]() -> Result<MappedRange> {
        Result<MappedRange> mapped = map(range, offset, memory);
        if (mapped) [[likely]] {
            CUSHIM_TRY_VOID(set_access_of(mapped->native(), memory.size(), grants));
        }
        return mapped;
    });
}

Result<MappedRange> MappedRange::adopt(const AddressRange &range, std::size_t offset,
                                       const PhysicalMemory &memory) noexcept {
    return named("MappedRange::adopt", [&]() -> Result<MappedRange> {
        CUSHIM_TRY_VOID(check_part(range, offset, memory, 0));
        CUSHIM_TRY(auto state, make_state<MappedState>(range, memory));
        state->address = range.native() + offset;
        state->size = memory.size();
        const Mapped value{state->address, state->size, offset};
        return MappedRange(value, state.take());
    });
}

Result<void> MappedRange::set_access(std::span<const AccessGrant> grants) const noexcept {
    return named("MappedRange::set_access", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty_mapping));
        return set_access_of(native(), size(), grants);
    });
}

Result<AccessFlags> MappedRange::get_access(Device device) const noexcept {
    return named("MappedRange::get_access", [&]() -> Result<AccessFlags> {
        CUSHIM_TRY_VOID(require(*this, empty_mapping));
        return access_at(native(), device);
    });
}

Result<void> MappedRange::release_after(const Stream &stream) const noexcept {
    return named("MappedRange::release_after", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty_mapping));
        CUSHIM_TRY(Stream kept, keep_for_release(stream));
        auto *const state = static_cast<MappedState *>(Access::state(*this));
        if (state == nullptr) {
            return Error::invalid_argument(
                "the mapping is borrowed; call release_after() of its owner");
        }
        state->release_after(std::move(kept));
        return {};
    });
}

} // namespace cushim
