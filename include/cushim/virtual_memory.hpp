/* Virtual memory management: ranges of addresses, physical memory mapped in them, and who may access
 * what is mapped.
 *
 *     CUSHIM_TRY(auto granularity, Granularity::of(device));
 *     CUSHIM_TRY(auto size, granularity.round_up(wanted));
 *     CUSHIM_TRY(auto range, AddressRange::reserve(device, size));
 *     CUSHIM_TRY(auto memory, PhysicalMemory::create(device, size));
 *     CUSHIM_TRY(auto mapped, MappedRange::map(range, 0, memory, {device, AccessFlags::read_write}));
 *
 * Addresses and memory apart buy what cuMemAlloc does not have: memory that grows in place
 * (growable_buffer.hpp), access for each device, and export to other processes.
 *
 * Owners may go in any order. A mapping keeps its range and its memory: the memory is unmapped, then
 * the range is freed, then the memory is released.
 *
 * Threads: the rules of handle.hpp. Nothing here needs or changes a current context.
 * Errors: not_supported_by_device where the device has no virtual memory management;
 * requires_newer_driver; out_of_memory; invalid_argument with the numbers for what does not fit.
 * Linux and Windows. Since CUDA 10.2. */
#ifndef CUSHIM_VIRTUAL_MEMORY_HPP
#define CUSHIM_VIRTUAL_MEMORY_HPP

#include <span>

#include <cushim/access.hpp>
#include <cushim/device_span.hpp>
#include <cushim/physical_memory.hpp>
#include <cushim/stream.hpp>

namespace cushim {

struct AddressRangeOptions {
    // A power of two; 0: as CUDA likes.
    std::size_t alignment = 0;
    // Where to begin, if that is free. CUDA may take another place: see native().
    CUdeviceptr hint = 0;
};

namespace detail {

struct Addresses {
    CUdeviceptr native = 0;
    std::size_t size = 0;
};

struct Mapped {
    CUdeviceptr native = 0;
    std::size_t size = 0;
    std::size_t offset = 0; // in the range
};

} // namespace detail

/* Addresses that nothing else gets, and nothing behind them yet. */
class AddressRange : public detail::Shared<AddressRange, detail::Addresses> {
  public:
    AddressRange() noexcept = default;

    // `size` bytes, a multiple of the host's page size and not 0; ranges for mappings are multiples of
    // the granularity. For all devices; `device` says whether there is virtual memory management.
    // invalid_argument with the numbers for another size, alignment or hint; out_of_memory where so many
    // addresses are not free.
    // cuMemAddressReserve, cuMemAddressFree.
    CUSHIM_API static Result<AddressRange>
    reserve(Device device, std::size_t size, const AddressRangeOptions &options = {}) noexcept;

    // Takes over a range of just this address and size, neither of which is 0; cuMemAddressFree when the last
    // owner goes.
    CUSHIM_API static Result<AddressRange> adopt(CUdeviceptr address, std::size_t size) noexcept;
    // Does not own: the lender keeps it.
    CUSHIM_API static AddressRange borrow(CUdeviceptr address, std::size_t size) noexcept;

    // In bytes.
    std::size_t size() const noexcept { return value().size; }

    /* Who may access what is mapped in `size` bytes from `offset` on: all grants in one call, for all
     * mappings there. Devices that are not named keep what they have. The part has no holes and cuts
     * no mapping, else CUDA answers status 1 and nothing is changed. Of no bytes, or no grants:
     * success. cuMemSetAccess. */
    CUSHIM_API Result<void> set_access(std::size_t offset, std::size_t size,
                                       std::span<const AccessGrant> grants) const noexcept;
    Result<void> set_access(std::size_t offset, std::size_t size,
                            const AccessGrant &grant) const noexcept {
        return set_access(offset, size, std::span(&grant, 1));
    }

    // What the device may do with what is mapped at `offset`, in bytes; none where nothing was set.
    // invalid_argument where that is past the end. cuMemGetAccess.
    CUSHIM_API Result<AccessFlags> get_access(std::size_t offset, Device device) const noexcept;

  private:
    using Shared::Shared;
};

inline Text to_text(const AddressRange &range) noexcept {
    return detail::text_of("AddressRange", range, range.size());
}

/* Physical memory at an address: all of it, in a part of a range.
 *
 * A new mapping is accessible to nobody, not even to the device that the memory lies on: give map()
 * the access that is wanted, or call set_access(). A kernel that touches memory without access
 * destroys its context; copies answer status 1.
 *
 * Unmapping waits for nothing by itself: work that uses the memory must be done by then, or
 * release_after() says what to wait for. */
class MappedRange : public detail::Shared<MappedRange, detail::Mapped> {
  public:
    MappedRange() noexcept = default;

    // `memory` at `offset` of the range, which is a multiple of the memory's granularity, where
    // nothing is mapped yet (else CUDA answers status 1). invalid_argument with the numbers where it
    // reaches past the end. cuMemMap, cuMemUnmap.
    CUSHIM_API static Result<MappedRange> map(const AddressRange &range, std::size_t offset,
                                              const PhysicalMemory &memory) noexcept;

    // The same, with access; where that cannot be given, nothing stays mapped. cuMemSetAccess.
    CUSHIM_API static Result<MappedRange> map(const AddressRange &range, std::size_t offset,
                                              const PhysicalMemory &memory,
                                              std::span<const AccessGrant> grants) noexcept;
    static Result<MappedRange> map(const AddressRange &range, std::size_t offset,
                                   const PhysicalMemory &memory,
                                   const AccessGrant &grant) noexcept {
        return map(range, offset, memory, std::span(&grant, 1));
    }

    // Takes over what the caller mapped there: all of `memory`; cuMemUnmap when the last owner goes.
    CUSHIM_API static Result<MappedRange> adopt(const AddressRange &range, std::size_t offset,
                                                const PhysicalMemory &memory) noexcept;
    // Does not own: the lender keeps it.
    CUSHIM_API static MappedRange borrow(CUdeviceptr address, std::size_t size) noexcept;

    // In bytes.
    std::size_t size() const noexcept { return value().size; }
    // Where in its range it begins; 0 for a borrowed one.
    std::size_t offset() const noexcept { return value().offset; }

    // The memory as a whole number of T; what is left over at the end is not in it.
    template <DeviceType T>
    DeviceSpan<T> span() const noexcept {
        return {native(), size() / sizeof(T)};
    }

    // As AddressRange::set_access, of all of it.
    CUSHIM_API Result<void> set_access(std::span<const AccessGrant> grants) const noexcept;
    Result<void> set_access(const AccessGrant &grant) const noexcept {
        return set_access(std::span(&grant, 1));
    }

    // As AddressRange::get_access.
    CUSHIM_API Result<AccessFlags> get_access(Device device) const noexcept;

    // The last owner waits for all work in this stream before it unmaps: as DeviceBuffer::release_after.
    // Unmaps even if the stream is being captured then.
    CUSHIM_API Result<void> release_after(const Stream &stream) const noexcept;

  private:
    using Shared::Shared;
};

inline Text to_text(const MappedRange &range) noexcept {
    return detail::text_of("MappedRange", range, range.size());
}

} // namespace cushim

#endif
