// Scenarios: uses of the wrappers, from the first factory to the last owner. Each is run
//
//   - on the simulator, in the immediate mode and in the adversarial one with 20 seeds;
//   - with a context of the caller's own current, and in the immediate mode also with none, with
//     the primary context of device 0, and with that of device 1, where there is one;
//   - there again, once for each driver call that it makes, with that call failing;
//   - on simulated drivers of older versions, where it may answer requires_newer_driver;
//   - on a real GPU.
//
// After each run nothing may be left behind, nothing misused, and the thread's current context must
// be what it was before.
//
//     SCENARIO_TEST("an event is waited for", "[event]") {
//         CUSHIM_TRY(const Context context, trial.context());
//         CUSHIM_TRY(const Event event, Event::create(context));
//         ...
//         CHECK(...);           what must hold wherever no call failed
//         return {};
//     }
//
// Behind the tags may follow settings of the simulator: "devices=2". CONTEXT_SCENARIO_TEST makes
// `context` first, the primary one of device 0; STREAM_SCENARIO_TEST also `stream` in it, and
// ASIDE_SCENARIO_TEST one that does not wait for the default streams.
#pragma once

#include "checks.hpp"
#include "simulator.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cushim/cushim.hpp>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

namespace api_test {

// What is current on the thread when a scenario begins.
enum class Current : unsigned char { foreign, none, primary, other_device };

// One run of a scenario.
class Trial {
  public:
    explicit Trial(Current current = Current::foreign) : current_(current) {}

    // The primary context of device 0, as most scenarios want it.
    static cushim::Result<cushim::Context> context();

    // A failure of this call is not an error to the scenario's caller: it does without what the
    // call would have given.
    void may_do_without(const char *entry_point) { dispensable_.emplace_back(entry_point); }

    // Skips it on a real machine with fewer devices.
    cushim::Result<void> needs_devices(int least) const;

    // Leaves the scenario where this machine cannot run it, saying why: on a real GPU only.
    void skip(const std::string &why) const;

    // What it does came with this release of CUDA. Built with older headers it must say so: that it
    // needs newer ones or, as the simulated driver is no newer than they are, a newer driver. The
    // test then counts as skipped.
    void needs_cuda(int major, int minor) {
        needed_ = std::max(needed_, cushim::Version::of(major, minor));
    }
    cushim::Version needed() const { return needed_; }

    // The same of the driver alone: older headers do, where the driver is of this release.
    void needs_driver(int major, int minor) {
        needed_of_driver_ = std::max(needed_of_driver_, cushim::Version::of(major, minor));
    }
    // It calls libcudart, which wants a driver of the headers' major version.
    void needs_runtime() { needs_driver(cushim::headers_version().major(), 0); }
    cushim::Version needed_of_driver() const { return std::max(needed_, needed_of_driver_); }

    bool is_dispensable(const std::string &entry_point) const;

    // Ends the run where this is current, as what the scenario shows cannot be had there, saying
    // why.
    void leave_out(Current current, const char *why) const;
    struct LeftOut {};

  private:
    Current current_;
    std::vector<std::string> dispensable_;
    cushim::Version needed_;
    cushim::Version needed_of_driver_;
};

// Leaves an ordinary test case whose subject came with this release of CUDA, where the headers are
// older.
void need_cuda(int major, int minor);

using Scenario = cushim::Result<void> (*)(Trial &trial);

// Runs it in all the ways above that this process can.
void run_scenario(const char *name, Scenario scenario, const std::string &settings = "");

// A new simulator with these settings (restart()), and the context of most tests.
inline cushim::Context context_after_restart(const std::string &settings) {
    restart(settings);
    return required(Trial::context());
}

// What work that was waited for has left in the memory: in a buffer, or in a span.
template <template <class> class Memory, class T>
cushim::Result<std::vector<std::remove_const_t<T>>> read(const cushim::Context &context,
                                                         const Memory<T> &from) {
    std::vector<std::remove_const_t<T>> values(from.size());
    CUSHIM_TRY_VOID(cushim::copy(context, values, from));
    return values;
}

// In a scenario: the memory holds this value, and nothing else, once the work in it was waited for.
//
//     return check_filled(context, buffer, 8);
template <class Memory, class T>
cushim::Result<void> check_filled(const cushim::Context &context, const Memory &memory,
                                  const T &value, const char *file = __builtin_FILE(),
                                  int line = __builtin_LINE()) {
    const std::vector<T> expected(memory.size(), value);
    return check_gives(read(context, memory), expected, file, line);
}

// What a call of the tables returned, as a result.
inline cushim::Result<void> answer(CUresult status, const char *entry_point) {
    return status == CUDA_SUCCESS ? cushim::Result<void>()
                                  : cushim::Error::status(cushim::Api::driver, status, entry_point);
}
inline cushim::Result<void> answer(cudaError_t status, const char *entry_point) {
    return status == cudaSuccess ? cushim::Result<void>()
                                 : cushim::Error::status(cushim::Api::runtime, status, entry_point);
}

// Runs the function of a scenario in `context`, and with `stream` where it takes one.
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

// How many scenarios and calls were swept in this process.
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

// `run` is in_context or in_stream, and `parameters` are what it gives the function.
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
