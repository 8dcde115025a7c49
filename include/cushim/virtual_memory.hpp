/* Virtual memory management: reserved address ranges, physical memory mapped into them, and access
 * rights.
 *
 *     CUSHIM_TRY(auto granularity, Granularity::of(device));
 *     CUSHIM_TRY(auto size, granularity.round_up(wanted));
 *     CUSHIM_TRY(auto range, AddressRange::reserve(device, size));
 *     CUSHIM_TRY(auto memory, PhysicalMemory::create(device, size));
 *     const AccessGrant access(device, AccessFlags::read_write);
 *     CUSHIM_TRY(auto mapped, MappedRange::map(range, 0, memory, access));
 *
 * Unlike cuMemAlloc, it allows memory that grows in place (growable_buffer.hpp), access per device,
 * and export to other processes as a file descriptor, a Windows handle or a fabric handle.
 *
 * Owners may be destroyed in any order. A mapping keeps its range and its memory alive: the memory
 * is unmapped, then the range is freed, then the memory is released.
 *
 * Errors: not_supported_by_device if the device has no virtual memory management;
 * requires_newer_driver; out_of_memory; invalid_argument for a size, offset or alignment, which the
 * message names.
 * Linux and Windows. */
#ifndef CUSHIM_VIRTUAL_MEMORY_HPP
#define CUSHIM_VIRTUAL_MEMORY_HPP

#include <span>

#include <cushim/access.hpp>
#include <cushim/detail/owner_values.hpp>
#include <cushim/device_span.hpp>
#include <cushim/handle.hpp>
#include <cushim/physical_memory.hpp>
#include <cushim/stream.hpp>

namespace cushim {

// Where to reserve a range.
struct AddressRangeOptions {
    // The alignment in bytes, a power of two; 0: CUDA's choice.
    std::size_t alignment = 0;
    // The preferred start, a multiple of the page size of the host. CUDA may choose another: see
    // native(). 0: no preference.
    CUdeviceptr hint = 0;
};

/* A reserved range of addresses, initially without memory. */
class AddressRange : public detail::Shared<AddressRange, detail::Addresses> {
  public:
    AddressRange() noexcept = default;

    // Reserves `size` bytes, a multiple of the page size of the host and not 0. Memory is mapped in
    // multiples of the granularity: a remainder at the end of the range stays unused. The range is
    // valid on all devices; `device` must have virtual memory management. invalid_argument for a
    // wrong size, alignment or hint; out_of_memory if no such range is free. cuMemAddressReserve,
    // cuMemAddressFree.
    CUSHIM_API static Result<AddressRange>
    reserve(Device device, std::size_t size, const AddressRangeOptions &options = {}) noexcept;

    // Owns a reserved range of exactly this address and size; neither may be 0. cuMemAddressFree.
    CUSHIM_API static Result<AddressRange> adopt(CUdeviceptr address, std::size_t size) noexcept;
    // Does not own; the lender must keep the range reserved.
    static AddressRange borrow(CUdeviceptr address, std::size_t size) noexcept {
        return {{address, size}, nullptr};
    }

    // The size in bytes.
    std::size_t size() const noexcept { return value().size; }

    /* Sets the access to all mappings in `size` bytes, starting at byte `offset`, in one CUDA call.
     * Devices that are not named keep their access. The part must have no gaps and must contain
     * whole mappings only, or CUDA returns CUDA_ERROR_INVALID_VALUE (1) and changes nothing.
     * With a size of 0 or without grants, no CUDA call is made. cuMemSetAccess. */
    CUSHIM_API Result<void> set_access(std::size_t offset, std::size_t size,
                                       std::span<const AccessGrant> grants) const noexcept;
    Result<void> set_access(std::size_t offset, std::size_t size,
                            const AccessGrant &grant) const noexcept {
        return set_access(offset, size, std::span(&grant, 1));
    }

    // The access of a device to the mapping at `offset`, in bytes; AccessFlags::none if none was
    // set. invalid_argument if offset is not less than size(). cuMemGetAccess.
    CUSHIM_API Result<AccessFlags> get_access(std::size_t offset, Device device) const noexcept;

  private:
    using Shared::Shared;
};

inline Text to_text(const AddressRange &range) noexcept {
    return detail::text_of("AddressRange", range, range.size());
}

/* Physical memory mapped at an address: all of the memory, in a part of a range.
 *
 * A new mapping is not accessible, not even to the device of the memory: pass the access to map(),
 * or call set_access(). A kernel that uses memory without access makes its context unusable;
 * copies return CUDA_ERROR_INVALID_VALUE (1). */
class MappedRange : public detail::Shared<MappedRange, detail::Mapped> {
  public:
    MappedRange() noexcept = default;

    // Maps all of `memory` at byte `offset` of the range, a multiple of the granularity of the
    // memory. CUDA_ERROR_INVALID_VALUE (1) if something is mapped there; invalid_argument if the
    // memory exceeds the range. cuMemMap, cuMemUnmap.
    CUSHIM_API static Result<MappedRange> map(const AddressRange &range, std::size_t offset,
                                              const PhysicalMemory &memory) noexcept;

    // Maps the memory and sets the access to it; if that fails, nothing remains mapped.
    // cuMemSetAccess.
    CUSHIM_API static Result<MappedRange> map(const AddressRange &range, std::size_t offset,
                                              const PhysicalMemory &memory,
                                              std::span<const AccessGrant> grants) noexcept;
    static Result<MappedRange> map(const AddressRange &range, std::size_t offset,
                                   const PhysicalMemory &memory,
                                   const AccessGrant &grant) noexcept {
        return map(range, offset, memory, std::span(&grant, 1));
    }

    // Owns a mapping of all of `memory`, which the caller made with cuMemMap. cuMemUnmap.
    CUSHIM_API static Result<MappedRange> adopt(const AddressRange &range, std::size_t offset,
                                                const PhysicalMemory &memory) noexcept;
    // Does not own; the lender must keep the mapping.
    static MappedRange borrow(CUdeviceptr address, std::size_t size) noexcept {
        return {{address, size, 0}, nullptr};
    }

    // The size in bytes.
    std::size_t size() const noexcept { return value().size; }
    // Where the mapping starts in its range, in bytes; 0 if borrowed.
    std::size_t offset() const noexcept { return value().offset; }

    // A view of the memory as elements of T, without the bytes that remain at the end.
    template <DeviceType T>
    DeviceSpan<T> span() const noexcept {
        return {native(), size() / sizeof(T)};
    }

    // AddressRange::set_access() for the whole mapping.
    CUSHIM_API Result<void> set_access(std::span<const AccessGrant> grants) const noexcept;
    Result<void> set_access(const AccessGrant &grant) const noexcept {
        return set_access(std::span(&grant, 1));
    }

    // See AddressRange::get_access().
    CUSHIM_API Result<AccessFlags> get_access(Device device) const noexcept;

    // Before the memory is unmapped, the last owner waits for all work in this stream: see
    // typed_buffer.hpp.
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

  private:
    using Shared::Shared;
};

inline Text to_text(const MappedRange &range) noexcept {
    return detail::text_of("MappedRange", range, range.size());
}

} // namespace cushim

#endif
