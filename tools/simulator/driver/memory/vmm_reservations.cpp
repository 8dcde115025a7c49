// Reservations of device addresses: cuMemAddressReserve, cuMemAddressFree.
#include "driver_functions.hpp"
#include "memory/virtual_memory.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>

namespace sim {
namespace {

// An address that is a multiple of the granularity, which need not be a power of two, and of the
// requested alignment.
std::uintptr_t place_for(std::size_t size, std::size_t alignment) {
    const std::size_t granularity = vmm_granularity();
    alignment = std::max<std::size_t>(alignment, 1);
    constexpr std::size_t most = ~std::size_t(0) / 4;
    require(size < most && alignment < most, CUDA_ERROR_OUT_OF_MEMORY);
    const std::size_t factor = granularity / std::gcd(alignment, granularity);
    require(factor < most / alignment, CUDA_ERROR_OUT_OF_MEMORY);
    const std::size_t unit = alignment * factor;
    if (std::has_single_bit(unit)) {
        return AddressSpace::get().reserve(size, unit);
    }
    return (AddressSpace::get().reserve(size + unit, 0) + unit - 1) / unit * unit;
}

// The size of a reservation, including mappings that exceed its end.
std::size_t reach_of(const Range &range) {
    const auto &mappings = reservation_of(range).mappings;
    if (mappings.empty()) {
        return range.size;
    }
    const auto &[offset, last] = *mappings.rbegin();
    return std::max(range.size, offset + last->size);
}

} // namespace

Reservation::~Reservation() {
    if (view != nullptr) {
        AddressSpace::get().unreserve_view(view, size);
    }
}

Reservation &reservation_of(const Range &range) noexcept {
    return *static_cast<Reservation *>(range.owner.get());
}

Range &reserved_range(CUdeviceptr address, std::size_t size, const char *what) {
    Range *range = AddressSpace::get().find(address);
    if (range == nullptr) {
        AddressSpace::get().report_freed(address, "use");
    }
    if (range == nullptr || range->memory != Memory::mapped) {
        if (what != nullptr) {
            explain("Address range %s must belong to a range reserved previously by "
                    "cuMemAddressReserve()",
                    what);
        }
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    require(size != 0 && size <= reach_of(*range) - (address - range->base));
    return *range;
}

Mapping *mapping_at(CUdeviceptr address) noexcept {
    const Range *range = AddressSpace::get().find(address);
    if (range == nullptr || range->memory != Memory::mapped) {
        return nullptr;
    }
    const auto &mappings = reservation_of(*range).mappings;
    const std::size_t offset = address - range->base;
    const auto after = mappings.upper_bound(offset);
    if (after == mappings.begin()) {
        return nullptr;
    }
    Mapping *mapping = std::prev(after)->second;
    return offset - mapping->offset < mapping->size ? mapping : nullptr;
}

namespace driver {

EXPORT CUresult cuMemAddressReserve(OUT CUdeviceptr *ptr, size_t size, size_t alignment,
                                    CUdeviceptr addr, unsigned long long flags) {
    require(ptr != nullptr, "Parameter ptr cannot be NULL");
    const std::size_t page = platform::page_size();
    require(flags == 0, "Parameter flags must be 0");
    require(size != 0, "Parameter size cannot be 0");
    if (size % page != 0) {
        require_granular(size, "Parameter size");
    }
    if (addr % page != 0) {
        refuse(CUDA_ERROR_INVALID_VALUE,
               "Requested address, addr, not aligned to minimum granularity (0x%zx bytes))",
               vmm_granularity());
    }
    require(alignment == 0 || std::has_single_bit(alignment),
            "Parameter alignment must be a power of two");
    // `addr` is a hint that this driver never follows, since addresses are never reused.
    auto reservation = std::make_shared<Reservation>();
    const std::size_t step = platform::map_granularity();
    require(size < ~std::size_t(0) - step, CUDA_ERROR_OUT_OF_MEMORY);
    reservation->size = (size + step - 1) / step * step;
    // Reserved first: the view can be released if no address is left, but an address cannot.
    reservation->view = AddressSpace::get().reserve_view(reservation->size);
    Range range;
    range.base = place_for(size, alignment);
    range.size = size;
    range.memory = Memory::mapped;
    range.view = reservation->view;
    range.owner = std::move(reservation);
    range.check = check_mapped;
    *ptr = AddressSpace::get().add(std::move(range)).base;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
    Range &range = reserved_range(ptr, 1, "requested to free");
    require(range.base == ptr && range.size == size);
    require(reservation_of(range).mappings.empty(), "Address range contains existing mapping");
    AddressSpace::get().remove(range);
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
