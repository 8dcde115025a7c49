#include "ptx/run/memory_access.hpp"

#include <algorithm>

namespace sim::ptx::inline SIM_PTX_FEATURES {

void MemoryAccess::refresh() {
    if (memory_.generation() != generation_) {
        generation_ = memory_.generation();
        std::fill(extents_.begin(), extents_.end(), Extent{});
    }
}

std::byte *MemoryAccess::find(std::uint16_t site, std::uint64_t address, std::size_t size,
                              bool write) {
    const Extent extent = memory_.find(address);
    const std::uint64_t offset = address - extent.begin;
    if (offset >= extent.size || size > extent.size - offset || (write && !extent.writable)) {
        return nullptr;
    }
    extents_[site] = extent;
    return extent.view + offset;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
