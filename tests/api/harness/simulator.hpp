// The simulated driver, where the tests run on it.
#pragma once

#include <cushim_sim.h>

#include <string>
#include <vector>

namespace api_test {

// Its control; null on a real driver, and without one.
const cushim_sim *simulator();

// Leaves the test case on a real driver, saying why.
void need_simulator(const std::string &why);

// Begins anew with these settings (cushim_sim.h), initialised, with no context current. Ends the
// test case where they are not understood. On a real driver: initialises it, and no more.
void restart(const std::string &settings);

// The reports, a line each; empty on a real driver.
std::vector<std::string> leaks();
std::vector<std::string> misuses();

// On the simulator: every call of this entry point answers UNKNOWN until clear_faults(), and does
// what it is to do before that, or nothing at all.
void always_fail_after(const char *entry_point);
void always_fail_instead(const char *entry_point);

} // namespace api_test
