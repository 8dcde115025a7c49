// Faults that several processes inherit from CUSHIM_SIM: whether one has fired in a descendant, and
// whether an ancestor has planned it, too. Ancestors are found on Linux only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sim {

// Makes a plan of this process known to its descendants. Its key is the same in each process.
// Returns false if that many are known already.
constexpr std::size_t most_shared_plans = 64;
bool share_plan(std::uint64_t key);

// A call of this process has counted for the plan, and perhaps made it fire: told to this process,
// where it outlives a reset, and to its ancestors.
void tell_processes(std::uint64_t key, bool has_fired) noexcept;

struct Elsewhere {
    bool is_planned = false; // by an ancestor
    // In a process that this one or an ancestor knows.
    bool has_counted = false, has_fired = false;
};
Elsewhere find_elsewhere(std::uint64_t key);

} // namespace sim
