#include "scenario.hpp"

#include "callers_context.hpp"
#include "reports.hpp"
#include "simulator.hpp"

#include "../../support/sanitizers.h"

#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#include <cushim/loader.hpp>

#ifdef TEST_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <thread>

namespace api_test {
namespace {

constexpr int seeds = 20;
constexpr int injected = 999; // CUDA_ERROR_UNKNOWN: a status that wrappers do not handle

std::string joined(const std::vector<std::string> &lines) {
    std::string all;
    for (const std::string &line : lines) {
        all += "\n  " + line;
    }
    return all;
}

// Waits a little for resources that CUDA releases on its own thread.
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

void check_not_misused() {
    const auto wrong = misuses();
    if (!wrong.empty()) {
        FAIL_CHECK("misused:" << joined(wrong));
    }
}

void check_clean() {
    const auto left = leaks_at_last();
    if (!left.empty()) {
        FAIL_CHECK("left behind:" << joined(left));
    }
    check_not_misused();
}

bool is_old_driver() {
    return std::getenv("API_TEST_OLD_DRIVER") != nullptr;
}

// Whether the error says that the driver or the headers are too old, as the test expects.
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

// Returns the reason if the scenario needs newer headers.
std::optional<std::string> check_result(const Trial &trial, const cushim::Result<void> &result) {
    if (result) {
        // With a newer driver it may succeed despite older headers.
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

// Runs the scenario once without faults. Returns what check_result() does.
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
        } catch (const Trial::LeftOut &) { // the part that ran must leave no leaks
        }
    }
    INFO("destructors reported:" << joined(reports.lines()));
    CHECK(reports.failures.empty());
    check_clean();
    return lacking;
}

// The simulator's settings give the number of its devices.
bool has_other_device() {
    int count = 0;
    return simulator() != nullptr ||
           (cushim::driver().cuDeviceGetCount(&count) == CUDA_SUCCESS && count > 1);
}

std::string with_two_devices(const std::string &settings) {
    return settings.find("devices=") == std::string::npos ? settings + ";devices=2" : settings;
}

struct MadeCall {
    std::string name; // the exported one
    bool succeeded;
};

// The calls of a scenario in order, without those of the harness.
std::vector<MadeCall> calls_of(Scenario scenario, const std::string &settings) {
    restart(settings);
    const CallersContext callers(Current::foreign);
    simulator()->log_calls(1);
    {
        Trial trial;
        (void)scenario(trial);
        cushim::wait_for_released_closures();
    }
    simulator()->log_calls(0);
    std::vector<MadeCall> calls;
    cushim_sim_call call;
    for (std::size_t index = 0; simulator()->call_at(index, &call) != 0; ++index) {
        calls.push_back({call.name, call.status == CUDA_SUCCESS});
    }
    return calls;
}

// Calls that release something. They fail only after their effect; otherwise the failure would be
// indistinguishable from a leak.
bool gives_back(std::string_view name) {
    constexpr std::string_view words[] = {"Free",   "Destroy",    "Release", "Unmap",  "Close",
                                          "Unload", "Unregister", "Pop",     "Disable"};
    return std::any_of(std::begin(words), std::end(words), [&](std::string_view word) {
        return name.find(word) != std::string_view::npos;
    });
}

// A call of a scenario that must fail.
struct Failing {
    std::string name;
    std::size_t nth; // of that name
    cushim_sim_fault_kind kind;
};

// An object made by a call that fails after its effect is leaked: its handle cannot be trusted.
bool may_leak(const Failing &failing) {
    return failing.kind == CUSHIM_SIM_FAULT_AFTER && !gives_back(failing.name);
}

std::vector<std::uint64_t> plan(const std::vector<Failing> &calls) {
    std::vector<std::uint64_t> numbers;
    for (const Failing &failing : calls) {
        cushim_sim_fault fault{};
        fault.entry = failing.name.c_str();
        fault.kind = failing.kind;
        fault.code = injected;
        fault.nth = failing.nth;
        numbers.push_back(simulator()->plan_fault(&fault));
        REQUIRE(numbers.back() != 0);
    }
    return numbers;
}

std::string described(const std::vector<Failing> &calls) {
    std::string text;
    for (const Failing &failing : calls) {
        text += "call " + std::to_string(failing.nth) + " of " + failing.name + " fails" +
                (failing.kind == CUSHIM_SIM_FAULT_AFTER ? " after its effect; " : "; ");
    }
    return text;
}

// Whether a fault fired that must reach the scenario's caller as an error.
bool has_fired(const Trial &trial, const std::vector<Failing> &calls,
               const std::vector<std::uint64_t> &numbers) {
    for (std::size_t index = 0; index < calls.size(); ++index) {
        if (simulator()->fault_fired(numbers[index]) != 0 &&
            !trial.is_dispensable(calls[index].name)) {
            return true;
        }
    }
    return false;
}

void run_failing(Scenario scenario, const std::string &settings,
                 const std::vector<Failing> &calls) {
    INFO(described(calls));
    // A leaked CUDA object leaks the host memory that it keeps, too.
    const bool leaks_are_allowed = std::any_of(calls.begin(), calls.end(), may_leak);
#ifdef TEST_ADDRESS_SANITIZER
    std::optional<__lsan::ScopedDisabler> leak_sanitizer_is_off; // for this thread
    if (leaks_are_allowed) {
        leak_sanitizer_is_off.emplace();
    }
#endif
    restart(settings);
    const Reports reports;
    {
        const CallersContext callers(Current::foreign);
        const auto numbers = plan(calls);
        Trial trial;
        const cushim::Result<void> result = scenario(trial);
        const auto is_hidden = [&] {
            cushim::wait_for_released_closures();
            return result && reports.empty() && has_fired(trial, calls, numbers);
        };
        // Releases on another thread may report a little later.
        for (int rest = 100; is_hidden() && rest > 0; --rest) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        if (is_hidden()) {
            FAIL_CHECK("the failure was not reported");
        }
        simulator()->clear_faults();
    }
    if (leaks_are_allowed) {
        check_not_misused();
    } else {
        check_clean();
    }
}

bool ends_capture(const Failing &call) {
    return call.name == "cuStreamEndCapture" || call.name == "cudaStreamEndCapture";
}

// Without its event, and if synchronizing with the stream fails, too, the end of a launch is
// unknown: cushim keeps the launch's resources permanently and reports both failures.
bool loses_a_launch(const Failing &first, const Failing &second) {
    static const std::set<std::string> for_event = {"cuCtxGetCurrent", "cuCtxPushCurrent_v2",
                                                    "cuEventCreate", "cuEventRecord"};
    return for_event.count(first.name) != 0 && second.name == "cuStreamSynchronize";
}

bool launches_a_graph(const MadeCall &call) {
    return call.name == "cuGraphLaunch" || call.name == "cudaGraphLaunch";
}

// Without its reference to the user object, a graph does not keep its resources alive for copies
// that other code has made: cushim keeps them permanently.
bool loses_user_object(const Failing &first, const Failing &second) {
    return (first.name == "cuGraphReleaseUserObject" || first.name == "cuGraphRetainUserObject") &&
           second.name == "cuGraphRetainUserObject";
}

// A capture whose end fails twice stays active, and its graph is leaked.
bool beyond_repair(const Failing &first, const Failing &second, bool after_launch) {
    return (after_launch && loses_a_launch(first, second)) || loses_user_object(first, second) ||
           (ends_capture(first) && ends_capture(second));
}

// Lets every call fail alone, and calls that succeed and release nothing also after their effect.
// Then pairs of calls: each with the next one; API_TEST_PAIRS=all: with every later one; =none: no
// pairs.
void sweep_faults(Scenario scenario, const std::string &settings) {
    // Faults count calls by name, since another cushim thread may make calls in between.
    const std::vector<MadeCall> made = calls_of(scenario, settings);
    std::vector<Failing> calls;
    std::map<std::string, std::size_t> seen;
    for (const auto &[name, succeeded] : made) {
        calls.push_back({name, ++seen[name],
                         gives_back(name) ? CUSHIM_SIM_FAULT_AFTER : CUSHIM_SIM_FAULT_INSTEAD});
    }
    const char *pairs = std::getenv("API_TEST_PAIRS");
    const std::size_t reach = pairs == nullptr                    ? 1
                              : std::string_view(pairs) == "none" ? 0
                                                                  : calls.size();
    for (std::size_t index = 0; index < calls.size(); ++index) {
        const Failing &failing = calls[index];
        run_failing(scenario, settings, {failing});
        if (made[index].succeeded && failing.kind != CUSHIM_SIM_FAULT_AFTER) {
            run_failing(scenario, settings, {{failing.name, failing.nth, CUSHIM_SIM_FAULT_AFTER}});
        }
        const std::size_t end = std::min(calls.size(), index + 1 + reach);
        for (std::size_t second = index + 1; second < end; ++second) {
            const bool after_launch =
                std::any_of(made.begin(), made.begin() + std::ptrdiff_t(second), launches_a_graph);
            if (!beyond_repair(failing, calls[second], after_launch)) {
                run_failing(scenario, settings, {failing, calls[second]});
            }
        }
    }
    ++swept().scenarios;
    swept().calls += calls.size();
}

} // namespace

cushim::Result<cushim::Context> Trial::context() {
    CUSHIM_TRY(const cushim::Device device, cushim::Device::get(0));
    return cushim::Context::primary(device);
}

cushim::Result<void> Trial::needs_devices(int least) const {
    CUSHIM_TRY(const int count, cushim::Device::count());
    if (count < least) {
        skip("needs " + std::to_string(least) + " devices");
    }
    return {};
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

// An error does without the reasons that the driver's log would have given.
bool Trial::is_dispensable(const std::string &entry_point) const {
    return entry_point.starts_with("cuLogs") ||
           std::find(dispensable_.begin(), dispensable_.end(), entry_point) != dispensable_.end();
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

namespace {

// Prints the counts of the fault sweep at the end of a run.
class PrintSwept final : public Catch::EventListenerBase {
  public:
    using EventListenerBase::EventListenerBase;

    void testRunEnded(const Catch::TestRunStats &) override {
        if (api_test::swept().scenarios != 0) {
            std::printf("fault sweep: %lu scenarios, %lu calls failed in turn\n",
                        api_test::swept().scenarios, api_test::swept().calls);
        }
    }
};
CATCH_REGISTER_LISTENER(PrintSwept)

} // namespace
