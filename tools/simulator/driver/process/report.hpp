// Leaks, misuses, idle kernels and notes, one line each.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace sim {

using Line = std::function<void(const std::string &)>;

// Reports every live object and range that counts as a leak. Returns the number of lines.
std::size_t for_each_leak(const Line &line);
// Prints all four kinds to standard error. Returns whether there was anything but notes.
bool report_at_exit() noexcept;

} // namespace sim
