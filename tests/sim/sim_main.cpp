// Each test case begins after start(), or with the tag [fresh] before cuInit. It must leave no live
// objects and no unexpected misuses. Hidden test cases run in a child process, whose settings stay.
#include "sim.hpp"
#include "sim_expectations.hpp"

#include <catch2/catch_test_case_info.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
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
        FAIL_CHECK("the test case leaves objects:" << listed(left));
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

// Of this process; 0 if they cannot be counted.
std::ptrdiff_t open_descriptors() {
#ifdef __linux__
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
#else
    return 0;
#endif
}

// Checked after a reset, which closes the simulator's own descriptors, except in a child.
void check_descriptors(std::ptrdiff_t before) {
    const char *settings = std::getenv("CUSHIM_SIM");
    if (settings != nullptr && *settings != '\0') {
        return;
    }
    sim_control().reset();
    if (const std::ptrdiff_t left = open_descriptors() - before; left > 0) {
        FAIL_CHECK("the test case leaves " << left << " open descriptors");
    }
}

class CleanSimulator final : public Catch::EventListenerBase {
  public:
    using EventListenerBase::EventListenerBase;

    // The variable would hide devices, an empty one all of them.
    void testRunStarting(const Catch::TestRunInfo &) override {
#ifdef _WIN32
        _putenv("CUDA_VISIBLE_DEVICES=");
#else
        unsetenv("CUDA_VISIBLE_DEVICES");
#endif
    }

    // Called for each path through the sections of a test case.
    void testCasePartialStarting(const Catch::TestCaseInfo &info, std::uint64_t) override {
        depth_ = 0;
        is_child_ = info.isHidden();
        expectations() = {};
        sim_control().reset();
        descriptors_ = open_descriptors();
        const bool fresh = std::ranges::find(info.tags, Catch::Tag("fresh")) != info.tags.end();
        if (!is_child_ && !fresh) {
            start();
        }
    }

    void sectionStarting(const Catch::SectionInfo &) override { ++depth_; }

    // The outermost section is the test case: its objects are destroyed, failures still count.
    void sectionEnded(const Catch::SectionStats &stats) override {
        if (--depth_ == 0 && stats.assertions.failed == 0) {
            check_leaks();
            check_misuses();
            if (!is_child_) { // a child reports leaks after this, at exit
                check_descriptors(descriptors_);
            }
        }
    }

  private:
    int depth_ = 0;
    std::ptrdiff_t descriptors_ = 0;
    bool is_child_ = false;
};
CATCH_REGISTER_LISTENER(CleanSimulator)

} // namespace
