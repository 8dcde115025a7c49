// The settings from CUSHIM_SIM that a process starts with, and their problems.
#pragma once

#include <string>

namespace sim {

// Reads CUSHIM_SIM at the first call of the process.
void start_once() noexcept;
// At a reset: counts it, discards all settings and reads CUSHIM_SIM again.
void count_restart() noexcept;
void start_again();
// The number of resets so far.
unsigned long long restarts() noexcept;
// The part of the last settings that was not understood, or "".
std::string &settings_problem() noexcept;
// A copy of the text that stays valid until the next reset.
const char *kept_text(const std::string &text);
// Fails the call with UNKNOWN and prints the reason if the settings or CUSHIM_SIM were not
// understood, so that a wrong configuration does not pass unnoticed.
void check_settings();
// Fails the call with UNKNOWN for another problem, and prints it.
[[noreturn]] void refuse_start(const std::string &problem);

} // namespace sim
