// The settings that a process starts with, from CUSHIM_SIM, and what is wrong with them.
#pragma once

#include <string>

namespace sim {

// Reads CUSHIM_SIM at the first call of a process.
void start_once() noexcept;
// For a reset: counts it; forgets all settings, and reads CUSHIM_SIM again.
void count_restart() noexcept;
void start_again();
// How many resets there were.
unsigned long long restarts() noexcept;
// What was not understood in the last settings, or "".
std::string &settings_problem() noexcept;
// The same text, until the next reset: for those who get a pointer to it.
const char *kept_text(const std::string &text);
// Refuses with UNKNOWN where that, or CUSHIM_SIM, was not understood, and says so: who is set up
// wrongly must not pass for a good one.
void check_settings();
// The same for another problem.
[[noreturn]] void refuse_start(const std::string &problem);

} // namespace sim
