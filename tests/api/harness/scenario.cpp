#include "scenario.hpp"

#include "callers_context.hpp"
#include "reports.hpp"
#include "simulator.hpp"

#include <cushim/loader.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>
#include <thread>

namespace api_test {
namespace {

constexpr int seeds = 20;
constexpr int injected = 999; // CUDA_ERROR_UNKNOWN: what no wrapper takes for an answer

std::string joined(const std::vector<std::string> &lines) {
    std::string all;
    for (const std::string &line : lines) {
        all += "\n  " + line;
    }
    return all;
}

// What CUDA tells on a thread of its own that it needs no more goes a little later.
std::vector<std::string> leaks_at_last() {
    for (int rest = 100;; --rest) {
        cushim::wait_for_released_closures();
        auto left = leaks();
        if (left.empty() || rest == 0) {
            return left;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

void check_clean() {
    const auto left = leaks_at_last();
    if (!left.empty()) {
        FAIL_CHECK("left behind:" << joined(left));
    }
    const auto wrong = misuses();
    if (!wrong.empty()) {
        FAIL_CHECK("misused:" << joined(wrong));
    }
}

bool is_old_driver() {
    return std::getenv("API_TEST_OLD_DRIVER") != nullptr;
}

// Whether it says that something here is too old, and the test said so, too.
bool is_for_newer_cuda(const Trial &trial, const cushim::Error &error) {
    const bool is_too_new = cushim::headers_version() < trial.needed();
    switch (error.kind()) {
    case cushim::ErrorKind::requires_newer_driver:
        return is_too_new ||
               (is_old_driver() && cushim::driver_version() < trial.needed_of_driver());
    case cushim::ErrorKind::requires_newer_headers:
        return is_too_new;
    default:
        return false;
    }
}

void check_versions(const Trial &trial, const cushim::Error &error) {
    INFO(error.message());
    const bool is_of_headers = error.kind() == cushim::ErrorKind::requires_newer_headers;
    CHECK(error.installed() ==
          (is_of_headers ? cushim::headers_version() : cushim::driver_version()));
    CHECK(error.required() > error.installed());
    if (cushim::headers_version() < trial.needed()) {
        CHECK(error.required() <= trial.needed());
    }
}

// Why it cannot be had with these headers, where it said so.
std::optional<std::string> check_result(const Trial &trial, const cushim::Result<void> &result) {
    if (result) {
        // Without newer headers it may do where the driver is newer.
        CHECK((simulator() == nullptr || trial.needed() <= cushim::headers_version()));
        return std::nullopt;
    }
    const cushim::Error &error = result.error();
    if (!is_for_newer_cuda(trial, error)) {
        FAIL_CHECK(error.message());
        return std::nullopt;
    }
    check_versions(trial, error);
    return is_old_driver() ? std::nullopt : std::optional<std::string>(error.message());
}

// Runs it once, undisturbed. Answers what check_result does.
std::optional<std::string> run_plainly(Scenario scenario, const std::string &settings,
                                       Current current = Current::foreign) {
    INFO(settings);
    INFO("current before: " << name_of(current));
    restart(settings);
    const Reports reports;
    std::optional<std::string> lacking;
    {
        const CallersContext callers(current);
        Trial trial(current);
        try {
            const cushim::Result<void> result = scenario(trial);
            lacking = check_result(trial, result);
        } catch (const Trial::LeftOut &) { // what it did until then must be clean all the same
        }
    }
    INFO("destructors reported:" << joined(reports.lines()));
    CHECK(reports.failures.empty());
    check_clean();
    return lacking;
}

// The simulator has as many devices as it is told.
bool has_other_device() {
    int count = 0;
    return simulator() != nullptr ||
           (cushim::driver().cuDeviceGetCount(&count) == CUDA_SUCCESS && count > 1);
}

std::string with_two_devices(const std::string &settings) {
    return settings.find("devices=") == std::string::npos ? settings + ";devices=2" : settings;
}

// The calls that a scenario makes, in order, by exported name. Those of the harness are not among them.
std::vector<std::string> calls_of(Scenario scenario, const std::string &settings) {
    restart(settings);
    const CallersContext callers(Current::foreign);
    simulator()->log_calls(1);
    {
        Trial trial;
        (void)scenario(trial);
        cushim::wait_for_released_closures();
    }
    simulator()->log_calls(0);
    std::vector<std::string> names;
    cushim_sim_call call;
    for (std::size_t index = 0; simulator()->call_at(index, &call) != 0; ++index) {
        names.emplace_back(call.name);
    }
    return names;
}

// Calls that give something back: when they fail, what they were to do has happened all the same, or
// nothing could tell a leak from the failure.
bool gives_back(std::string_view name) {
    constexpr std::string_view words[] = {"Free",   "Destroy",    "Release", "Unmap",  "Close",
                                          "Unload", "Unregister", "Pop",     "Disable"};
    return std::any_of(std::begin(words), std::end(words), [&](std::string_view word) {
        return name.find(word) != std::string_view::npos;
    });
}

void run_failing(Scenario scenario, const std::string &settings, const std::string &name,
                 std::size_t nth) {
    INFO("call " << nth << " of " << name << " fails");
    restart(settings);
    const Reports reports;
    {
        const CallersContext callers(Current::foreign);
        cushim_sim_fault fault{};
        fault.entry = name.c_str();
        fault.kind = gives_back(name) ? CUSHIM_SIM_FAULT_AFTER : CUSHIM_SIM_FAULT_INSTEAD;
        fault.code = injected;
        fault.nth = nth;
        const auto number = simulator()->plan_fault(&fault);
        REQUIRE(number != 0);
        Trial trial;
        const cushim::Result<void> result = scenario(trial);
        const auto is_hidden = [&] {
            cushim::wait_for_released_closures();
            return simulator()->fault_fired(number) != 0 && result && reports.empty() &&
                   !trial.is_dispensable(name);
        };
        // What goes on another thread may report a little later.
        for (int rest = 100; is_hidden() && rest > 0; --rest) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        if (is_hidden()) {
            FAIL_CHECK("the failure shows nowhere");
        }
        simulator()->clear_faults();
    }
    check_clean();
}

void sweep_faults(Scenario scenario, const std::string &settings) {
    const std::vector<std::string> calls = calls_of(scenario, settings);
    // By name, as calls of cushim's own thread come in between: what fails is to be what was meant.
    std::map<std::string, std::size_t> seen;
    for (const std::string &name : calls) {
        run_failing(scenario, settings, name, ++seen[name]);
    }
    ++swept().scenarios;
    swept().calls += calls.size();
}

} // namespace

cushim::Result<cushim::Context> Trial::context() {
    CUSHIM_TRY(const cushim::Device device, cushim::Device::get(0));
    return cushim::Context::primary(device);
}

void Trial::skip(const std::string &why) const {
    if (simulator() != nullptr) {
        FAIL("the simulator can: " << why);
    }
    SKIP(why);
}

void Trial::leave_out(Current current, [[maybe_unused]] const char *why) const {
    if (current == current_) {
        throw LeftOut();
    }
}

bool Trial::is_dispensable(const std::string &entry_point) const {
    return std::find(dispensable_.begin(), dispensable_.end(), entry_point) != dispensable_.end();
}

void need_cuda(int major, int minor) {
    if (cushim::headers_version() < cushim::Version::of(major, minor)) {
        SKIP("needs the headers of CUDA " << major << "." << minor);
    }
}

SweptCounts &swept() {
    static SweptCounts counts;
    return counts;
}

void run_scenario(const char *name, Scenario scenario, const std::string &settings) {
    INFO(name);
    const KeptPrimary kept;
    if (const auto lacking = run_plainly(scenario, settings)) {
        SKIP(*lacking);
    }
    for (const Current current : {Current::none, Current::primary}) {
        CHECK_FALSE(run_plainly(scenario, settings, current));
    }
    if (has_other_device()) {
        CHECK_FALSE(run_plainly(scenario, with_two_devices(settings), Current::other_device));
    }
    if (simulator() == nullptr || is_old_driver()) {
        return;
    }
    for (int seed = 1; seed <= seeds; ++seed) {
        CHECK_FALSE(
            run_plainly(scenario, settings + ";mode=adversarial;seed=" + std::to_string(seed)));
    }
    sweep_faults(scenario, settings);
}

} // namespace api_test
