// Limits of runtime API graphs: missing features, errors, and drivers older than the runtime.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"
#include "harness/reports.hpp"

#include <string>

#include <catch2/generators/catch_generators.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/graph_conditional.hpp>

using namespace api_test;
using namespace cushim;

namespace {

// Whether the call fails with unsupported_platform and a message that contains `what`.
template <class T>
bool is_lacking(const Result<T> &result, const std::string &what) {
    const Error error = error_of(result);
    CHECK(error.kind() == ErrorKind::unsupported_platform);
    return contains(error.message(), what);
}

} // namespace

// --- features that the runtime API lacks, and graphs of the other API

TEST_CASE("runtime API graphs reject kernels of a module", "[graph][current][G11]") {
    auto [context, graph] = make_graph(Api::runtime);
    const Module module = ok(load_device_code(context));
    const auto kernel = ok(module.kernel<void()>("idle"));
    const LaunchConfig config = LaunchConfig::covering(1);
    const GraphNode empty = ok(graph.add_empty_node({}));
    GraphExec exec = ok(graph.instantiate());
    CHECK(is_lacking(graph.add_kernel_node({}, kernel, config), "kernels"));
    CHECK(is_lacking(graph.set_kernel_node(empty, kernel, config), "kernels"));
    CHECK(is_lacking(exec.set_kernel_node(empty, kernel, config), "kernels"));
    CHECK(ok(graph.node_count()) == 1);
}

#if CUDART_VERSION < 12000
TEST_CASE("runtime API graphs of CUDA 11 reject kernels of a library", "[graph][current][G11]") {
    auto [context, graph] = make_graph(Api::runtime);
    const auto kernel = ok(AnyKernel::borrow(reinterpret_cast<CUkern_st *>(16)).as<void()>());
    CHECK(is_lacking(graph.add_kernel_node({}, kernel, LaunchConfig::covering(1)), "kernels"));
}
#endif

TEST_CASE("runtime API graphs reject memory operations", "[graph][current]") {
    auto [context, graph] = make_graph(Api::runtime);
    const GraphNode empty = ok(graph.add_empty_node({}));
    GraphExec exec = ok(graph.instantiate());
    const CUstreamBatchMemOpParams operations[1] = {};
    CHECK(is_lacking(graph.add_batch_mem_op_node({}, operations), "memory operations"));
    CHECK(is_lacking(graph.set_batch_mem_op_node(empty, operations), "memory operations"));
    CHECK(is_lacking(exec.set_batch_mem_op_node(empty, operations), "memory operations"));
}

TEST_CASE("a graph of one API is rejected as a child of the other API's",
          "[graph][current][G14][G25]") {
    auto [context, graph] = make_graph(Api::runtime);
    Graph drivers = ok(Graph::create(context));
    CHECK(is_lacking(graph.add_child_graph_node({}, drivers), "rt::create_graph"));
    CHECK(is_lacking(drivers.add_child_graph_node({}, graph), "Graph::create"));
    const GraphNode child = ok(graph.add_child_graph_node({}, ok(rt::create_graph(context))));
    GraphExec exec = ok(graph.instantiate());
    CHECK(is_lacking(exec.update(drivers), "rt::create_graph"));
    CHECK(is_lacking(exec.set_child_graph_node(child, drivers), "rt::create_graph"));
}

TEST_CASE("a runtime API graph updates an executable graph from rt::borrow_exec()",
          "[graph][current][G23][G25]") {
    auto [context, graph] = make_graph(Api::runtime);
    auto memory = ok(DeviceBuffer<int>::allocate(context, 8));
    const GraphNode set = ok(graph.add_memset_node({}, memory, 1));
    const Stream stream = ok(Stream::create(context));
    CUgraphExec theirs = ok(graph.instantiate()).release();
    REQUIRE(graph.set_memset_node(set, memory, 2).has_value());
    CHECK(is_lacking(ok(GraphExec::borrow(context, theirs)).update(graph), "Graph::create"));
    GraphExec lent = ok(rt::borrow_exec(context, theirs));
    CHECK(lent.api() == Api::runtime);
    CHECK(ok(lent.update(graph)).is_success());
    GraphExec owned = ok(rt::adopt_exec(context, theirs));
    CHECK(owned.launch(stream).has_value());
    CHECK(stream.synchronize().has_value());
    CHECK(ok(read(context, memory)) == std::vector<int>(8, 2));
    check_invalid(owned.set_enabled(set, false),
                  "the executable graph is adopted or borrowed, and its nodes are unknown; create "
                  "it with Graph::instantiate()");
    check_invalid(rt::adopt_exec(context, nullptr), "the handle is null");
    check_invalid(rt::borrow_exec(Context(), theirs), "the Context is empty");
}

// --- errors

TEST_CASE("a rejected update does not set the thread's last error", "[graph][current][G25]") {
    auto [context, graph] = make_graph(Api::runtime);
    Graph another = ok(rt::create_graph(context));
    const GraphNode empty = ok(another.add_empty_node({}));
    CHECK(empty);
    GraphExec exec = ok(graph.instantiate());
    CHECK_FALSE(ok(exec.update(another)).is_success());
    CHECK(runtime().cudaGetLastError() == cudaSuccess);
}

TEST_CASE("close() returns the error of the runtime API", "[graph][current][G6][G23]") {
    need_faults();
    const Reports reports;
    const std::string call = GENERATE("cudaGraphDestroy", "cudaGraphExecDestroy");
    auto [context, graph] = make_graph(Api::runtime, "fault=" + call + ":1:999:after");
    GraphExec exec = ok(graph.instantiate());
    const Result<void> closed_exec = exec.close(), closed_graph = graph.close();
    const Error closed = error_of(closed_exec ? closed_graph : closed_exec);
    CHECK(closed.api() == Api::runtime);
    CHECK(closed.status() == cudaErrorUnknown);
    CHECK(closed.entry_point() == call);
    CHECK(reports.failures.empty());
}

TEST_CASE("destructors report failures to the sink unless the runtime has shut down",
          "[graph][current][G6][G23]") {
    need_faults();
    const Reports reports;
    SECTION("any failure") {
        (void)make_graph(Api::runtime, "fault=cudaGraphDestroy:1:999:after");
        REQUIRE(reports.failures.size() == 1);
        CHECK(std::string(reports.failures[0].entry_point) == "cudaGraphDestroy");
        CHECK(reports.failures[0].status == cudaErrorUnknown);
    }
    SECTION("cudaErrorCudartUnloading") {
        auto [context, graph] = make_graph(Api::runtime, "fault=cudaGraphDestroy:1:4:after");
        CHECK(graph.close().has_value());
    }
    SECTION("cudaErrorContextIsDestroyed") {
        (void)make_graph(Api::runtime, "fault=cudaGraphDestroy:1:709:after");
        CHECK(reports.failures.empty());
    }
}

// --- drivers older than the runtime: these tests run on every driver

namespace {

template <class T>
void check_needs(const Result<T> &result, const char *entry_point, Version needed) {
    const bool by_headers = headers_version() < needed;
    const Version installed = by_headers ? headers_version() : driver_version();
    if (installed >= needed) {
        INFO((result ? "" : result.error().message()));
        CHECK(result.has_value());
        return;
    }
    const Error error = error_of(result);
    INFO(error.message());
    CHECK(error.kind() ==
          (by_headers ? ErrorKind::requires_newer_headers : ErrorKind::requires_newer_driver));
    CHECK(std::string(error.entry_point()) == entry_point);
    CHECK(error.required() == needed);
    CHECK(error.installed() == installed);
}

template <class T>
void check_needs(const Result<T> &result, const char *entry_point, Feature feature) {
    check_needs(result, entry_point, required_version(feature));
}

} // namespace

TEST_CASE("the runtime API requires a driver of its major version", "[graph]") {
    const Context context = context_after_restart("");
    check_needs(rt::create_graph(context), "cudaGraphCreate",
                Version::of(CUDART_VERSION / 1000, 0));
}

TEST_CASE("runtime API calls report the version they require", "[graph][G18]") {
    const Context context = context_after_restart("");
    auto memory = ok(DeviceBuffer<int>::allocate(context, 16));
    auto made = rt::create_graph(context);
    if (!made) {
        CHECK(made.error().kind() == ErrorKind::requires_newer_driver); // as the test above shows
        return;
    }
    Graph &graph = *made;
    const GraphNode set = ok(graph.add_memset_node({}, memory, 1));
    GraphExec exec = ok(graph.instantiate());
    check_needs(exec.set_enabled(set, false), "cudaGraphNodeSetEnabled",
                Feature::graph_node_enable);
    check_needs(exec.is_enabled(set), "cudaGraphNodeGetEnabled", Feature::graph_node_enable);
    check_needs(graph.instantiate({.use_node_priority = true}),
                "cudaGraphInstantiateFlagUseNodePriority", Feature::graph_node_priorities);
    check_needs(graph.instantiate({.device_launch = true}), "cudaGraphInstantiateFlagDeviceLaunch",
                Feature::graph_device_launch);
#if CUDART_VERSION >= 12020
    cudaGraphNodeParams parameters{};
    parameters.type = cudaGraphNodeTypeEmpty;
#else
    int parameters = 0; // not read
#endif
    check_needs(graph.add_node_raw({}, &parameters), "cudaGraphAddNode",
                Feature::graph_generic_nodes);
    check_needs(graph.create_condition({}), "cudaGraphConditionalHandleCreate",
                Feature::graph_conditional_nodes);
    const Stream stream = ok(Stream::create(context));
    const auto begun = stream.begin_capture_to(graph, {});
    check_needs(begun, "cudaStreamBeginCaptureToGraph", Feature::capture_to_graph);
    if (begun) {
        CHECK(stream.end_capture_to(graph).has_value());
    }
    // Reading works with every version.
    CHECK(ok(graph.edges()).empty());
    CHECK(ok(graph.dependencies(set)).empty());
}
