// What is left and what went wrong, line by line.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace sim {

using Line = std::function<void(const std::string &)>;

// Every object and range that lives and counts. Returns how many.
std::size_t for_each_leak(const Line &line);
// Leaks, misuses, idle kernels and notes on standard error. Whether there was anything but notes.
bool report_at_exit() noexcept;

} // namespace sim
