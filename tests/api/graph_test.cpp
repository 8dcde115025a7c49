// Graphs as objects: making, cloning, ordering, reading, destroying; which nodes are there.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"
#include "harness/simulator.hpp"

#include <algorithm>

using namespace cushim;
using api_test::create_graph;
using api_test::make_graph;
using support::ok;

static_assert(!std::is_copy_constructible_v<Graph> && std::is_nothrow_move_constructible_v<Graph>);
static_assert(!std::is_copy_constructible_v<GraphExec>);

// What a graph can keep alive.
using detail::Owning;
static_assert(Owning<DeviceBuffer<int>> && Owning<PoolBuffer<int>> && Owning<GrowableBuffer<int>>);
static_assert(Owning<PinnedBuffer<int>> && Owning<HostMappedBuffer<int>> &&
              Owning<ManagedBuffer<int>> && Owning<PitchedBuffer<int>> &&
              Owning<HostRegistration<int>>);
static_assert(Owning<MappedRange> && Owning<IpcMemory> && Owning<ExternalBuffer> && Owning<Event> &&
              Owning<Kernel<void()>> && Owning<TimelineSemaphore>);
static_assert(!Owning<int> && !Owning<int *> && !Owning<DeviceSpan<int>>);
static_assert(std::is_trivially_copyable_v<GraphNode> && sizeof(GraphNode) == 24);

GRAPH_SCENARIO_TEST("an empty graph is launched", "[graph][G6][G7][G8][G24]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    CUSHIM_TRY(const Graph graph, create_graph(api, context));
    CHECK(graph.api() == api);
    CUSHIM_TRY(const std::size_t count, graph.node_count());
    CHECK(count == 0);
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    CHECK(exec.api() == api);
    CUSHIM_TRY_VOID(exec.launch(stream));
    CUSHIM_TRY_VOID(exec.launch(stream));
    return stream.synchronize();
}

GRAPH_SCENARIO_TEST("edges are added, read and removed", "[graph][G9][G10][G20][G21]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Graph graph, create_graph(api, context));
    CUSHIM_TRY(const GraphNode a, graph.add_empty_node({}));
    CUSHIM_TRY(const GraphNode b, graph.add_empty_node(a));
    CUSHIM_TRY(const GraphNode c, graph.add_empty_node({a, b}));
    CUSHIM_TRY(const auto edges, graph.edges());
    const std::vector<GraphEdge> expected = {{a, b}, {a, c}, {b, c}};
    CHECK(std::is_permutation(edges.begin(), edges.end(), expected.begin(), expected.end()));

    CUSHIM_TRY(const auto roots, graph.root_nodes());
    CHECK(roots == std::vector{a});
    CUSHIM_TRY(const auto nodes, graph.nodes());
    CHECK(nodes.size() == 3);
    CUSHIM_TRY(const auto before_b, graph.dependencies(b));
    CHECK(before_b == std::vector{a});
    CUSHIM_TRY(const auto after_b, graph.dependents(b));
    CHECK(after_b == std::vector{c});

    const GraphNode from[] = {a}, to[] = {c};
    CUSHIM_TRY_VOID(graph.remove_dependencies(from, to));
    CUSHIM_TRY(const auto fewer, graph.edges());
    CHECK(fewer.size() == 2);
    CUSHIM_TRY_VOID(graph.add_dependencies(from, to));
    const GraphEdge same[] = {{a, c}};
    CUSHIM_TRY_VOID(graph.remove_dependencies(same));
    CUSHIM_TRY_VOID(graph.add_dependencies(same));
    return graph.add_dependencies(std::span<const GraphNode>(), std::span<const GraphNode>());
}

GRAPH_SCENARIO_TEST("more dependencies than fit on the stack", "[graph][G10]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Graph graph, create_graph(api, context));
    std::vector<GraphNode> many;
    for (int index = 0; index < 20; ++index) {
        CUSHIM_TRY(const GraphNode node, graph.add_empty_node({}));
        many.push_back(node);
    }
    CUSHIM_TRY(const GraphNode last, graph.add_empty_node(many));
    CUSHIM_TRY(const auto before, graph.dependencies(last));
    CHECK(before.size() == many.size());
    return {};
}

GRAPH_SCENARIO_TEST("a clone runs by itself", "[graph][G6]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    CUSHIM_TRY(const auto memory, DeviceBuffer<int>::allocate(context, 64));
    CUSHIM_TRY(Graph graph, create_graph(api, context));
    CUSHIM_TRY(const GraphNode fill, graph.add_memset_node({}, memory, 7));
    CUSHIM_TRY(const Graph clone, graph.clone());
    CUSHIM_TRY(const GraphNode found, clone.find_in_clone(graph, fill));
    CHECK(found != fill);
    CUSHIM_TRY(const GraphNodeType type, clone.node_type(found));
    CHECK(type == GraphNodeType::memset);
    graph.reset();
    CUSHIM_TRY_VOID(api_test::run_once(clone, stream));
    CUSHIM_TRY(const auto values, api_test::read(context, memory));
    CHECK(values == std::vector<int>(64, 7));
    return {};
}

GRAPH_SCENARIO_TEST("a destroyed node is known to be gone", "[graph][G22]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Graph graph, create_graph(api, context));
    CUSHIM_TRY(const GraphNode a, graph.add_empty_node({}));
    CUSHIM_TRY(const GraphNode b, graph.add_empty_node(a));
    CUSHIM_TRY_VOID(graph.destroy_node(a));
    CUSHIM_TRY(const auto before, graph.dependencies(b));
    CHECK(before.empty());
    const auto again = graph.destroy_node(a);
    CHECK(api_test::refusal(again) == "invalid argument: the node was destroyed");
    // CUDA may give its handle again: the old name stays a dead one.
    CUSHIM_TRY(const GraphNode c, graph.add_empty_node({}));
    CHECK(c != a);
    CHECK_FALSE(graph.node_type(a).has_value());
    return {};
}

TEST_CASE("a node of another graph is refused", "[graph][G22]") {
    const auto [context, graph] = make_graph(Api::driver);
    const Graph other = ok(Graph::create(context));
    const GraphNode node = ok(graph.add_empty_node({}));
    const GraphNode foreign = ok(other.add_empty_node({}));
    const char *const message = "invalid argument: the node is of another graph";
    CHECK(api_test::refusal(graph.add_empty_node(foreign)) == message);
    CHECK(api_test::refusal(graph.node_type(foreign)) == message);
    CHECK(api_test::refusal(graph.destroy_node(foreign)) == message);
    CHECK(api_test::refusal(graph.dependencies(foreign)) == message);
    CHECK(api_test::refusal(graph.dependents(foreign)) == message);
    const GraphNode from[] = {node}, to[] = {foreign};
    CHECK(api_test::refusal(graph.add_dependencies(from, to)) == message);
    CHECK(api_test::refusal(graph.add_empty_node(GraphNode())) ==
          "invalid argument: the node is none");
    CHECK(*graph.node_count() == 1);
}

TEST_CASE("edges from so many nodes to so many others", "[graph][G20]") {
    const auto [context, graph] = make_graph(Api::driver);
    const GraphNode a = ok(graph.add_empty_node({}));
    const GraphNode b = ok(graph.add_empty_node({}));
    const GraphNode from[] = {a, b}, to[] = {b};
    CHECK(api_test::refusal(graph.add_dependencies(from, to)) ==
          "invalid argument: edges from 2 nodes to 1");
    CHECK(api_test::refusal(graph.remove_dependencies(from, to)) ==
          "invalid argument: edges from 2 nodes to 1");
}

TEST_CASE("an empty graph object is refused", "[graph][G6]") {
    api_test::restart("");
    const Graph none;
    CHECK(api_test::refusal(none.add_empty_node({})) == "invalid argument: the graph is empty");
    CHECK(api_test::refusal(none.instantiate()) == "invalid argument: the graph is empty");
    CHECK(api_test::refusal(none.clone()) == "invalid argument: the graph is empty");
    CHECK(api_test::refusal(none.nodes()) == "invalid argument: the graph is empty");
    CHECK(api_test::refusal(Graph::create(Context())) == "invalid argument: the context is empty");
    const GraphExec nothing;
    CHECK(api_test::refusal(nothing.launch(Stream::legacy())) ==
          "invalid argument: the executable graph is empty");
    CHECK(none.api() == Api::loader);
}

TEST_CASE("graphs are adopted and borrowed", "[graph][G6]") {
    auto [context, graph] = make_graph(Api::driver);
    (void)ok(graph.add_empty_node({}));
    const CUgraph native = graph.release();
    {
        const Graph lent = ok(Graph::borrow(context, native));
        CHECK(*lent.node_count() == 1);
    }
    const Graph owned = ok(Graph::adopt(context, native));
    CHECK(*owned.node_count() == 1);
    CHECK(api_test::refusal(Graph::adopt(context, nullptr)) ==
          "invalid argument: the handle is null");
    CHECK(api_test::refusal(Graph::borrow(context, nullptr)) ==
          "invalid argument: the handle is null");
}

GRAPH_TEST_CASE("a cycle is told when the graph is instantiated", "[graph][G8]") {
    const auto [context, graph] = make_graph(api);
    const GraphNode a = ok(graph.add_empty_node({}));
    const GraphNode b = ok(graph.add_empty_node(a));
    const GraphNode from[] = {b}, to[] = {a};
    REQUIRE(graph.add_dependencies(from, to).has_value());
    InstantiateFailure failure;
    const auto exec = graph.instantiate({}, &failure);
    REQUIRE_FALSE(exec.has_value());
    CHECK(exec.error().api() == api);
    CHECK(exec.error().status() == 1); // either API's invalid value
    const Version oldest = std::min(driver_version(), headers_version());
    CHECK(failure.result == (supports(oldest, Feature::graph_instantiate_params)
                                 ? InstantiateResult::invalid_structure
                                 : InstantiateResult::error));
    // Older drivers tell the node by another call. Which node of the cycle it is, is up to the driver.
    if (api == Api::driver) {
        CHECK((failure.node == a || (failure.node == b && api_test::simulator() == nullptr)));
    }
}
