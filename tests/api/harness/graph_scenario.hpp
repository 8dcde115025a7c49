// Scenarios of graphs, each run for graphs of the driver API and for those of the runtime API.
//
//     GRAPH_SCENARIO_TEST("an event is recorded in a graph", "[graph]") {
//         CUSHIM_TRY(const Context context, trial.context());
//         CUSHIM_TRY(const Graph graph, api_test::create_graph(api, context));
//         ...
//     }
//
// GRAPH_CONTEXT_SCENARIO_TEST has `context`, and GRAPH_STREAM_SCENARIO_TEST also `stream`, as in
// scenario.hpp. GRAPH_TEST_CASE is an ordinary TEST_CASE, also for both; make_graph() is a
// beginning for such.
//
// Old drivers have no runtime library of the headers' major version, so there it is the driver API
// alone.
#pragma once

#include "../../support/ok.hpp"
#include "device_code.hpp"
#include "scenario.hpp"

#include <cushim/runtime_graph.hpp>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace api_test {

inline cushim::Result<cushim::Graph> create_graph(cushim::Api api, const cushim::Context &context) {
    return api == cushim::Api::runtime ? cushim::rt::create_graph(context)
                                       : cushim::Graph::create(context);
}

// The API beside it, and a graph as that one has it.
inline cushim::Api other(cushim::Api api) {
    return api == cushim::Api::driver ? cushim::Api::runtime : cushim::Api::driver;
}
inline cushim::Result<cushim::Graph> borrow_graph(cushim::Api api, const cushim::Context &context,
                                                  CUgraph graph) {
    return api == cushim::Api::runtime ? cushim::rt::borrow_graph(context, graph)
                                       : cushim::Graph::borrow(context, graph);
}
// The node as another Graph names it.
inline cushim::Result<cushim::GraphNode> node_in(const cushim::Graph &graph,
                                                 const cushim::GraphNode &node) {
    CUSHIM_TRY(const auto nodes, graph.nodes());
    for (const cushim::GraphNode &same : nodes) {
        if (same.native() == node.native()) {
            return same;
        }
    }
    FAIL("the node is not there");
    return cushim::GraphNode();
}

// A graph, where a simulator begins anew with these settings.
struct Made {
    cushim::Context context;
    cushim::Graph graph;
};
inline Made make_graph(cushim::Api api, const std::string &settings = "") {
    cushim::Context context = context_after_restart(settings);
    cushim::Graph graph = support::ok(create_graph(api, context));
    return {std::move(context), std::move(graph)};
}

inline cushim::Result<void> begin_capture(cushim::Api api, const cushim::Stream &stream,
                                          cushim::CaptureMode mode) {
    return api == cushim::Api::runtime ? cushim::rt::begin_capture(stream, mode)
                                       : stream.begin_capture(mode);
}
inline cushim::Result<cushim::Graph> end_capture(cushim::Api api, const cushim::Stream &stream) {
    return api == cushim::Api::runtime ? cushim::rt::end_capture(stream) : stream.end_capture();
}

template <class F>
cushim::Result<cushim::Graph> capture(cushim::Api api, const cushim::Stream &stream,
                                      cushim::CaptureMode mode, F &&f) {
    return api == cushim::Api::runtime ? cushim::rt::capture(stream, mode, f)
                                       : stream.capture(mode, f);
}

// A kernel that graphs of either API take: a library's; for the driver's, where there are none yet,
// a module's.
template <class Signature>
cushim::Result<cushim::Kernel<Signature>>
graph_kernel(Trial &trial, cushim::Api api, const cushim::Context &context, const char *name) {
    register_kernels();
    const auto libraries = cushim::required_version(cushim::Feature::graph_library_kernels);
    if (api == cushim::Api::driver &&
        std::min(cushim::driver_version(), cushim::headers_version()) < libraries) {
        CUSHIM_TRY(const cushim::Module module, load_device_code(context));
        return module.kernel<Signature>(name);
    }
    trial.needs_cuda(12, 0);
    CUSHIM_TRY(const cushim::Library library, cushim::Library::load(device_code));
    return library.kernel<Signature>(name);
}

// Whether it is so soon: CUDA tells on a thread of its own that nothing needs a thing any more.
template <class Predicate>
bool soon(const Predicate &predicate) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!predicate()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

// Gives what could go the time to go, while work of the test's is held up: on a device that may
// hold up whoever destroys things, too.
inline void let_go_of_what_can() {
    if (simulator() != nullptr) {
        cushim::wait_for_released_closures();
    } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

// In a scenario: that it was refused so is as it should be; anything else is the failure of another
// call.
template <class T>
cushim::Result<void> refused(const cushim::Result<T> &result, const std::string &why) {
    if (result) {
        FAIL_CHECK("not refused: " << why);
        return {};
    }
    return result.error().message() == why ? cushim::Result<void>()
                                           : cushim::Result<void>(result.error());
}

inline cushim::Result<void> launch_and_wait(const cushim::GraphExec &exec,
                                            const cushim::Stream &stream) {
    CUSHIM_TRY_VOID(exec.launch(stream));
    return stream.synchronize();
}
// Instantiates it, too.
inline cushim::Result<void> run_once(const cushim::Graph &graph, const cushim::Stream &stream) {
    CUSHIM_TRY(const cushim::GraphExec exec, graph.instantiate());
    return launch_and_wait(exec, stream);
}

} // namespace api_test

#define GRAPH_SCENARIO_FUNCTION(function, name, tags, ...)                                         \
    static ::cushim::Result<void> function(::api_test::Trial &trial, ::cushim::Api api);           \
    TEST_CASE(name, tags) {                                                                        \
        ::api_test::run_scenario(name, [](::api_test::Trial &trial) {                              \
            return function(trial, ::cushim::Api::driver);                                         \
        } __VA_OPT__(, ) __VA_ARGS__);                                                             \
    }                                                                                              \
    TEST_CASE(name " (runtime)", tags "[runtime][current]") {                                      \
        ::api_test::run_scenario(name " (runtime)", [](::api_test::Trial &trial) {                 \
            return function(trial, ::cushim::Api::runtime);                                        \
        } __VA_OPT__(, ) __VA_ARGS__);                                                             \
    }                                                                                              \
    static ::cushim::Result<void> function([[maybe_unused]] ::api_test::Trial &trial,              \
                                           [[maybe_unused]] ::cushim::Api api)
#define GRAPH_SCENARIO_TEST(name, tags, ...)                                                       \
    GRAPH_SCENARIO_FUNCTION(API_TEST_JOIN(graph_scenario_, __LINE__), name,                        \
                            tags __VA_OPT__(, ) __VA_ARGS__)

#define GRAPH_SCENARIO_IN(run, parameters, function, name, tags, ...)                              \
    static ::cushim::Result<void> function(::api_test::Trial &trial, ::cushim::Api api,            \
                                           parameters);                                            \
    TEST_CASE(name, tags) {                                                                        \
        ::api_test::run_scenario(name, [](::api_test::Trial &trial) {                              \
            return ::api_test::run<function>(trial, ::cushim::Api::driver);                        \
        } __VA_OPT__(, ) __VA_ARGS__);                                                             \
    }                                                                                              \
    TEST_CASE(name " (runtime)", tags "[runtime][current]") {                                      \
        ::api_test::run_scenario(name " (runtime)", [](::api_test::Trial &trial) {                 \
            return ::api_test::run<function>(trial, ::cushim::Api::runtime);                       \
        } __VA_OPT__(, ) __VA_ARGS__);                                                             \
    }                                                                                              \
    static ::cushim::Result<void> function([[maybe_unused]] ::api_test::Trial &trial,              \
                                           [[maybe_unused]] ::cushim::Api api, parameters)
#define GRAPH_CONTEXT_SCENARIO_TEST(name, tags, ...)                                               \
    GRAPH_SCENARIO_IN(in_context, API_TEST_CONTEXT, API_TEST_JOIN(graph_scenario_, __LINE__),      \
                      name, tags __VA_OPT__(, ) __VA_ARGS__)
#define GRAPH_STREAM_SCENARIO_TEST(name, tags, ...)                                                \
    GRAPH_SCENARIO_IN(in_stream, API_TEST_STREAM, API_TEST_JOIN(graph_scenario_, __LINE__), name,  \
                      tags __VA_OPT__(, ) __VA_ARGS__)

// The same for ordinary test cases: of what is refused, or ends in another way than a scenario can.
#define GRAPH_TEST_FUNCTION(function, name, tags)                                                  \
    static void function(::cushim::Api api);                                                       \
    TEST_CASE(name, tags) {                                                                        \
        function(::cushim::Api::driver);                                                           \
    }                                                                                              \
    TEST_CASE(name " (runtime)", tags "[runtime][current]") {                                      \
        function(::cushim::Api::runtime);                                                          \
    }                                                                                              \
    static void function(::cushim::Api api)
#define GRAPH_TEST_CASE(name, tags)                                                                \
    GRAPH_TEST_FUNCTION(API_TEST_JOIN(graph_test_, __LINE__), name, tags)
