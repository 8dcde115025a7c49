// What is left and what went wrong, line by line.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace sim {

using Line = std::function<void(const std::string &)>;

// Every object and range that lives and counts. Returns how many.
std::size_t for_each_leak(const Line &line);
// Where the settings ask for it: leaks and misuses on standard error.
void report_at_exit() noexcept;

} // namespace sim
