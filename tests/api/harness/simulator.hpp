// Control of the simulated driver, if the tests run on it.
#pragma once

#include <cushim_sim.h>

#include <string>
#include <vector>

namespace api_test {

// Null on a real driver, and without a driver.
const cushim_sim *simulator();

// Skips the test case on a real driver, with this reason.
void need_simulator(const std::string &why);
// The same, for a test in which calls must fail.
void need_faults();

// Restarts the simulator with these settings (cushim_sim.h), initialised, with no current context.
// Invalid settings fail the test case. A real driver is only initialised.
void restart(const std::string &settings);

// The reports, a line each; empty on a real driver.
std::vector<std::string> leaks();
std::vector<std::string> misuses();

// On the simulator: every call of the entry point returns CUDA_ERROR_UNKNOWN until clear_faults(),
// after its effect or without it.
void always_fail_after(const char *entry_point);
void always_fail_instead(const char *entry_point);

} // namespace api_test
