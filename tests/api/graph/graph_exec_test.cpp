// Executable graphs: launches, updates, changes of single nodes, and resources kept alive.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"

#include <algorithm>

#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/graph_conditional.hpp>
#include <cushim/pinned_buffer.hpp>

using namespace api_test;
using namespace cushim;

namespace {

bool supports_it(Feature feature) {
    return supports(driver_version(), feature) && supports(headers_version(), feature);
}

// Three roots and three nodes after them. The second depends on root a and on root b or c.
struct Crossing {
    enum class Second { after_b, after_c };
    GraphNode second;
    GraphNode of_second; // its second dependency
};
Result<Crossing> add_crossing(Graph &graph, Crossing::Second how) {
    CUSHIM_TRY(const GraphNode a, graph.add_empty_node({}));
    CUSHIM_TRY(const GraphNode b, graph.add_empty_node({}));
    CUSHIM_TRY(const GraphNode c, graph.add_empty_node({}));
    CUSHIM_TRY(const GraphNode first, graph.add_empty_node({a, b}));
    const GraphNode of_second = how == Crossing::Second::after_b ? b : c;
    CUSHIM_TRY(const GraphNode second, graph.add_empty_node({a, of_second}));
    CUSHIM_TRY(const GraphNode third, graph.add_empty_node(c));
    CHECK((first && third));
    return Crossing{second, of_second};
}

} // namespace

GRAPH_SCENARIO_TEST("an update changes the value and the destination of a memset node",
                    "[graph][G25]", (Api api, const Context &context, const Stream &stream)) {
    CUSHIM_TRY(auto first, DeviceBuffer<int>::allocate(context, 8));
    GraphExec exec;
    {
        CUSHIM_TRY(Graph graph, create_graph(api, context));
        CUSHIM_TRY_VOID(graph.add_memset_node({}, first, 1));
        CUSHIM_TRY(exec, graph.instantiate());
    }
    CUSHIM_TRY_VOID(launch_and_wait(exec, stream));
    CUSHIM_TRY(auto out, PinnedBuffer<int>::allocate(context, 8));
    CUdeviceptr second_address = 0;
    {
        CUSHIM_TRY(auto second, DeviceBuffer<int>::allocate(context, 8));
        second_address = second.native();
        CUSHIM_TRY(Graph graph, create_graph(api, context));
        CUSHIM_TRY_VOID(graph.add_memset_node({}, second, 2));
        CUSHIM_TRY(const GraphUpdate update, exec.update(graph));
        CHECK(update.is_success());
        CHECK_FALSE(update.node);
    }
    // The executable graph keeps the memory alive.
    CUSHIM_TRY_VOID(exec.launch(stream));
    CUSHIM_TRY_VOID(copy(stream, out.span(), DeviceSpan<const int>(second_address, 8)));
    CUSHIM_TRY_VOID(stream.synchronize());
    CHECK(std::count(out.begin(), out.end(), 2) == 8);
    return check_filled(context, first, 1);
}

GRAPH_SCENARIO_TEST("an update with another node type returns node_type_changed and no error",
                    "[graph][G25]",
                    (Api api, const Context &context, const Stream &stream, Graph &graph)) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY_VOID(graph.add_memset_node({}, memory, 1));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    CUSHIM_TRY(Graph other, create_graph(api, context));
    CUSHIM_TRY(const GraphNode empty, other.add_empty_node({}));
    CUSHIM_TRY(const GraphUpdate update, exec.update(other));
    CHECK_FALSE(update.is_success());
    CHECK(update.result == GraphUpdateResult::node_type_changed);
    CHECK(update.node == empty);
    // The executable graph is unchanged.
    return check_launch(exec, stream, memory, 1);
}

GRAPH_SCENARIO_TEST("an update reports both nodes of a mismatched edge", "[graph][G25]",
                    (Api api, const Context &context, Graph &graph)) {
    CUSHIM_TRY(const Crossing before, add_crossing(graph, Crossing::Second::after_b));
    CHECK(before.second);
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    CUSHIM_TRY(Graph other, create_graph(api, context));
    CUSHIM_TRY(const Crossing after, add_crossing(other, Crossing::Second::after_c));
    CUSHIM_TRY(const GraphUpdate update, exec.update(other));
    CHECK(update.result == GraphUpdateResult::topology_changed);
    // The driver chooses which mismatched edge it reports.
    if (simulator() != nullptr) {
        CHECK(update.node == after.second);
        CHECK(update.from ==
              (supports_it(Feature::graph_update_2) ? after.of_second : GraphNode()));
    }
    return {};
}

GRAPH_SCENARIO_TEST("set functions change the nodes of an executable graph", "[graph]",
                    (const Context &context, const Stream &stream, Graph &graph)) {
    CUSHIM_TRY(auto out, PinnedBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(const Event event, Event::create(context, {.timing = false}));
    Watched before, after;
    CUSHIM_TRY(auto first, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(const GraphNode clear, graph.add_memset_node({}, first, 1));
    CUSHIM_TRY(const GraphNode move, graph.add_memcpy_node(clear, out, first));
    CUSHIM_TRY(const GraphNode call, graph.add_host_node(move, before.closure()));
    CUSHIM_TRY(const GraphNode record, graph.add_event_record_node(call, event));
    CUSHIM_TRY(const GraphNode wait, graph.add_event_wait_node(record, event));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    {
        CUSHIM_TRY(auto second, DeviceBuffer<int>::allocate(context, 8));
        CUSHIM_TRY(const Event later, Event::create(context, {.timing = false}));
        CUSHIM_TRY_VOID(exec.set_memset_node(clear, second, 9));
        CUSHIM_TRY_VOID(exec.set_memcpy_node(move, out, second));
        CUSHIM_TRY_VOID(exec.set_host_node(call, after.closure()));
        CUSHIM_TRY_VOID(exec.set_event_record_node(record, later));
        CUSHIM_TRY_VOID(exec.set_event_wait_node(wait, later));
    }
    CUSHIM_TRY_VOID(exec.launch(stream));
    CUSHIM_TRY_VOID(exec.launch(stream));
    // The running launch keeps the resources of the nodes alive.
    exec.reset();
    CUSHIM_TRY_VOID(stream.synchronize());
    CHECK(std::count(out.begin(), out.end(), 9) == 8);
    CHECK(before.calls() == 0);
    CHECK(after.calls() == 2);
    CHECK(after.is_destroyed_soon());
    CHECK_FALSE(before.is_destroyed()); // the graph keeps it alive
    return {};
}

GRAPH_SCENARIO_TEST("set_kernel_node() changes the arguments of a kernel in an executable graph",
                    "[graph]",
                    (Trial &trial, Api api, const Context &context, const Stream &stream,
                     Graph &graph)) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(const auto kernel, graph_kernel<Fill>(trial, api, context, "fill"));
    CUSHIM_TRY(const GraphNode fill,
               graph.add_kernel_node({}, kernel, LaunchConfig::covering(8), memory, 1, 8u));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(exec.set_kernel_node(fill, kernel, LaunchConfig::covering(8), memory, 2, 8u));
    return check_launch(exec, stream, memory, 2);
}

GRAPH_SCENARIO_TEST("set_child_graph_node() changes a child graph in an executable graph",
                    "[graph]",
                    (Api api, const Context &context, const Stream &stream, Graph &graph)) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(Graph inner, create_graph(api, context));
    CUSHIM_TRY_VOID(inner.add_memset_node({}, memory, 1));
    CUSHIM_TRY(Graph other, create_graph(api, context));
    CUSHIM_TRY_VOID(other.add_memset_node({}, memory, 2));
    CUSHIM_TRY(const GraphNode child, graph.add_child_graph_node({}, inner));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(exec.set_child_graph_node(child, other));
    return check_launch(exec, stream, memory, 2);
}

GRAPH_SCENARIO_TEST("set_enabled() disables and enables a node", "[graph]",
                    (Trial &trial, const Context &context, const Stream &stream, Graph &graph)) {
    trial.needs_driver(11, 6);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(const GraphNode one, graph.add_memset_node({}, memory, 1));
    CUSHIM_TRY(const GraphNode two, graph.add_memset_node(one, memory, 2));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(exec.set_enabled(two, false));
    CUSHIM_TRY_VOID(check_gives(exec.is_enabled(two), false));
    CUSHIM_TRY_VOID(check_launch(exec, stream, memory, 1));
    CUSHIM_TRY_VOID(exec.set_enabled(two, true));
    return check_launch(exec, stream, memory, 2);
}

GRAPH_SCENARIO_TEST("an executable graph is launched after an upload", "[graph][G8][G24]",
                    (const Context &context, const Stream &stream, Graph &graph)) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(const GraphNode fill, graph.add_memset_node({}, memory, 3));
    CHECK(fill);
    CUSHIM_TRY(GraphExec exec, graph.instantiate({.auto_free_on_launch = true}));
    CUSHIM_TRY_VOID(exec.upload(stream));
    return check_launch(exec, stream, memory, 3);
}

GRAPH_SCENARIO_TEST("an executable graph reports its flags and is uploaded by the instantiation",
                    "[graph][G8][G24]",
                    (Trial &trial, const Context &context, const Stream &stream, Graph &graph)) {
    trial.needs_cuda(12, 0);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(const GraphNode fill, graph.add_memset_node({}, memory, 3));
    CHECK(fill);
    CUSHIM_TRY(const GraphExec plain, graph.instantiate({.auto_free_on_launch = true}));
    CUSHIM_TRY_VOID(check_gives(plain.flags(), 1));
    CUSHIM_TRY(GraphExec exec, graph.instantiate({.upload = &stream, .use_node_priority = true}));
    // Measured: CUDA reports neither of these flags.
    CUSHIM_TRY_VOID(check_gives(exec.flags(), 0));
    return launch_and_wait(exec, stream);
}

GRAPH_SCENARIO_TEST("instantiation for device launch accepts kernels and rejects host functions",
                    "[graph][G8]",
                    (Trial &trial, Api api, const Context &context, const Stream &stream,
                     Graph &graph)) {
    trial.needs_cuda(12, 0);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    register_kernels();
    CUSHIM_TRY(const Library library, Library::load(device_code));
    CUSHIM_TRY(const auto kernel, library.kernel<Fill>("fill"));
    CUSHIM_TRY(const GraphNode fill,
               graph.add_kernel_node({}, kernel, LaunchConfig::covering(8), memory, 4, 8u));
    CHECK(fill);
    CUSHIM_TRY(GraphExec exec, graph.instantiate({.device_launch = true}));
    CUSHIM_TRY_VOID(check_gives(exec.flags(), 4));
    // The host can launch it, too.
    CUSHIM_TRY_VOID(check_launch(exec, stream, memory, 4));

    // The device cannot launch host functions. CUDA need not report the node.
    trial.may_do_without(api == Api::driver ? "cuGraphGetNodes" : "cudaGraphGetNodes");
    trial.may_do_without(api == Api::driver ? "cuGraphNodeGetType" : "cudaGraphNodeGetType");
    CUSHIM_TRY(const GraphNode call, graph.add_host_node(fill, [] {}));
    const Error refused = error_of(graph.instantiate({.device_launch = true}));
    if (refused.status() == 999) {
        return refused; // the injected fault
    }
    const InstantiateFailure failure = graph.instantiate_failure();
    CHECK(failure.result == InstantiateResult::node_operation_not_supported);
    CHECK((failure.node == call || !failure.node));
    return {};
}

#if CUDA_VERSION >= 12040
TEST_CASE("a failed instantiation reports a node of the graph that contains it",
          "[graph][current][G8]") {
    need_simulator("needs the simulator, which always reports the node that failed");
    const Api api = GENERATE(Api::driver, Api::runtime);
    auto [context, graph] = make_graph(api, "");
    Graph condition_graph = ok(create_graph(api, context));
    const GraphCondition condition = ok(condition_graph.create_condition({}));
    GraphBody body = ok(condition_graph.add_if_node({}, condition));
    const GraphNode inside = ok(body.body.add_host_node({}, [] {}));
    const Error error = error_of(condition_graph.instantiate());
    const GraphNode failed = condition_graph.instantiate_failure().node;
    CHECK(failed == inside);
    const auto is_in_message = Catch::Matchers::ContainsSubstring(
        "the body of a conditional node takes kernels, copies and fills of device memory, empty "
        "nodes, child graphs and conditional nodes: node ");
    CHECK_THAT(error.message(), is_in_message);
    CHECK_THAT(error.message(), Catch::Matchers::ContainsSubstring(", type GraphNodeType::host"));
    CHECK(body.body.destroy_node(failed).has_value());

    // A node of a child graph without a Graph object is not reported.
    Graph child = ok(create_graph(api, context));
    (void)ok(child.add_host_node({}, [] {}));
    (void)ok(graph.add_child_graph_node({}, child));
    REQUIRE_FALSE(graph.instantiate({.device_launch = true}).has_value());
    CHECK_FALSE(graph.instantiate_failure().node);
}
#endif

#if CUDA_VERSION >= 12000
GRAPH_TEST_CASE("an instantiation that fails with another error reports no node",
                "[graph][current][G8]", (Api api)) {
    need_faults();
    const std::string call = api == Api::runtime ? "cudaGraphInstantiate" : "cuGraphInstantiate";
    auto [context, graph] = make_graph(api, "fault=" + call + "WithParams:1:999:instead");
    CHECK(error_of(graph.instantiate()).status() == 999);
    CHECK(graph.instantiate_failure().result == InstantiateResult::error);
    CHECK_FALSE(graph.instantiate_failure().node);
}
#endif

GRAPH_SCENARIO_TEST("changing the launch attributes of a kernel in an executable graph fails",
                    "[graph][G11][G25]",
                    (Trial &trial, Api api, const Context &context, const Stream &stream,
                     Graph &graph)) {
    trial.needs_cuda(11, 8);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(const auto kernel, graph_kernel<Fill>(trial, api, context, "fill"));
    const LaunchConfig plain = LaunchConfig::covering(8);
    LaunchConfig cooperative = plain;
    cooperative.cooperative = true;
    CUSHIM_TRY(const GraphNode fill, graph.add_kernel_node({}, kernel, cooperative, memory, 1, 8u));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    const Error refused = error_of(exec.set_kernel_node(fill, kernel, plain, memory, 2, 8u));
    if (refused.kind() != ErrorKind::unsupported_platform) {
        return refused; // another call failed
    }
    CUSHIM_TRY_VOID(exec.set_kernel_node(fill, kernel, cooperative, memory, 3, 8u));
    return check_launch(exec, stream, memory, 3);
}

#if CUDA_VERSION >= 11080
GRAPH_SCENARIO_TEST("a launch attribute of LaunchConfig::more is not set in an executable graph, "
                    "also after the kernel was set",
                    "[graph][G11][G25]",
                    (Trial &trial, Api api, const Context &context, const Stream &stream,
                     Graph &graph)) {
    trial.needs_cuda(11, 8);
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 8));
    CUSHIM_TRY(const auto kernel, graph_kernel<Fill>(trial, api, context, "fill"));
    const LaunchConfig plain = LaunchConfig::covering(8);
    CUSHIM_TRY(const GraphNode fill, graph.add_kernel_node({}, kernel, plain, memory, 1, 8u));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(exec.set_kernel_node(fill, kernel, plain, memory, 2, 8u));
    CUlaunchAttribute attribute = {};
    LaunchConfig with_more = plain;
    with_more.more = {&attribute, 1};
    attribute.id = CU_LAUNCH_ATTRIBUTE_IGNORE;
    CUSHIM_TRY_VOID(exec.set_kernel_node(fill, kernel, with_more, memory, 3, 8u));
    for (const CUlaunchAttributeID id :
         {CU_LAUNCH_ATTRIBUTE_PRIORITY, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION}) {
        attribute = {};
        attribute.id = id;
        attribute.value.priority = -1;
        const Error refused =
            error_of(exec.set_kernel_node(fill, kernel, with_more, memory, 4, 8u));
        if (refused.kind() != ErrorKind::unsupported_platform) {
            return refused; // another call failed
        }
    }
    return check_launch(exec, stream, memory, 3);
}
#endif

GRAPH_TEST_CASE("a launch into the legacy stream uses the current context", "[graph][G24]",
                (Api api)) {
    auto [context, graph] = make_graph(api);
    GraphExec exec = ok(graph.instantiate());
    const auto launched = exec.launch(Stream::legacy());
    CHECK(
        (api == Api::runtime ? launched.has_value() : refused(launched, ErrorKind::wrong_context)));
    const auto scope = ok(context.enter());
    CHECK(exec.launch(Stream::legacy()).has_value());
    CHECK(context.synchronize().has_value());
}

TEST_CASE("an executable graph cannot be launched into a capture", "[graph][capture][G24]") {
    auto [context, graph] = make_graph(Api::driver);
    const Stream stream = ok(Stream::create(context));
    GraphExec exec = ok(graph.instantiate());
    const Error captured = error_of(stream.capture([&] { return exec.launch(stream); }));
    CHECK(captured.kind() == ErrorKind::not_permitted);
    CHECK(captured.status() == 900);
}

TEST_CASE("setting nodes of another graph fails", "[graph][G22]") {
    auto context = context_after_restart("");
    auto graph = ok(Graph::create(context)), other = ok(Graph::create(context));
    auto memory = ok(DeviceBuffer<int>::allocate(context, 8));
    auto node = ok(graph.add_memset_node({}, memory, 1));
    auto foreign = ok(other.add_memset_node({}, memory, 1));
    auto exec = ok(graph.instantiate());
    check_invalid(exec.set_memset_node(foreign, memory, 2), "the node belongs to another graph");
    check_invalid(exec.set_enabled(foreign, false), "the node belongs to another graph");
    REQUIRE(graph.destroy_node(node).has_value());
    check_invalid(exec.set_memset_node(node, memory, 2), "the node was destroyed");
    auto second = ok(graph.add_empty_node({}));
    graph.reset();
    CHECK_FALSE(exec.set_enabled(second, false).has_value());

    // The executable graph outlives its graph.
    auto stream = ok(Stream::create(context));
    CHECK(exec.launch(stream).has_value());
    CHECK(stream.synchronize().has_value());
}

TEST_CASE("executable graphs are adopted and borrowed", "[graph][G23]") {
    auto context = context_after_restart("");
    auto graph = ok(Graph::create(context));
    auto stream = ok(Stream::create(context));
    auto node = ok(graph.add_empty_node({}));
    auto exec = ok(graph.instantiate());
    const GraphExec shared = exec.share();
    exec.reset();
    CHECK(shared.launch(stream).has_value());
    auto another = ok(graph.instantiate());
    const CUgraphExec native = another.release();
    {
        auto lent = ok(GraphExec::borrow(context, native));
        CHECK(lent.launch(stream).has_value());
    }
    auto owned = ok(GraphExec::adopt(context, native));
    CHECK(owned.launch(stream).has_value());
    check_invalid(owned.set_enabled(node, true),
                  "the executable graph is adopted or borrowed, and its nodes are unknown; create "
                  "it with Graph::instantiate()");
    check_invalid(GraphExec::adopt(context, nullptr), "the handle is null");
    CHECK(stream.synchronize().has_value());
}
