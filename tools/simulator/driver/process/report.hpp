// Leaks, lost objects, misuses, idle kernels and notes, one line each.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace sim {

using Line = std::function<void(const std::string &)>;

// What was not given back, and what was lost because its context failed (engine/open_calls.hpp).
// Return the number of lines.
std::size_t for_each_leak(const Line &line);
std::size_t for_each_lost(const Line &line);
// Prints all kinds to standard error. Returns whether the process must fail.
bool report_at_exit() noexcept;

} // namespace sim
