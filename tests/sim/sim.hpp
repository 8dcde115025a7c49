// The simulated driver that the tests run on: its control, its settings for a scope, what is
// expected of its reports.
#pragma once

#include <cushim/cushim.hpp>
#include <cushim_sim.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

// What most tests use of the standard library.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sim_test {

// What the tests call, and the two statuses that they expect most.
inline constexpr cushim::DriverTable d{};
inline constexpr cushim::RuntimeTable r{};
constexpr auto good = CUDA_SUCCESS;
constexpr auto invalid = CUDA_ERROR_INVALID_VALUE;

// A base of what is neither copied nor moved.
struct Unique {
    Unique() = default;
    Unique(const Unique &) = delete;
    Unique &operator=(const Unique &) = delete;
};

// Of the driver that CUSHIM_DRIVER names, which is the one that cushim loads. Ends the program,
// saying why, where that is none of ours.
const cushim_sim &sim_control();

// A function of that library by its exported name, or null.
void (*exported(const char *name))();
// The same of another library, which stays loaded.
void (*exported(const std::string &library, const char *name))();

// Sets what configure() understands; fails the test case where it does not.
void configure(const std::string &settings);

// Resets the simulator, applies these settings and initialises it, with the primary context of
// device 0 retained and current. A test case begins with this, without settings, unless it has the
// tag [fresh].
void start(const std::string &settings = "");

// The reports, a line each. What start() retained is no leak.
std::vector<std::string> leaks();
std::vector<std::string> misuses();

// The next misuse of this test case must contain `text`; the listener takes it out of the report.
// Call it after the misuse was committed: fails where none was.
void expect_misuse(const std::string &text);
// Forgets what is left over, in a test of the report itself.
void allow_leaks();

// The names of the modes, for GENERATE_COPY: "mode=immediate", "mode=threaded", and a few seeds of
// "mode=adversarial;seed=1".
const std::vector<std::string> &all_modes();

} // namespace sim_test
