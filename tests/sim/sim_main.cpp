// Every test case begins on a fresh simulator and must leave neither live objects nor misuses behind.
#include "sim.hpp"
#include "sim_expectations.hpp"

#include <catch2/catch_test_case_info.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace sim_test;

std::string listed(const std::vector<std::string> &lines) {
    std::string all;
    for (const auto &line : lines) {
        all += "\n  " + line;
    }
    return all;
}

void check_leaks() {
    const auto left = leaks();
    if (!left.empty() && !expectations().leaks_allowed) {
        FAIL_CHECK("the test case leaves behind:" << listed(left));
    }
}

void check_misuses() {
    auto left = misuses();
    auto taken = expectations().taken;
    std::sort(taken.rbegin(), taken.rend());
    for (const std::size_t index : taken) {
        if (index < left.size()) {
            left.erase(left.begin() + static_cast<std::ptrdiff_t>(index));
        }
    }
    if (!left.empty()) {
        FAIL_CHECK("the test case misused the driver:" << listed(left));
    }
}

class CleanSimulator final : public Catch::EventListenerBase {
  public:
    using EventListenerBase::EventListenerBase;

    // Once for every path through the sections of a test case.
    void testCasePartialStarting(const Catch::TestCaseInfo &, std::uint64_t) override {
        depth_ = 0;
        expectations() = {};
        sim_control().reset();
    }

    void sectionStarting(const Catch::SectionInfo &) override { ++depth_; }

    // The outermost section is the test case itself. What it owned is gone by then, and a failure still
    // counts as its own.
    void sectionEnded(const Catch::SectionStats &stats) override {
        if (--depth_ == 0 && stats.assertions.failed == 0) {
            check_leaks();
            check_misuses();
        }
    }

  private:
    int depth_ = 0;
};
CATCH_REGISTER_LISTENER(CleanSimulator)

} // namespace
