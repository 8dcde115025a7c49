// What the runtime API's graphs lack or refuse, what their errors say, and what they are on drivers
// that are older than the runtime.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"
#include "harness/reports.hpp"

#include <string>

#include <catch2/generators/catch_generators.hpp>

using namespace api_test;
using namespace cushim;
using support::ok;

namespace {

// Whether it is said that there is no such thing, and of what.
template <class T>
bool is_lacking(const Result<T> &result, const std::string &what) {
    const Error error = error_of(result);
    CHECK(error.kind() == ErrorKind::unsupported_platform);
    return contains(error.message(), what);
}

} // namespace

// --- what the runtime API lacks, or another API's graph would have to be

TEST_CASE("a module's kernel is none for the runtime API", "[graph][current][G11]") {
    const auto [context, graph] = make_graph(Api::runtime);
    const Module module = ok(load_device_code(context));
    const auto kernel = ok(module.kernel<void()>("idle"));
    const LaunchConfig config = LaunchConfig::covering(1);
    const GraphNode empty = ok(graph.add_empty_node({}));
    const GraphExec exec = ok(graph.instantiate());
    CHECK(is_lacking(graph.add_kernel_node({}, kernel, config), "kernels"));
    CHECK(is_lacking(graph.set_kernel_node(empty, kernel, config), "kernels"));
    CHECK(is_lacking(exec.set_kernel_node(empty, kernel, config), "kernels"));
    CHECK(ok(graph.node_count()) == 1);
}

#if CUDART_VERSION < 12000
TEST_CASE("a library's kernel is none for the runtime API of CUDA 11", "[graph][current][G11]") {
    const auto [context, graph] = make_graph(Api::runtime);
    const auto kernel = ok(AnyKernel::borrow(reinterpret_cast<CUkern_st *>(16)).as<void()>());
    CHECK(is_lacking(graph.add_kernel_node({}, kernel, LaunchConfig::covering(1)), "kernels"));
}
#endif

TEST_CASE("the runtime API has no memory operations", "[graph][current]") {
    const auto [context, graph] = make_graph(Api::runtime);
    const GraphNode empty = ok(graph.add_empty_node({}));
    const GraphExec exec = ok(graph.instantiate());
    const CUstreamBatchMemOpParams operations[1] = {};
    CHECK(is_lacking(graph.add_batch_mem_op_node({}, operations), "memory operations"));
    CHECK(is_lacking(graph.set_batch_mem_op_node(empty, operations), "memory operations"));
    CHECK(is_lacking(exec.set_batch_mem_op_node(empty, operations), "memory operations"));
}

TEST_CASE("a graph of one API is not put into one of the other", "[graph][current][G14][G25]") {
    const auto [context, graph] = make_graph(Api::runtime);
    const Graph drivers = ok(Graph::create(context));
    CHECK(is_lacking(graph.add_child_graph_node({}, drivers), "other API"));
    CHECK(is_lacking(drivers.add_child_graph_node({}, graph), "other API"));
    const GraphNode child = ok(graph.add_child_graph_node({}, ok(rt::create_graph(context))));
    const GraphExec exec = ok(graph.instantiate());
    CHECK(is_lacking(exec.update(drivers), "other API"));
    CHECK(is_lacking(exec.set_child_graph_node(child, drivers), "other API"));
}

TEST_CASE("an executable graph of somebody else's is updated by a graph of the runtime API",
          "[graph][current][G23][G25]") {
    const auto [context, graph] = make_graph(Api::runtime);
    const auto memory = ok(DeviceBuffer<int>::allocate(context, 8));
    const GraphNode set = ok(graph.add_memset_node({}, memory, 1));
    const Stream stream = ok(Stream::create(context));
    CUgraphExec theirs = ok(graph.instantiate()).release();
    REQUIRE(graph.set_memset_node(set, memory, 2).has_value());
    CHECK(is_lacking(ok(GraphExec::borrow(context, theirs)).update(graph), "other API"));
    const GraphExec lent = ok(rt::borrow_exec(context, theirs));
    CHECK(lent.api() == Api::runtime);
    CHECK(ok(lent.update(graph)).is_success());
    const GraphExec owned = ok(rt::adopt_exec(context, theirs));
    CHECK(owned.launch(stream).has_value());
    CHECK(stream.synchronize().has_value());
    CHECK(ok(read(context, memory)) == std::vector<int>(8, 2));
    check_invalid(owned.set_enabled(set, false),
                  "the nodes of an adopted executable graph are unknown");
    check_invalid(rt::adopt_exec(context, nullptr), "the handle is null");
    check_invalid(rt::borrow_exec(Context(), theirs), "the context is empty");
}

// --- errors

TEST_CASE("an update that is refused is not the thread's last error", "[graph][current][G25]") {
    const auto [context, graph] = make_graph(Api::runtime);
    const Graph another = ok(rt::create_graph(context));
    const GraphNode empty = ok(another.add_empty_node({}));
    CHECK(empty);
    const GraphExec exec = ok(graph.instantiate());
    CHECK_FALSE(ok(exec.update(another)).is_success());
    CHECK(runtime().cudaGetLastError() == cudaSuccess);
}

TEST_CASE("what closing answers is the runtime's", "[graph][current][G6][G23]") {
    need_simulator("needs the simulator, whose calls can be made to fail");
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

TEST_CASE("destructors tell the sink, but not of a runtime that is gone",
          "[graph][current][G6][G23]") {
    need_simulator("needs the simulator, whose calls can be made to fail");
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

// --- drivers that are older than the runtime: on every driver

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

TEST_CASE("a driver of an older major version is too old for the runtime", "[graph]") {
    const Context context = context_after_restart("");
    check_needs(rt::create_graph(context), "cudaGraphCreate",
                Version::of(CUDART_VERSION / 1000, 0));
}

TEST_CASE("what the runtime's headers or its driver have not says which it needs", "[graph][G18]") {
    const Context context = context_after_restart("");
    const auto memory = ok(DeviceBuffer<int>::allocate(context, 16));
    const auto made = rt::create_graph(context);
    if (!made) {
        CHECK(made.error().kind() == ErrorKind::requires_newer_driver); // in all, as said above
        return;
    }
    const Graph &graph = *made;
    const GraphNode set = ok(graph.add_memset_node({}, memory, 1));
    const GraphExec exec = ok(graph.instantiate());
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
    int parameters = 0; // nobody looks at them
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
    // Reading needs nothing of it.
    CHECK(ok(graph.edges()).empty());
    CHECK(ok(graph.dependencies(set)).empty());
}
