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
//     SCENARIO_TEST("an event is waited for", "[event]", (const Context &context)) {
//         CUSHIM_TRY(const Event event, Event::create(context));
//         ...
//         CHECK(...);           what must hold if no call failed
//         return {};
//     }
//
// The parameters are made from left to right, by their types: `Trial &` is the run, `const Context
// &` the primary context of device 0, `const Stream &` a stream in it, `const StreamAside &` a
// non-blocking one; for others see Fixture. Settings of the simulator may follow: "devices=2".
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
#include <tuple>
#include <type_traits>
#include <utility>
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
    void needs_runtime() { needs_driver(cushim::headers_version().major_version(), 0); }
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
    return ok(Trial::context());
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

// A non-blocking stream.
struct StreamAside {
    cushim::Stream stream;
};

// The context among the parameters before, or else the primary context of device 0.
inline cushim::Result<cushim::Context> context_among() {
    return Trial::context();
}
template <class First, class... Others>
cushim::Result<cushim::Context> context_among(const First &first, const Others &...others) {
    if constexpr (std::is_same_v<First, cushim::Context>) {
        return first.share();
    } else {
        return context_among(others...);
    }
}

// Makes a parameter of a scenario from the parameters before it.
template <class T>
struct Fixture;
template <>
struct Fixture<cushim::Context> {
    static cushim::Result<cushim::Context> make(const auto &...) { return Trial::context(); }
};
template <>
struct Fixture<cushim::Stream> {
    static cushim::Result<cushim::Stream> make(Trial &, cushim::Api, const auto &...before) {
        CUSHIM_TRY(const cushim::Context context, context_among(before...));
        return cushim::Stream::create(context);
    }
};
template <>
struct Fixture<StreamAside> {
    static cushim::Result<StreamAside> make(Trial &, cushim::Api, const auto &...before) {
        CUSHIM_TRY(const cushim::Context context, context_among(before...));
        CUSHIM_TRY(auto stream, cushim::Stream::create(context, {.non_blocking = true}));
        return StreamAside{std::move(stream)};
    }
};

// Makes the parameters and runs the scenario.
template <class... Parameters, class... Made>
cushim::Result<void> run_with(cushim::Result<void> (*scenario)(Parameters...), Trial &trial,
                              cushim::Api api, Made &...made) {
    if constexpr (sizeof...(made) == sizeof...(Parameters)) {
        return scenario(made...);
    } else {
        using Next =
            std::remove_cvref_t<std::tuple_element_t<sizeof...(made), std::tuple<Parameters...>>>;
        if constexpr (std::is_same_v<Next, Trial>) {
            return run_with(scenario, trial, api, made..., trial);
        } else if constexpr (std::is_same_v<Next, cushim::Api>) {
            return run_with(scenario, trial, api, made..., api);
        } else {
            CUSHIM_TRY(Next next, Fixture<Next>::make(trial, api, made...));
            return run_with(scenario, trial, api, made..., next);
        }
    }
}
template <auto scenario, cushim::Api api = cushim::Api::driver>
cushim::Result<void> with_fixtures(Trial &trial) {
    return run_with(scenario, trial, api);
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

#define API_TEST_SCENARIO(function, name, tags, parameters, ...)                                   \
    static ::cushim::Result<void> function parameters;                                             \
    TEST_CASE(name, tags) {                                                                        \
        ::api_test::run_scenario(name,                                                             \
                                 ::api_test::with_fixtures<function> __VA_OPT__(, ) __VA_ARGS__);  \
    }                                                                                              \
    static ::cushim::Result<void> function parameters
#define SCENARIO_TEST(name, tags, parameters, ...)                                                 \
    API_TEST_SCENARIO(API_TEST_JOIN(scenario_, __LINE__), name, tags,                              \
                      parameters __VA_OPT__(, ) __VA_ARGS__)
