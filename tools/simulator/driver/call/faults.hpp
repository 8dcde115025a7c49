// Planned faults: which call fails, with what. See cushim_sim_fault.
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

// Whether there is any plan: a call without plans pays no more than this.
bool faults_planned() noexcept;
// Counts the call against every plan; waits where one says so, with the lock given up.
PlannedFault consult_faults(const Row &row) noexcept;
// Of a call that is over, and has not taken the fault of its work: notes, once for a plan, that
// there was none.
void note_unused(const PlannedFault &fault, const char *call, std::uint64_t number) noexcept;

// 0 where no entry point has that name. With the lock held.
std::uint64_t plan_fault(const cushim_sim_fault &fault);
// Whether a text of a fault begins with the name of an entry point, or with "*". fault_text.cpp.
bool names_entry_point(std::string_view text);
bool is_entry_point(std::string_view name);
// The same as plan_fault() of a text; false where it is not understood. fault_text.cpp.
bool plan_fault_of(std::string_view text);
std::uint64_t fault_fired(std::uint64_t number) noexcept;
// A line for every plan that has not fired.
void for_each_idle_fault(const std::function<void(const std::string &)> &line);
void clear_faults() noexcept;
// Lets every call go on that hangs now.
void release_hangs() noexcept;
// Whether a call hangs now.
bool call_hangs() noexcept;
// The names of the runtime library's entry points, exported and base.
extern const char *const runtime_names[];
extern const unsigned int runtime_name_count;
// For the rows of the runtime library, which registers them.
void add_known_rows(const Row *rows, unsigned int count) noexcept;
// The rows of all tables in turn; null past the end.
const Row *known_row(std::size_t index) noexcept;

} // namespace sim
