// Scenarios: uses of the wrappers, from the first factory to the last owner. Each runs
//
//   - on the simulator, in immediate mode and in adversarial mode with 20 seeds;
//   - with a foreign context current; in immediate mode also with no context, with the primary
//     context of device 0, and with that of device 1, if it exists;
//   - in immediate mode once for each of its driver calls, with that call failing;
//   - on simulated drivers of older versions, where it may return requires_newer_driver;
//   - on a real GPU.
//
// Each run must leave no leaks and no misuses, and keep the thread's current context.
//
//     SCENARIO_TEST("an event is waited for", "[event]") {
//         CUSHIM_TRY(const Context context, trial.context());
//         CUSHIM_TRY(const Event event, Event::create(context));
//         ...
//         CHECK(...);           what must hold if no call failed
//         return {};
//     }
//
// Settings of the simulator may follow the tags: "devices=2". CONTEXT_SCENARIO_TEST has `context`,
// the primary context of device 0; STREAM_SCENARIO_TEST also `stream`; ASIDE_SCENARIO_TEST has a
// non-blocking `stream`.
#pragma once

#include "checks.hpp"
#include "simulator.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cushim/context.hpp>
#include <cushim/copy.hpp>
#include <cushim/loader.hpp>
#include <cushim/stream.hpp>
#include <cushim/table.hpp>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

namespace api_test {

// The thread's current context when a scenario begins.
enum class Current : unsigned char { foreign, none, primary, other_device };

// One run of a scenario.
class Trial {
  public:
    explicit Trial(Current current = Current::foreign) : current_(current) {}

    // The primary context of device 0.
    static cushim::Result<cushim::Context> context();

    // A failure of this call need not reach the scenario's caller.
    void may_do_without(const char *entry_point) { dispensable_.emplace_back(entry_point); }

    // Skips the scenario on a machine with fewer devices.
    cushim::Result<void> needs_devices(int least) const;

    // Skips the scenario with this reason; on the simulator, fails it.
    void skip(const std::string &why) const;

    // The scenario requires this release of CUDA. With older headers it must fail with
    // requires_newer_headers or, as the simulated driver is not newer than they are, with
    // requires_newer_driver. The test then counts as skipped.
    void needs_cuda(int major, int minor) {
        needed_ = std::max(needed_, cushim::Version::of(major, minor));
    }
    cushim::Version needed() const { return needed_; }

    // The scenario requires a driver of this release; older headers suffice.
    void needs_driver(int major, int minor) {
        needed_of_driver_ = std::max(needed_of_driver_, cushim::Version::of(major, minor));
    }
    // The scenario calls libcudart, which requires a driver of the headers' major version.
    void needs_runtime() { needs_driver(cushim::headers_version().major(), 0); }
    cushim::Version needed_of_driver() const { return std::max(needed_, needed_of_driver_); }

    bool is_dispensable(const std::string &entry_point) const;

    // Ends a run with this current context, in which the scenario shows nothing; `why` is the
    // reason.
    void leave_out(Current current, const char *why) const;
    struct LeftOut {};

  private:
    Current current_;
    std::vector<std::string> dispensable_;
    cushim::Version needed_;
    cushim::Version needed_of_driver_;
};

// Skips an ordinary test case that requires headers of this release of CUDA.
void need_cuda(int major, int minor);

using Scenario = cushim::Result<void> (*)(Trial &trial);

// Runs the scenario in all the ways above that are possible in this process.
void run_scenario(const char *name, Scenario scenario, const std::string &settings = "");

// Restarts the simulator with these settings; returns the primary context of device 0.
inline cushim::Context context_after_restart(const std::string &settings) {
    restart(settings);
    return required(Trial::context());
}

// The contents of a buffer or a span. Work that writes it must have completed.
template <template <class> class Memory, class T>
cushim::Result<std::vector<std::remove_const_t<T>>> read(const cushim::Context &context,
                                                         const Memory<T> &from) {
    std::vector<std::remove_const_t<T>> values(from.size());
    CUSHIM_TRY_VOID(cushim::copy(context, values, from));
    return values;
}

// In a scenario: checks that every element is `value`. Work that writes the memory must have
// completed.
//
//     return check_filled(context, buffer, 8);
template <class Memory, class T>
cushim::Result<void> check_filled(const cushim::Context &context, const Memory &memory,
                                  const T &value, const char *file = __builtin_FILE(),
                                  int line = __builtin_LINE()) {
    const std::vector<T> expected(memory.size(), value);
    return check_gives(read(context, memory), expected, file, line);
}

// The status of a direct call, as a result.
inline cushim::Result<void> answer(CUresult status, const char *entry_point) {
    return status == CUDA_SUCCESS ? cushim::Result<void>()
                                  : cushim::Error::status(cushim::Api::driver, status, entry_point);
}
inline cushim::Result<void> answer(cudaError_t status, const char *entry_point) {
    return status == cudaSuccess ? cushim::Result<void>()
                                 : cushim::Error::status(cushim::Api::runtime, status, entry_point);
}

// Run the function of a scenario with `context`, and with `stream` if it takes one.
template <auto function, class... Arguments>
cushim::Result<void> in_context(Trial &trial, Arguments... arguments) {
    CUSHIM_TRY(const cushim::Context context, Trial::context());
    return function(trial, arguments..., context);
}
template <auto function, class... Arguments>
cushim::Result<void> in_stream(Trial &trial, Arguments... arguments) {
    CUSHIM_TRY(const cushim::Context context, Trial::context());
    CUSHIM_TRY(const cushim::Stream stream, cushim::Stream::create(context));
    return function(trial, arguments..., context, stream);
}
template <auto function, class... Arguments>
cushim::Result<void> in_stream_aside(Trial &trial, Arguments... arguments) {
    CUSHIM_TRY(const cushim::Context context, Trial::context());
    CUSHIM_TRY(const auto stream, cushim::Stream::create(context, {.non_blocking = true}));
    return function(trial, arguments..., context, stream);
}

// The numbers of scenarios and calls that this process has swept.
struct SweptCounts {
    unsigned long scenarios = 0;
    unsigned long calls = 0;
};
SweptCounts &swept();

} // namespace api_test

#define API_TEST_JOIN_2(a, b) a##b
#define API_TEST_JOIN(a, b) API_TEST_JOIN_2(a, b)
#define API_TEST_CONTEXT [[maybe_unused]] const ::cushim::Context &context
#define API_TEST_STREAM API_TEST_CONTEXT, [[maybe_unused]] const ::cushim::Stream &stream

#define API_TEST_SCENARIO(function, name, tags, ...)                                               \
    static ::cushim::Result<void> function(::api_test::Trial &trial);                              \
    TEST_CASE(name, tags) {                                                                        \
        ::api_test::run_scenario(name, function __VA_OPT__(, ) __VA_ARGS__);                       \
    }                                                                                              \
    static ::cushim::Result<void> function([[maybe_unused]] ::api_test::Trial &trial)
#define SCENARIO_TEST(name, tags, ...)                                                             \
    API_TEST_SCENARIO(API_TEST_JOIN(scenario_, __LINE__), name, tags __VA_OPT__(, ) __VA_ARGS__)

// `run` is in_context or in_stream; `parameters` are those that it adds to the function.
#define API_TEST_SCENARIO_IN(run, parameters, function, name, tags, ...)                           \
    static ::cushim::Result<void> function(::api_test::Trial &trial, parameters);                  \
    TEST_CASE(name, tags) {                                                                        \
        ::api_test::run_scenario(name, ::api_test::run<function> __VA_OPT__(, ) __VA_ARGS__);      \
    }                                                                                              \
    static ::cushim::Result<void> function([[maybe_unused]] ::api_test::Trial &trial, parameters)
#define CONTEXT_SCENARIO_TEST(name, tags, ...)                                                     \
    API_TEST_SCENARIO_IN(in_context, API_TEST_CONTEXT, API_TEST_JOIN(scenario_, __LINE__), name,   \
                         tags __VA_OPT__(, ) __VA_ARGS__)
#define STREAM_SCENARIO_TEST(name, tags, ...)                                                      \
    API_TEST_SCENARIO_IN(in_stream, API_TEST_STREAM, API_TEST_JOIN(scenario_, __LINE__), name,     \
                         tags __VA_OPT__(, ) __VA_ARGS__)
#define ASIDE_SCENARIO_TEST(name, tags, ...)                                                       \
    API_TEST_SCENARIO_IN(in_stream_aside, API_TEST_STREAM, API_TEST_JOIN(scenario_, __LINE__),     \
                         name, tags __VA_OPT__(, ) __VA_ARGS__)
