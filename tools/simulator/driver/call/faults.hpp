// Planned faults: which call fails, and how. See cushim_sim_fault.
#pragma once

#include "../../cushim_sim.h"
#include "base/planned_fault.hpp"
#include "call/call.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sim {

// Whether any plan exists. Without plans, this check is the only cost for a call.
bool faults_planned() noexcept;
// Counts the call against every plan. Releases the lock and waits if a plan requires it.
PlannedFault consult_faults(const Row &row) noexcept;
// For a finished call that enqueued no work for a planned asynchronous fault: adds a note, once per
// plan.
void note_unused(const PlannedFault &fault, const char *call, std::uint64_t number) noexcept;

// Returns 0 if no entry point has that name. The caller holds the lock.
std::uint64_t plan_fault(const cushim_sim_fault &fault);
// Whether the text of a fault begins with the name of an entry point or with "*". fault_text.cpp.
bool names_entry_point(std::string_view text);
bool is_entry_point(std::string_view name);
// Plans the fault that a text describes; false if it is not understood. fault_text.cpp.
bool plan_fault_of(std::string_view text);
std::uint64_t fault_fired(std::uint64_t number) noexcept;
// Reports one line for each plan that has fired in no process. `is_error`: in one of this process
// or its descendants, unless it is optional or left to chance.
void for_each_idle_fault(const std::function<void(const std::string &, bool is_error)> &line);
// The plans so far are those of CUSHIM_SIM, which other processes have, too.
void share_faults();
void clear_faults() noexcept;
// Ends every hang in progress.
void release_hangs() noexcept;
// Whether a call is hanging now.
bool call_hangs() noexcept;
// Exported and base names of the runtime library's entry points.
extern const char *const runtime_names[];
extern const unsigned int runtime_name_count;
// The runtime library registers its rows here.
void add_known_rows(const Row *rows, unsigned int count) noexcept;
// The rows of all tables, one after the other; null past the end.
const Row *known_row(std::size_t index) noexcept;

} // namespace sim
