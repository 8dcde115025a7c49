// Scenarios of graphs, each run with the driver API and with the runtime API.
//
//     GRAPH_SCENARIO_TEST("an event is recorded in a graph", "[graph]", (Graph &graph)) {
//         ...
//     }
//
// Beside the parameters of other scenarios, `Graph &` is an empty graph and `Api` the API.
// GRAPH_TEST_CASE is an ordinary TEST_CASE for both APIs; it starts with make_graph().
//
// Drivers that are too old for the runtime library of the headers are tested with the driver API
// only.
#pragma once

#include "../../support/ok.hpp"
#include "device_code.hpp"
#include "scenario.hpp"
#include "watched.hpp"

#include <cushim/feature.hpp>
#include <cushim/library.hpp>
#include <cushim/override.hpp>
#include <cushim/runtime_graph.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace api_test {

inline cushim::Result<cushim::Graph> create_graph(cushim::Api api, const cushim::Context &context) {
    return api == cushim::Api::runtime ? cushim::rt::create_graph(context)
                                       : cushim::Graph::create(context);
}

inline cushim::Api other(cushim::Api api) {
    return api == cushim::Api::driver ? cushim::Api::runtime : cushim::Api::driver;
}
inline std::string graph_call(cushim::Api api, const std::string &name) {
    return (api == cushim::Api::runtime ? "cudaGraph" : "cuGraph") + name;
}
inline cushim::Result<cushim::Graph> borrow_graph(cushim::Api api, const cushim::Context &context,
                                                  CUgraph graph) {
    return api == cushim::Api::runtime ? cushim::rt::borrow_graph(context, graph)
                                       : cushim::Graph::borrow(context, graph);
}
// The same node, as a node of another Graph object.
inline cushim::Result<cushim::GraphNode> node_in(const cushim::Graph &graph,
                                                 const cushim::GraphNode &node) {
    CUSHIM_TRY(const auto nodes, graph.nodes());
    for (const cushim::GraphNode &same : nodes) {
        if (same.native() == node.native()) {
            return same;
        }
    }
    FAIL("the graph does not have the node");
    return cushim::GraphNode();
}

// A graph in the primary context; make_graph() restarts the simulator with these settings.
struct Made {
    cushim::Context context;
    cushim::Graph graph;

    cushim::Stream stream() const {
        return ok(cushim::Stream::create(context, {.non_blocking = true}));
    }
};
inline Made make_graph(cushim::Api api, const std::string &settings = "") {
    cushim::Context context = context_after_restart(settings);
    cushim::Graph graph = ok(create_graph(api, context));
    return {std::move(context), std::move(graph)};
}

// A graph with one node, which calls `watched`.
inline cushim::Graph call_graph(cushim::Api api, const cushim::Context &context, Watched &watched) {
    cushim::Graph graph = ok(create_graph(api, context));
    ok(graph.add_host_node({}, watched.closure()));
    return graph;
}

inline cushim::Result<void>
begin_capture(cushim::Api api, const cushim::Stream &stream,
              cushim::CaptureMode mode = cushim::CaptureMode::per_thread) {
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

template <class F>
cushim::Result<cushim::Graph> capture(cushim::Api api, const cushim::Stream &stream, F &&f) {
    return capture(api, stream, cushim::CaptureMode::per_thread, f);
}

// A kernel that graphs of the API accept: of a library, or, for the driver API before libraries, of
// a module.
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

// Waits for releases that could happen, while work of the test is held up; on a GPU, where that
// work may also hold up the releases, for a fixed time.
inline void wait_for_possible_releases() {
    if (simulator() != nullptr) {
        cushim::wait_for_released_closures();
    } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

// In a scenario: success if the call failed with the message `why`. Another error is an injected
// failure and is returned.
template <class T>
cushim::Result<void> refused(const cushim::Result<T> &result, const std::string &why) {
    if (result) {
        FAIL_CHECK("not refused: " << why);
        return {};
    }
    return reason_of(result.error()) == why ? cushim::Result<void>()
                                            : cushim::Result<void>(result.error());
}

template <>
struct Fixture<cushim::Graph> {
    static cushim::Result<cushim::Graph> make(Trial &, cushim::Api api, const auto &...before) {
        CUSHIM_TRY(const cushim::Context context, context_among(before...));
        return create_graph(api, context);
    }
};

inline cushim::Result<void> launch_and_wait(const cushim::GraphExec &exec,
                                            const cushim::Stream &stream) {
    CUSHIM_TRY_VOID(exec.launch(stream));
    return stream.synchronize();
}
// Instantiates the graph and launches it once.
inline cushim::Result<void> run_once(const cushim::Graph &graph, const cushim::Stream &stream) {
    CUSHIM_TRY(const cushim::GraphExec exec, graph.instantiate());
    return launch_and_wait(exec, stream);
}

// Launches the graph; every element of the memory must be `value` afterwards.
inline cushim::Result<void> check_launch(const cushim::GraphExec &exec,
                                         const cushim::Stream &stream,
                                         cushim::DeviceSpan<const int> memory, int value,
                                         const char *file = __builtin_FILE(),
                                         int line = __builtin_LINE()) {
    INFO("launched at " << file << ":" << line);
    std::vector<int> values(memory.size());
    CUSHIM_TRY_VOID(exec.launch(stream));
    CUSHIM_TRY_VOID(cushim::copy(stream, std::span(values), memory));
    CUSHIM_TRY_VOID(stream.synchronize());
    CHECK(values == std::vector<int>(memory.size(), value));
    return {};
}
// check_launch() of a new executable graph.
inline cushim::Result<void> check_run(const cushim::Graph &graph, const cushim::Stream &stream,
                                      cushim::DeviceSpan<const int> memory, int value,
                                      const char *file = __builtin_FILE(),
                                      int line = __builtin_LINE()) {
    CUSHIM_TRY(const cushim::GraphExec exec, graph.instantiate());
    return check_launch(exec, stream, memory, value, file, line);
}

// --- graphs with child graphs

inline cushim::Result<cushim::GraphNode> only_node(const cushim::Graph &graph) {
    CUSHIM_TRY(const auto nodes, graph.nodes());
    REQUIRE(nodes.size() == 1);
    return nodes[0];
}

// A graph with one child graph node, and its copy of the child graph.
struct Parent {
    cushim::Graph graph;
    cushim::GraphNode child;
    cushim::Graph inside;
};

inline cushim::Result<Parent> make_parent(cushim::Api api, const cushim::Context &context,
                                          const cushim::Graph &of) {
    CUSHIM_TRY(cushim::Graph graph, create_graph(api, context));
    CUSHIM_TRY(const cushim::GraphNode child, graph.add_child_graph_node({}, of));
    CUSHIM_TRY(cushim::Graph inside, graph.child_graph_params(child));
    return Parent{std::move(graph), child, std::move(inside)};
}

// A driver that gives each empty node the same handle, as real drivers reuse handles.
struct CUSHIM_LOCAL SameHandle {
    static constexpr std::uintptr_t handle = 64;

    cushim::ScopedOverride<cushim::entry::cuGraphAddEmptyNode> add{
        [](CUgraphNode *node, CUgraph, const CUgraphNode *, std::size_t) {
            *node = reinterpret_cast<CUgraphNode>(handle);
            return CUDA_SUCCESS;
        }};
    cushim::ScopedOverride<cushim::entry::cuGraphDestroyNode> destroy{
        [](CUgraphNode) { return CUDA_SUCCESS; }};
    cushim::ScopedOverride<cushim::entry::cuGraphNodeGetType> get_type{
        [](CUgraphNode, CUgraphNodeType *type) {
            *type = CU_GRAPH_NODE_TYPE_EMPTY;
            return CUDA_SUCCESS;
        }};
#if CUDA_VERSION >= 11060
    cushim::ScopedOverride<cushim::entry::cuGraphNodeGetEnabled> get_enabled{
        [](CUgraphExec, CUgraphNode, unsigned int *enabled) {
            *enabled = 1;
            return CUDA_SUCCESS;
        }};
#endif
};

} // namespace api_test

#define API_TEST_GRAPH_SCENARIO(function, name, tags, parameters, ...)                             \
    static ::cushim::Result<void> function parameters;                                             \
    TEST_CASE(name, tags) {                                                                        \
        ::api_test::run_scenario(name,                                                             \
                                 ::api_test::with_fixtures<function> __VA_OPT__(, ) __VA_ARGS__);  \
    }                                                                                              \
    TEST_CASE(name " (runtime)", tags "[runtime][current]") {                                      \
        ::api_test::run_scenario(                                                                  \
            name " (runtime)",                                                                     \
            ::api_test::with_fixtures<function, ::cushim::Api::runtime> __VA_OPT__(, )             \
                __VA_ARGS__);                                                                      \
    }                                                                                              \
    static ::cushim::Result<void> function parameters
#define GRAPH_SCENARIO_TEST(name, tags, parameters, ...)                                           \
    API_TEST_GRAPH_SCENARIO(API_TEST_JOIN(graph_scenario_, __LINE__), name, tags,                  \
                            parameters __VA_OPT__(, ) __VA_ARGS__)

// Ordinary test cases, for calls that must fail and other checks that a scenario cannot make; the
// parameter is the API.
#define API_TEST_GRAPH_CASE(function, name, tags, parameters)                                      \
    static void function parameters;                                                               \
    TEST_CASE(name, tags) {                                                                        \
        function(::cushim::Api::driver);                                                           \
    }                                                                                              \
    TEST_CASE(name " (runtime)", tags "[runtime][current]") {                                      \
        function(::cushim::Api::runtime);                                                          \
    }                                                                                              \
    static void function parameters
#define GRAPH_TEST_CASE(name, tags, parameters)                                                    \
    API_TEST_GRAPH_CASE(API_TEST_JOIN(graph_test_, __LINE__), name, tags, parameters)
