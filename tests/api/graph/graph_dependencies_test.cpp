// What names the nodes that another one waits for, and what copies between memory of the host and
// nodes keep.
#include "harness/graph_scenario.hpp"

using namespace api_test;
using namespace cushim;
using support::ok;

namespace {

std::vector<GraphNode> add_empty_nodes(const Graph &graph, std::size_t count) {
    std::vector<GraphNode> nodes;
    for (std::size_t index = 0; index < count; ++index) {
        nodes.push_back(ok(graph.add_empty_node({})));
    }
    return nodes;
}

// Uses the stack where temporaries of the caller's expressions were.
[[gnu::noinline]] void overwrite_stack() {
    volatile unsigned char bytes[4096];
    for (volatile unsigned char &byte : bytes) {
        byte = 0xee;
    }
}

void check_named(const Graph &graph, const GraphDependencies &named,
                 const std::vector<GraphNode> &nodes) {
    overwrite_stack();
    CHECK(named.is_complete());
    const GraphNode last = ok(graph.add_empty_node(named));
    CHECK(ok(graph.dependencies(last)).size() == nodes.size());
    const GraphDependencies copied = named;
    CHECK(std::equal(nodes.begin(), nodes.end(), copied.nodes().begin(), copied.nodes().end()));
}

} // namespace

GRAPH_TEST_CASE("dependencies with a name own the nodes that are given in braces", "[graph]") {
    const auto made = make_graph(api);
    const std::vector<GraphNode> nodes = add_empty_nodes(made.graph, 6);
    const GraphNode a = nodes[0], b = nodes[1];
    const GraphDependencies none{}, one = GraphNode(a), both{a, b};
    const GraphDependencies many{a, b, nodes[2], nodes[3], nodes[4], nodes[5]};
    const GraphDependencies temporary = std::vector<GraphNode>(nodes);
    check_named(made.graph, none, {});
    check_named(made.graph, one, {a});
    check_named(made.graph, both, {a, b});
    check_named(made.graph, many, nodes);
    check_named(made.graph, temporary, nodes);
    check_named(made.graph, nodes, nodes);
    CHECK(GraphDependencies(nodes).nodes().data() == nodes.data()); // a view
    GraphDependencies assigned{a};
    assigned = many;
    check_named(made.graph, assigned, nodes);
    assigned = both;
    check_named(made.graph, assigned, {a, b});
}

GRAPH_STREAM_SCENARIO_TEST("a node copies from and to ranges that have a name", "[graph]") {
    CUSHIM_TRY(const auto memory, DeviceBuffer<int>::allocate(context, 3));
    CUSHIM_TRY(const Graph graph, create_graph(api, context));
    std::vector<int> from = {1, 2, 3}, to(3);
    CUSHIM_TRY(const GraphNode there, graph.add_memcpy_node({}, memory, from));
    CUSHIM_TRY_VOID(graph.add_memcpy_node(there, to, memory));
    CUSHIM_TRY_VOID(run_once(graph, stream));
    CHECK(to == from);
    from = {4, 5, 6};
    CUSHIM_TRY_VOID(run_once(graph, stream));
    CHECK(to == from);
    return {};
}

namespace {

template <class To, class From>
concept AddsCopy = requires(const Graph &graph, To &&to, From &&from) {
    graph.add_memcpy_node({}, std::forward<To>(to), std::forward<From>(from));
};
static_assert(AddsCopy<DeviceBuffer<int> &, std::vector<int> &>);
static_assert(AddsCopy<DeviceSpan<int>, std::span<const int>>);
static_assert(!AddsCopy<DeviceBuffer<int> &, std::vector<int>>); // its elements would be gone
static_assert(!AddsCopy<std::vector<int>, DeviceBuffer<int> &>);
static_assert(!AddsCopy<const std::vector<int> &, DeviceBuffer<int> &>);

} // namespace
