// The simulated driver that the tests run on: its control interface, settings, expected reports.
#pragma once

#include <cushim/table.hpp>
#include <cushim_sim.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

// Standard headers that most tests need.
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

using cushim::driver;
using cushim::runtime;
constexpr auto invalid = CUDA_ERROR_INVALID_VALUE;

// Checks that a call succeeds.
template <class Status>
void ok(Status status, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    INFO(file << ":" << line);
    CHECK(status == Status{});
}
// The same, and ends the test case if it fails.
template <class Status>
void require_ok(Status status, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    INFO(file << ":" << line);
    REQUIRE(status == Status{});
}

// A base of classes that are neither copied nor moved.
struct Unique {
    Unique() = default;
    Unique(const Unique &) = delete;
    Unique &operator=(const Unique &) = delete;
};

// The control interface of the driver that CUSHIM_DRIVER names and cushim loads. Ends the program
// with a message if it is not a simulated driver.
const cushim_sim &sim_control();

// A function that this driver exports by this name, or null.
void (*exported(const char *name))();
// A function of another library, which stays loaded.
void (*exported(const std::string &library, const char *name))();

// Applies settings; fails the test case if they are not understood.
void configure(const std::string &settings);

// Resets the simulator, applies the settings, calls cuInit and makes the primary context of device
// 0 current. Each test case begins with start() unless it has the tag [fresh].
void start(const std::string &settings = "");

// The reports, one line each. The context that start() retained is not a leak.
std::vector<std::string> leaks();
std::vector<std::string> misuses();

// The next misuse of this test case must contain `text` and is removed from the report. To be
// called after the misuse; fails if none was reported.
void expect_misuse(const std::string &text);
// The next leaks of things that have ended, with their context or their stream, must be of these
// kinds. They are removed from the report.
void expect_ended(const std::vector<std::string> &kinds);
// Ignores leaks, in tests of the report itself.
void allow_leaks();

// The modes for GENERATE_COPY: "mode=immediate", "mode=threaded", and "mode=adversarial;seed=1"
// with several seeds.
const std::vector<std::string> &all_modes();

} // namespace sim_test
