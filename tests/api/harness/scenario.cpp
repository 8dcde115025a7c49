#include "scenario.hpp"

#include "reports.hpp"
#include "simulator.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>

namespace api_test {
namespace {

constexpr int seeds = 20;
constexpr int injected = 999; // CUDA_ERROR_UNKNOWN: what no wrapper takes for an answer

CUcontext current_context() {
    CUcontext context = nullptr;
    REQUIRE(cushim::driver().cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    return context;
}

// A context of the caller's own, current while the scenario runs: what wrappers must leave alone. On a real
// driver it is one for the whole process, since making it takes a third of a second there.
class CallersContext {
  public:
    CallersContext() {
        if (simulator() == nullptr) {
            static const CUcontext lasting = create();
            context_ = lasting;
            REQUIRE(cushim::driver().cuCtxPushCurrent(context_) == CUDA_SUCCESS);
        } else {
            context_ = create();
        }
    }
    ~CallersContext() {
        CHECK(current_context() == context_);
        CUcontext popped = nullptr;
        CHECK(cushim::driver().cuCtxPopCurrent(&popped) == CUDA_SUCCESS);
        if (simulator() != nullptr) {
            CHECK(cushim::driver().cuCtxDestroy(context_) == CUDA_SUCCESS);
        }
    }
    CallersContext(const CallersContext &) = delete;
    CallersContext &operator=(const CallersContext &) = delete;

  private:
    // Current afterwards on the simulator, as CUDA has it.
    static CUcontext create() {
        CUcontext context = nullptr;
        REQUIRE(cushim::driver().cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS);
        if (simulator() == nullptr) {
            CUcontext popped = nullptr;
            REQUIRE(cushim::driver().cuCtxPopCurrent(&popped) == CUDA_SUCCESS);
        }
        return context;
    }

    CUcontext context_ = nullptr;
};

std::string joined(const std::vector<std::string> &lines) {
    std::string all;
    for (const std::string &line : lines) {
        all += "\n  " + line;
    }
    return all;
}

void check_clean() {
    cushim::wait_for_released_closures();
    const auto left = leaks();
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

void check_result(const cushim::Result<void> &result) {
    if (result) {
        return;
    }
    const cushim::Error &error = result.error();
    if (is_old_driver() && error.kind() == cushim::ErrorKind::requires_newer_driver) {
        INFO(error.message());
        CHECK(error.installed() == cushim::driver_version());
        CHECK(error.required() > error.installed());
        return;
    }
    FAIL_CHECK(error.message());
}

// Runs it once, undisturbed.
void run_plainly(Scenario scenario, const std::string &settings) {
    INFO(settings);
    restart(settings);
    const Reports reports;
    {
        const CallersContext callers;
        Trial trial;
        check_result(scenario(trial));
    }
    INFO("destructors reported:" << joined(reports.lines()));
    CHECK(reports.failures.empty());
    check_clean();
}

// The calls that a scenario makes, in order, by exported name. Those of the harness are not among them.
std::vector<std::string> calls_of(Scenario scenario, const std::string &settings) {
    restart(settings);
    const CallersContext callers;
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
        const CallersContext callers;
        cushim_sim_fault fault{};
        fault.entry = name.c_str();
        fault.kind = gives_back(name) ? CUSHIM_SIM_FAULT_AFTER : CUSHIM_SIM_FAULT_INSTEAD;
        fault.code = injected;
        fault.nth = nth;
        const auto number = simulator()->plan_fault(&fault);
        REQUIRE(number != 0);
        Trial trial;
        const cushim::Result<void> result = scenario(trial);
        cushim::wait_for_released_closures();
        const bool fired = simulator()->fault_fired(number) != 0;
        simulator()->clear_faults();
        if (fired && result && reports.failures.empty() && !trial.is_dispensable(name)) {
            FAIL_CHECK("the failure shows nowhere");
        }
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

bool Trial::is_dispensable(const std::string &entry_point) const {
    return std::find(dispensable_.begin(), dispensable_.end(), entry_point) != dispensable_.end();
}

SweptCounts &swept() {
    static SweptCounts counts;
    return counts;
}

void run_scenario(const char *name, Scenario scenario, const std::string &settings) {
    INFO(name);
    run_plainly(scenario, settings);
    if (simulator() == nullptr || is_old_driver()) {
        return;
    }
    for (int seed = 1; seed <= seeds; ++seed) {
        run_plainly(scenario, settings + ";mode=adversarial;seed=" + std::to_string(seed));
    }
    sweep_faults(scenario, settings);
}

} // namespace api_test
