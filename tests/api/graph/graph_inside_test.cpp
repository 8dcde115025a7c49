// Nodes of child graphs at any depth, and of conditional bodies, in an executable graph. The
// lifetime of their resources is tested in graph_uses_test.cpp.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"
#include "support/workplace.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/graph_conditional.hpp>
#include <cushim/pinned_buffer.hpp>

using namespace api_test;
using namespace cushim;
using support::Workplace;

namespace {

// A workplace with the memory that the graphs fill.
struct FillTarget : Workplace {
    DeviceBuffer<int> memory; // 8 elements

    static Result<FillTarget> make() {
        CUSHIM_TRY(auto place, Workplace::first({.non_blocking = true}));
        CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(place.context, 8));
        return FillTarget{std::move(place), std::move(memory)};
    }
};

// A graph with one memset node.
Result<Graph> make_fill(Api api, FillTarget &at, int value) {
    CUSHIM_TRY(Graph graph, create_graph(api, at.context));
    CUSHIM_TRY_VOID(graph.add_memset_node({}, at.memory, value));
    return graph;
}

// Launches on memory of zeros and returns the value of all elements.
Result<int> launched(const GraphExec &exec, FillTarget &at) {
    CUSHIM_TRY_VOID(fill(at.stream, at.memory.span(), 0));
    CUSHIM_TRY_VOID(launch_and_wait(exec, at.stream));
    CUSHIM_TRY(const auto values, read(at.context, at.memory));
    CHECK(values == std::vector<int>(8, values[0]));
    return values[0];
}

// Sets, disables and enables a memset node of the value 1.
Result<void> change_fill(GraphExec &exec, const GraphNode &node, FillTarget &at) {
    CUSHIM_TRY_VOID(check_gives(launched(exec, at), 1));
    CUSHIM_TRY_VOID(exec.set_memset_node(node, at.memory, 2));
    CUSHIM_TRY_VOID(check_gives(launched(exec, at), 2));
    if (supports(driver_version(), Feature::graph_node_enable) &&
        supports(headers_version(), Feature::graph_node_enable)) {
        CUSHIM_TRY_VOID(check_gives(exec.is_enabled(node), true));
        CUSHIM_TRY_VOID(exec.set_enabled(node, false));
        CUSHIM_TRY_VOID(check_gives(exec.is_enabled(node), false));
        CUSHIM_TRY_VOID(check_gives(launched(exec, at), 0));
        CUSHIM_TRY_VOID(exec.set_enabled(node, true));
        CUSHIM_TRY_VOID(check_gives(launched(exec, at), 2));
    }
    return {};
}

} // namespace

GRAPH_SCENARIO_TEST("an executable graph changes a node of its child graph", "[graph][G14][G25]",
                    (Api api)) {
    CUSHIM_TRY(FillTarget at, FillTarget::make());
    CUSHIM_TRY(Graph leaf, make_fill(api, at, 1));
    CUSHIM_TRY(Parent parent, make_parent(api, at.context, leaf));
    CUSHIM_TRY(const GraphNode node, only_node(parent.inside));
    CUSHIM_TRY(GraphExec exec, parent.graph.instantiate());
    CUSHIM_TRY_VOID(change_fill(exec, node, at));
    // The graph itself is unchanged.
    CUSHIM_TRY(const MemsetNodeParams params, parent.inside.memset_params(node));
    CHECK(params.value == 1);
    CUSHIM_TRY(const GraphExec another, parent.graph.instantiate());
    return check_gives(launched(another, at), 1);
}

GRAPH_SCENARIO_TEST("an executable graph changes a node of a nested child graph",
                    "[graph][G14][G25]", (Api api)) {
    CUSHIM_TRY(FillTarget at, FillTarget::make());
    CUSHIM_TRY(Graph leaf, make_fill(api, at, 1));
    CUSHIM_TRY(Parent branch, make_parent(api, at.context, leaf));
    CUSHIM_TRY(Parent root, make_parent(api, at.context, branch.graph));
    CUSHIM_TRY(GraphExec exec, root.graph.instantiate());
    // The Graph of the outer child exists before the instantiation, the inner one only after it.
    CUSHIM_TRY(const GraphNode inner, only_node(root.inside));
    GraphNode node;
    {
        CUSHIM_TRY(const Graph inmost, root.inside.child_graph_params(inner));
        CUSHIM_TRY(node, only_node(inmost));
    }
    CUSHIM_TRY_VOID(change_fill(exec, node, at));
    CUSHIM_TRY(const Graph other, make_fill(api, at, 3));
    CUSHIM_TRY_VOID(exec.set_child_graph_node(inner, other));
    CUSHIM_TRY_VOID(check_gives(launched(exec, at), 3));
    CUSHIM_TRY_VOID(exec.set_child_graph_node(root.child, branch.graph));
    CUSHIM_TRY_VOID(check_gives(launched(exec, at), 1));
    CUSHIM_TRY_VOID(exec.set_memset_node(node, at.memory, 4));
    return check_gives(launched(exec, at), 4);
}

GRAPH_SCENARIO_TEST("an executable graph sets nodes of all kinds in its child graph",
                    "[graph][G14]", (Trial &trial, Api api)) {
    CUSHIM_TRY(FillTarget at, FillTarget::make());
    CUSHIM_TRY(auto out, PinnedBuffer<int>::allocate(at.context, 8));
    CUSHIM_TRY(auto second_out, PinnedBuffer<int>::allocate(at.context, 8));
    std::fill(out.begin(), out.end(), 0);
    std::fill(second_out.begin(), second_out.end(), 0);
    CUSHIM_TRY(const Event event, Event::create(at.context, {.timing = false}));
    CUSHIM_TRY(const Event second_event, Event::create(at.context, {.timing = false}));
    CUSHIM_TRY(const auto kernel, graph_kernel<Fill>(trial, api, at.context, "fill"));
    const LaunchConfig config = LaunchConfig::covering(8);
    Watched first, second;

    CUSHIM_TRY(Graph leaf, create_graph(api, at.context));
    CUSHIM_TRY(const GraphNode fill, leaf.add_kernel_node({}, kernel, config, at.memory, 1, 8u));
    CUSHIM_TRY(const GraphNode copy, leaf.add_memcpy_node(fill, out, at.memory));
    CUSHIM_TRY(const GraphNode call, leaf.add_host_node(copy, first.closure()));
    CUSHIM_TRY_VOID(leaf.add_event_record_node(call, event));
    CUSHIM_TRY(Parent parent, make_parent(api, at.context, leaf));
    CUSHIM_TRY(GraphExec exec, parent.graph.instantiate());
    CUSHIM_TRY(const auto nodes, parent.inside.nodes());
    for (const GraphNode &node : nodes) {
        CUSHIM_TRY(const GraphNodeType type, parent.inside.node_type(node));
        switch (type) {
        case GraphNodeType::kernel:
            CUSHIM_TRY_VOID(exec.set_kernel_node(node, kernel, config, at.memory, 2, 8u));
            break;
        case GraphNodeType::memcpy:
            CUSHIM_TRY_VOID(exec.set_memcpy_node(node, second_out, at.memory));
            break;
        case GraphNodeType::host:
            CUSHIM_TRY_VOID(exec.set_host_node(node, second.closure()));
            break;
        default:
            CHECK(type == GraphNodeType::event_record);
            CUSHIM_TRY_VOID(exec.set_event_record_node(node, second_event));
        }
    }
    CUSHIM_TRY_VOID(launch_and_wait(exec, at.stream));
    CUSHIM_TRY_VOID(check_gives(second_event.query(), true));
    CHECK(std::count(second_out.begin(), second_out.end(), 2) == 8);
    CHECK(std::count(out.begin(), out.end(), 0) == 8);
    CHECK(first.calls() == 0);
    CHECK(second.calls() == 1);
    return {};
}

GRAPH_SCENARIO_TEST("an executable graph changes a node of a conditional body",
                    "[graph][conditional][G18][G25]", (Trial &trial, Api api)) {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(FillTarget at, FillTarget::make());
    CUSHIM_TRY(Graph graph, create_graph(api, at.context));
    CUSHIM_TRY(const auto condition, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(GraphBody branch, graph.add_if_node({}, condition));
    CUSHIM_TRY(const GraphNode node, branch.body.add_memset_node({}, at.memory, 1));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    return change_fill(exec, node, at);
}

GRAPH_SCENARIO_TEST("an executable graph changes a node of a child graph in a body",
                    "[graph][conditional][G18][G25]", (Trial &trial, Api api)) {
    trial.needs_cuda(12, 3);
    CUSHIM_TRY(FillTarget at, FillTarget::make());
    CUSHIM_TRY(Graph leaf, make_fill(api, at, 1));
    CUSHIM_TRY(Graph graph, create_graph(api, at.context));
    CUSHIM_TRY(const auto condition, graph.create_condition({.initial = 1}));
    CUSHIM_TRY(GraphBody branch, graph.add_if_node({}, condition));
    CUSHIM_TRY(const GraphNode child, branch.body.add_child_graph_node({}, leaf));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    CUSHIM_TRY(Graph inside, branch.body.child_graph_params(child));
    CUSHIM_TRY(const GraphNode node, only_node(inside));
    CUSHIM_TRY_VOID(change_fill(exec, node, at));
    CUSHIM_TRY_VOID(exec.set_child_graph_node(child, leaf));
    return check_gives(launched(exec, at), 1);
}

// --- rejected nodes

namespace {

void check_foreign(GraphExec &exec, const GraphNode &node, DeviceBuffer<int> &memory,
                   const Graph &child) {
    const char *const message = "the node belongs to another graph";
    CHECK(refusal(exec.set_memset_node(node, memory, 2)) == message);
    CHECK(refusal(exec.set_child_graph_node(node, child)) == message);
    CHECK(refusal(exec.set_enabled(node, false)) == message);
    CHECK(refusal(exec.is_enabled(node)) == message);
}

} // namespace

GRAPH_TEST_CASE("an executable graph rejects nodes of other copies of its child graph",
                "[graph][G22]", (Api api)) {
    const Context context = context_after_restart("");
    auto memory = ok(DeviceBuffer<int>::allocate(context, 8));
    Graph leaf = ok(create_graph(api, context));
    const GraphNode copied = ok(leaf.add_memset_node({}, memory, 1));
    Parent parent = ok(make_parent(api, context, leaf));
    Parent other = ok(make_parent(api, context, leaf));
    const Graph clone = ok(parent.graph.clone());
    const Graph in_clone = ok(clone.child_graph_params(ok(only_node(clone))));
    // Another Graph object of the same graph.
    const Graph lent = ok(borrow_graph(api, context, parent.inside.native()));
    GraphExec exec = ok(parent.graph.instantiate());
    for (const GraphNode &node :
         {copied, ok(only_node(other.inside)), ok(only_node(in_clone)), ok(only_node(lent))}) {
        check_foreign(exec, node, memory, leaf);
    }
    // An executable graph of the child rejects nodes of the parent.
    GraphExec of_leaf = ok(leaf.instantiate());
    check_foreign(of_leaf, ok(only_node(parent.inside)), memory, leaf);
    check_foreign(of_leaf, parent.child, memory, leaf);
}

GRAPH_TEST_CASE("an executable graph rejects destroyed nodes of its child graph", "[graph][G22]",
                (Api api)) {
    const Context context = context_after_restart("");
    auto memory = ok(DeviceBuffer<int>::allocate(context, 8));
    Graph leaf = ok(create_graph(api, context));
    (void)ok(leaf.add_memset_node({}, memory, 1));
    (void)ok(leaf.add_memset_node({}, memory, 1));
    Parent parent = ok(make_parent(api, context, leaf));
    Parent root = ok(make_parent(api, context, parent.graph));
    const GraphNode inner = ok(only_node(root.inside));
    const auto nodes = ok(ok(root.inside.child_graph_params(inner)).nodes());
    GraphExec exec = ok(root.graph.instantiate());
    CHECK(exec.set_memset_node(nodes[1], memory, 2).has_value());
    ok(ok(root.inside.child_graph_params(inner)).destroy_node(nodes[0]));
    check_invalid(exec.set_memset_node(nodes[0], memory, 2), "the node was destroyed");
    CHECK(exec.set_memset_node(nodes[1], memory, 2).has_value());
    ok(root.graph.destroy_node(root.child)); // and the nested graphs
    check_foreign(exec, nodes[1], memory, leaf);
    check_foreign(exec, inner, memory, leaf);

    const GraphNode node = ok(parent.inside.nodes())[0];
    GraphExec of_parent = ok(parent.graph.instantiate());
    CHECK(of_parent.set_memset_node(node, memory, 2).has_value());
    parent.inside.reset();
    parent.graph.reset();
    check_foreign(of_parent, node, memory, leaf);
}

#if CUDA_VERSION >= 11060
TEST_CASE("an executable graph finds a node inside that has the handle of a destroyed one",
          "[graph][G22]") {
    need_cuda(11, 6);
    auto [context, leaf] = make_graph(Api::driver);
    (void)ok(leaf.add_empty_node({}));
    Parent parent = ok(make_parent(Api::driver, context, leaf));
    GraphExec exec = ok(parent.graph.instantiate());
    const SameHandle same_handle;
    const GraphNode gone = ok(parent.inside.add_empty_node({}));
    CHECK(ok(exec.is_enabled(gone)));
    ok(parent.inside.destroy_node(gone));
    const GraphNode node = ok(parent.inside.add_empty_node({}));
    CHECK(ok(exec.is_enabled(node)));
    check_invalid(exec.is_enabled(gone), "the node was destroyed");
}
#endif

GRAPH_TEST_CASE("setting a node added to a child graph after the instantiation fails",
                "[graph][G22]", (Api api)) {
    const Context context = context_after_restart("");
    const Stream stream = ok(Stream::create(context));
    auto memory = ok(DeviceBuffer<int>::allocate(context, 8));
    Graph leaf = ok(create_graph(api, context));
    (void)ok(leaf.add_memset_node({}, memory, 1));
    Parent parent = ok(make_parent(api, context, leaf));
    GraphExec exec = ok(parent.graph.instantiate());
    const GraphNode late = ok(parent.inside.add_memset_node({}, memory, 1));
    CHECK(error_of(exec.set_memset_node(late, memory, 2)).status() == CUDA_ERROR_INVALID_VALUE);
    CHECK(exec.launch(stream).has_value());
    CHECK(stream.synchronize().has_value());
    CHECK(ok(read(context, memory)) == std::vector<int>(8, 1));
}

#ifdef API_TEST_ALLOCATIONS_FAIL
// After any failed allocation, the next attempt succeeds.
GRAPH_TEST_CASE("setting a nested node succeeds after failed host allocations",
                "[graph][G14][current]", (Api api)) {
    auto [context, root] = make_graph(api);
    need_simulator("needs the simulator, which works while host allocations fail");
    auto memory = ok(DeviceBuffer<int>::allocate(context, 8));
    Graph leaf = ok(create_graph(api, context));
    (void)ok(leaf.add_memset_node({}, memory, 1));
    Parent branch = ok(make_parent(api, context, leaf));
    const GraphNode outer = ok(root.add_child_graph_node({}, branch.graph));
    GraphExec exec = ok(root.instantiate());
    const auto set_inmost = [&, &graph = root]() -> Result<void> {
        CUSHIM_TRY(Graph inside, graph.child_graph_params(outer));
        CUSHIM_TRY(const auto inner, inside.nodes());
        CUSHIM_TRY(const Graph inmost, inside.child_graph_params(inner[0]));
        CUSHIM_TRY(const auto nodes, inmost.nodes());
        return exec.set_memset_node(nodes[0], memory, 2);
    };
    CHECK(refusals_without_memory([] {}, set_inmost, [] {}) > 3);
    ok(set_inmost());
}
#endif
