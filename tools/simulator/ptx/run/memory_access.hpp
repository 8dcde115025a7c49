// How steps find device memory.
#pragma once

#include "ptx/run/program.hpp"

#include <vector>

namespace sim::ptx::inline SIM_PTX_FEATURES {

// Remembers for each access in the code where it found memory last.
class MemoryAccess {
  public:
    MemoryAccess(Memory &memory, std::size_t sites) : memory_(memory), extents_(sites) {}

    // Forgets what may have ended meanwhile.
    void refresh();
    // Where the host accesses these bytes. Null: they are not in one extent, or cannot be written.
    std::byte *view(std::uint16_t site, std::uint64_t address, std::size_t size, bool write) {
        const Extent &known = extents_[site];
        const std::uint64_t offset = address - known.begin;
        if (offset < known.size && size <= known.size - offset && (known.writable || !write))
            [[likely]] {
            return known.view + offset;
        }
        return find(site, address, size, write);
    }

  private:
    std::byte *find(std::uint16_t site, std::uint64_t address, std::size_t size, bool write);

    Memory &memory_;
    std::vector<Extent> extents_;
    std::uint64_t generation_ = 0;
};

} // namespace sim::ptx::inline SIM_PTX_FEATURES
