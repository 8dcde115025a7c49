// Advice and prefetches of managed memory, page by page.
#pragma once

#include "engine/memory.hpp"

#include <cstddef>
#include <map>
#include <set>

namespace sim {

// A device or the host, with the API's numbers: an ordinal, CU_DEVICE_CPU or CU_DEVICE_INVALID.
struct Place {
    int type = 0; // CUmemLocationType
    int id = CU_DEVICE_INVALID;
    bool operator==(const Place &) const = default;
};

struct Advice {
    bool read_mostly = false;
    Place preferred, last_prefetch;
    std::set<int> accessed_by; // ids
};

// Range::advice.
struct ManagedState {
    std::map<std::size_t, Advice> spans{{0, {}}}; // by start offset

    // Calls it for the advice of every span in [offset, offset+size), splitting spans at its ends.
    void for_each(std::size_t offset, std::size_t size, const auto &function) {
        split(offset);
        split(offset + size);
        for (auto span = spans.find(offset); span != spans.end() && span->first < offset + size;
             ++span) {
            function(span->second);
        }
    }

  private:
    void split(std::size_t offset) {
        auto span = std::prev(spans.upper_bound(offset));
        spans.emplace(offset, span->second);
    }
};

// The managed range that contains [address, address+size), size not 0; fails with INVALID_VALUE.
Range &managed_range(CUdeviceptr address, std::size_t size);
ManagedState &managed_state(Range &range);

} // namespace sim
