// Graph objects: creation, clones, edges, nodes and destruction.
#include "harness/graph_scenario.hpp"
#include "harness/memory.hpp"
#include "harness/spied_call.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/external_memory.hpp>
#include <cushim/growable_buffer.hpp>
#include <cushim/host_mapped_buffer.hpp>
#include <cushim/host_registration.hpp>
#include <cushim/ipc.hpp>
#include <cushim/managed_buffer.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/pinned_buffer.hpp>
#include <cushim/pitched_buffer.hpp>
#include <cushim/pool_buffer.hpp>

#include <algorithm>
#include <utility>

using namespace api_test;
using namespace cushim;

static_assert(!std::is_copy_constructible_v<Graph> && std::is_nothrow_move_constructible_v<Graph>);
static_assert(!std::is_copy_constructible_v<GraphExec>);

// Types that a graph can keep alive.
using detail::Owning;
static_assert(Owning<DeviceBuffer<int>> && Owning<PoolBuffer<int>> && Owning<GrowableBuffer<int>>);
static_assert(Owning<PinnedBuffer<int>> && Owning<HostMappedBuffer<int>> &&
              Owning<ManagedBuffer<int>> && Owning<PitchedBuffer<int>> &&
              Owning<HostRegistration<int>>);
static_assert(Owning<MappedRange> && Owning<IpcMemory> && Owning<ExternalBuffer> && Owning<Event> &&
              Owning<Kernel<void()>> && Owning<TimelineSemaphore>);
static_assert(!Owning<int> && !Owning<int *> && !Owning<DeviceSpan<int>>);
static_assert(std::is_nothrow_copy_constructible_v<GraphNode> && sizeof(GraphNode) == 16);
static_assert([] {
    GraphNode node;
    const GraphNode copy = node;
    node = copy;
    return node == copy;
}());

namespace {

// Checks the edges, in any order.
Result<void> check_edges(const Graph &graph, const std::vector<GraphEdge> &expected) {
    CUSHIM_TRY(const auto edges, graph.edges());
    CHECK(std::is_permutation(edges.begin(), edges.end(), expected.begin(), expected.end()));
    return {};
}

// Counts destructions of graphs, by either API.
class Destructions {
  public:
    Destructions() { count_ = 0; }
    int operator*() const { return count_; }

  private:
    static inline int count_ = 0;

    SpiedCall<entry::cuGraphDestroy> by_driver_{[](CUgraph) { ++count_; }};
    SpiedCall<entry::cudaGraphDestroy> by_runtime_{[](CUgraph) { ++count_; }};
};

// Records the dependencies passed for an empty node, by either API.
class PassedDependencies {
  public:
    PassedDependencies() { nodes_ = &unset_; }
    const CUgraphNode *nodes() const { return nodes_; }
    std::size_t count() const { return count_; }

  private:
    static inline const CUgraphNode unset_ = nullptr;
    static inline const CUgraphNode *nodes_ = nullptr;
    static inline std::size_t count_ = 0;

    static void look(CUgraphNode *, CUgraph, const CUgraphNode *nodes, std::size_t count) {
        nodes_ = nodes;
        count_ = count;
    }
    SpiedCall<entry::cuGraphAddEmptyNode> by_driver_{look};
    SpiedCall<entry::cudaGraphAddEmptyNode> by_runtime_{look};
};

} // namespace

GRAPH_SCENARIO_TEST("an empty graph is launched", "[graph][G6][G7][G8][G24]",
                    (Api api, const Stream &stream, Graph &graph)) {
    CHECK(graph.api() == api);
    CUSHIM_TRY_VOID(check_gives(graph.node_count(), 0));
    CUSHIM_TRY(GraphExec exec, graph.instantiate());
    CHECK(exec.api() == api);
    CUSHIM_TRY_VOID(exec.launch(stream));
    return launch_and_wait(exec, stream);
}

GRAPH_SCENARIO_TEST("a graph adds, reads and removes edges", "[graph][G9][G10][G20][G21]",
                    (Graph &graph)) {
    CUSHIM_TRY(const GraphNode a, graph.add_empty_node({}));
    CUSHIM_TRY(const GraphNode b, graph.add_empty_node(a));
    CUSHIM_TRY(const GraphNode c, graph.add_empty_node({a, b}));
    const std::vector<GraphEdge> expected = {{a, b}, {a, c}, {b, c}};
    CUSHIM_TRY_VOID(check_edges(graph, expected));

    CUSHIM_TRY_VOID(check_gives(graph.root_nodes(), std::vector{a}));
    CUSHIM_TRY(const auto nodes, graph.nodes());
    CHECK(nodes.size() == 3);
    CUSHIM_TRY_VOID(check_gives(graph.dependencies(b), std::vector{a}));
    CUSHIM_TRY_VOID(check_gives(graph.dependents(b), std::vector{c}));

    const GraphNode from[] = {a}, to[] = {c};
    CUSHIM_TRY_VOID(graph.remove_dependencies(from, to));
    CUSHIM_TRY_VOID(check_edges(graph, {{a, b}, {b, c}}));
    CUSHIM_TRY_VOID(graph.add_dependencies(from, to));
    CUSHIM_TRY_VOID(check_edges(graph, expected));
    const GraphEdge same[] = {{a, c}};
    CUSHIM_TRY_VOID(graph.remove_dependencies(same));
    CUSHIM_TRY_VOID(check_edges(graph, {{a, b}, {b, c}}));
    CUSHIM_TRY_VOID(graph.add_dependencies(same));
    CUSHIM_TRY_VOID(check_edges(graph, expected));

    // Several edges at once.
    const GraphNode two_from[] = {a, b}, two_to[] = {c, c};
    CUSHIM_TRY_VOID(graph.remove_dependencies(two_from, two_to));
    CUSHIM_TRY_VOID(check_edges(graph, {{a, b}}));
    CUSHIM_TRY_VOID(graph.add_dependencies(two_from, two_to));
    return check_edges(graph, expected);
}

GRAPH_SCENARIO_TEST("a node has more dependencies than fit on the stack", "[graph][G10]",
                    (Graph &graph)) {
    std::vector<GraphNode> many;
    for (int index = 0; index < 20; ++index) {
        CUSHIM_TRY(const GraphNode node, graph.add_empty_node({}));
        many.push_back(node);
    }
    for (const std::size_t count : {16, 17, 20}) { // 16 fit
        CUSHIM_TRY(const GraphNode last, graph.add_empty_node(std::span(many).first(count)));
        CUSHIM_TRY(const auto before, graph.dependencies(last));
        CHECK(before.size() == count);
    }
    return {};
}

GRAPH_SCENARIO_TEST("a clone runs after its original is destroyed", "[graph][G6]",
                    (Api api, const Context &context, const Stream &stream)) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 64));
    CUSHIM_TRY(Graph graph, create_graph(api, context));
    CUSHIM_TRY(const GraphNode fill, graph.add_memset_node({}, memory, 7));
    CUSHIM_TRY(const Graph clone, graph.clone());
    CUSHIM_TRY(const GraphNode found, clone.find_in_clone(graph, fill));
    CHECK(found != fill);
    CUSHIM_TRY_VOID(check_gives(clone.node_type(found), GraphNodeType::memset));
    graph.reset();
    return check_run(clone, stream, memory, 7);
}

GRAPH_SCENARIO_TEST("a destroyed node is rejected", "[graph][G22]", (Graph &graph)) {
    CUSHIM_TRY(const GraphNode a, graph.add_empty_node({}));
    CUSHIM_TRY(const GraphNode b, graph.add_empty_node(a));
    CUSHIM_TRY_VOID(graph.destroy_node(a));
    CUSHIM_TRY(const auto before, graph.dependencies(b));
    CHECK(before.empty());
    const auto again = graph.destroy_node(a);
    check_invalid(again, "the node was destroyed");
    // CUDA may reuse the handle; the old GraphNode stays invalid.
    CUSHIM_TRY(const GraphNode c, graph.add_empty_node({}));
    CHECK(c != a);
    CHECK_FALSE(graph.node_type(a).has_value());
    return {};
}

TEST_CASE("a node differs from destroyed ones with the same handle", "[graph][G22]") {
    auto [context, graph] = make_graph(Api::driver);
    Graph other = ok(Graph::create(context));
    const SameHandle same_handle;
    const auto is_known = [&graph = graph](const GraphNode &node) {
        return graph.node_type(node).has_value();
    };
    std::vector<GraphNode> gone;
    for (int round = 0; round < 3; ++round) {
        const GraphNode node = ok(graph.add_empty_node({}));
        CHECK(is_known(node));
        CHECK(std::none_of(gone.begin(), gone.end(), is_known));
        CHECK(std::find(gone.begin(), gone.end(), node) == gone.end());
        ok(graph.destroy_node(node));
        check_invalid(graph.destroy_node(node),
                      round == 0 ? "the node was destroyed"
                                 : "the node was destroyed or belongs to another graph");
        gone.push_back(node);
    }
    check_invalid(graph.destroy_node(gone[0]), "the node was destroyed");
    check_invalid(other.node_type(gone[0]), "the node belongs to another graph");
    check_invalid(other.node_type(gone[2]), "the node was destroyed or belongs to another graph");
}

GRAPH_TEST_CASE("copies of a GraphNode are equal, and valid only in its graph", "[graph][G22]",
                (Api api)) {
    auto [context, graph] = make_graph(api);
    const GraphNode node = ok(graph.add_empty_node({}));
    const GraphNode copy = node;
    CHECK(copy == node);
    CHECK(copy.native() == node.native());
    CHECK(ok(graph.nodes()) == std::vector{copy});

    // Moving or sharing the graph keeps its nodes valid.
    Graph moved = std::move(graph);
    CHECK(ok(moved.node_type(copy)) == GraphNodeType::empty);
    CHECK(ok(moved.share().node_type(copy)) == GraphNodeType::empty);

    const char *const foreign = "the node belongs to another graph";
    const Graph clone = ok(moved.clone());
    CHECK(refusal(clone.node_type(copy)) == foreign);
    Graph around = ok(create_graph(api, context));
    const GraphNode child = ok(around.add_child_graph_node({}, moved));
    CHECK(refusal(around.node_type(copy)) == foreign);
    CHECK(refusal(ok(around.child_graph_params(child)).node_type(copy)) == foreign);

    // A GraphNode is valid until the last owner of the graph is destroyed.
    GraphExec exec = ok(moved.instantiate());
    const Graph shared = moved.share();
    moved.reset();
    CHECK(ok(shared.node_type(copy)) == GraphNodeType::empty);
    const Graph lent = ok(borrow_graph(api, context, shared.native()));
    CHECK(refusal(lent.node_type(copy)) == foreign);
    check_invalid(Graph().node_type(copy), "the Graph is empty");
}

GRAPH_TEST_CASE("a node of a destroyed graph is rejected", "[graph][G22]", (Api api)) {
    auto [context, graph] = make_graph(api);
    auto memory = ok(DeviceBuffer<int>::allocate(context, 8));
    const GraphNode set = ok(graph.add_memset_node({}, memory, 1));
    GraphExec exec = ok(graph.instantiate());
    graph.reset();
    const char *const gone = "the node was destroyed";
    CHECK(refusal(exec.set_memset_node(set, memory, 2)) == gone);
    CHECK(refusal(exec.set_enabled(set, false)) == gone);
    // If CUDA reuses the handle for another graph, the old GraphNode stays invalid.
    Graph next = ok(create_graph(api, context));
    const GraphNode other = ok(next.add_memset_node({}, memory, 1));
    CHECK(other != set);
    check_invalid(next.node_type(set), "the node belongs to another graph");
}

GRAPH_TEST_CASE("find_in_clone() accepts only nodes of the original", "[graph][G6][G22]",
                (Api api)) {
    auto [context, graph] = make_graph(api);
    const GraphNode gone = ok(graph.add_empty_node({}));
    const GraphNode node = ok(graph.add_empty_node({}));
    const Graph clone = ok(graph.clone());
    const GraphNode found = ok(clone.find_in_clone(graph, node));
    const char *const foreign = "the node belongs to another graph";
    CHECK(refusal(clone.find_in_clone(graph, found)) == foreign);
    CHECK(refusal(clone.find_in_clone(clone, node)) == foreign);
    check_invalid(clone.find_in_clone(graph, GraphNode()), "the node is an empty GraphNode");
    CHECK_FALSE(graph.find_in_clone(graph, node).has_value());
    ok(graph.destroy_node(gone));
    check_invalid(clone.find_in_clone(graph, gone), "the node was destroyed");
}

TEST_CASE("a node of another graph is rejected", "[graph][G22]") {
    auto [context, graph] = make_graph(Api::driver);
    Graph other = ok(Graph::create(context));
    const GraphNode node = ok(graph.add_empty_node({}));
    const GraphNode foreign = ok(other.add_empty_node({}));
    const char *const message = "the node belongs to another graph";
    check_invalid(graph.add_empty_node(foreign), "dependencies[0] belongs to another graph");
    CHECK(refusal(graph.node_type(foreign)) == message);
    CHECK(refusal(graph.destroy_node(foreign)) == message);
    CHECK(refusal(graph.dependencies(foreign)) == message);
    CHECK(refusal(graph.dependents(foreign)) == message);
    const GraphNode from[] = {node}, to[] = {foreign};
    check_invalid(graph.add_dependencies(from, to), "to[0] belongs to another graph");
    check_invalid(graph.add_empty_node(GraphNode()), "dependencies[0] is an empty GraphNode");
    CHECK(*graph.node_count() == 1);
}

GRAPH_TEST_CASE("edges with different numbers of ends are rejected", "[graph][G20]", (Api api)) {
    auto [context, graph] = make_graph(api);
    const GraphNode a = ok(graph.add_empty_node({}));
    const GraphNode b = ok(graph.add_empty_node({}));
    const GraphNode from[] = {a, b}, to[] = {b};
    check_invalid(graph.add_dependencies(from, to),
                  "`from` has size 2, but `to` has size 1; the sizes must be equal");
    check_invalid(graph.remove_dependencies(from, to),
                  "`from` has size 2, but `to` has size 1; the sizes must be equal");
    check_invalid(graph.add_dependencies({}, to),
                  "`from` has size 0, but `to` has size 1; the sizes must be equal");
    CHECK(ok(graph.edges()).empty());
}

GRAPH_TEST_CASE("adding and removing 0 edges makes no CUDA calls", "[graph][G20]", (Api api)) {
    need_faults();
    auto [context, graph] = make_graph(api);
    const GraphNode a = ok(graph.add_empty_node({}));
    const GraphNode b = ok(graph.add_empty_node({}));
    always_fail_instead(graph_call(api, "AddDependencies").c_str());
    always_fail_instead(graph_call(api, "RemoveDependencies").c_str());
    const std::span<const GraphNode> no_nodes;
    const std::span<const GraphEdge> no_edges;
    CHECK(graph.add_dependencies(no_nodes, no_nodes).has_value());
    CHECK(graph.remove_dependencies(no_nodes, no_nodes).has_value());
    CHECK(graph.add_dependencies(no_edges).has_value());
    CHECK(graph.remove_dependencies(no_edges).has_value());
    const GraphEdge edge[] = {{a, b}};
    CHECK(graph.add_dependencies(edge).error().status() == 999);
    CHECK(graph.remove_dependencies(edge).error().status() == 999);
}

GRAPH_TEST_CASE("CUDA receives a null pointer for 0 dependencies", "[graph][G21]", (Api api)) {
    auto [context, graph] = make_graph(api);
    const std::vector<GraphNode> none;
    const GraphDependencies ways[] = {{}, none, std::span<const GraphNode>(none)};
    for (const GraphDependencies &dependencies : ways) {
        const PassedDependencies passed;
        const GraphNode node = ok(graph.add_empty_node(dependencies));
        CHECK(passed.nodes() == nullptr);
        CHECK(passed.count() == 0);
        CHECK(ok(graph.dependencies(node)).empty());
    }
    CHECK(ok(graph.root_nodes()).size() == std::size(ways));

    const GraphNode first = ok(graph.add_empty_node({}));
    const PassedDependencies passed;
    CHECK(graph.add_empty_node(first).has_value());
    CHECK(passed.count() == 1);
    CHECK(passed.nodes() != nullptr);
}

// --- owners

GRAPH_TEST_CASE("a graph is destroyed with the last of its owners", "[graph][G6]", (Api api)) {
    auto [context, graph] = make_graph(api);
    const Destructions destructions;
    const GraphNode node = ok(graph.add_empty_node({}));
    Graph second = graph.share();
    Graph third = second.share();
    CHECK(third.native() == graph.native());
    CHECK(third.api() == api);
    graph.reset();
    second.reset();
    CHECK(*destructions == 0);
    CHECK(ok(third.nodes()) == std::vector{node});
    third.reset();
    CHECK(*destructions == 1);

    Graph lent = ok(create_graph(api, context)), borrowed;
    borrowed = ok(borrow_graph(api, context, lent.native()));
    borrowed.reset();
    CHECK(*destructions == 1);
    const CUgraph native = lent.release();
    CHECK(*destructions == 1);
    (void)ok(api == Api::runtime ? rt::adopt_graph(context, native)
                                 : Graph::adopt(context, native));
    CHECK(*destructions == 2);
}

GRAPH_TEST_CASE("a graph, its clone and its executable graph keep their context alive",
                "[graph][G6]", (Api api)) {
    auto [context, graph] = make_graph(api);
    context.reset();
    CHECK(is_primary_active());
    const GraphNode node = ok(graph.add_empty_node({}));
    Graph clone = ok(graph.clone());
    CHECK(ok(graph.nodes()) == std::vector{node});
    graph.reset();
    CHECK(is_primary_active());
    GraphExec exec = ok(clone.instantiate());
    clone.reset();
    CHECK(is_primary_active());
    exec.reset();
    if (simulator() != nullptr && api == Api::driver) {
        CHECK_FALSE(is_primary_active()); // otherwise it has other owners
    }
}

TEST_CASE("calls reject an empty graph", "[graph][G6]") {
    restart("");
    Graph none;
    check_invalid(none.add_empty_node({}), "the Graph is empty");
    check_invalid(none.instantiate(), "the Graph is empty");
    check_invalid(none.clone(), "the Graph is empty");
    check_invalid(none.nodes(), "the Graph is empty");
    check_invalid(Graph::create(Context()), "the Context is empty");
    const GraphExec nothing;
    check_invalid(nothing.launch(Stream::legacy()), "the GraphExec is empty");
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
    check_invalid(Graph::adopt(context, nullptr), "the handle is null");
    check_invalid(Graph::borrow(context, nullptr), "the handle is null");
}

GRAPH_TEST_CASE("instantiating a graph with a cycle fails", "[graph][G8]", (Api api)) {
    auto [context, graph] = make_graph(api);
    const GraphNode a = ok(graph.add_empty_node({}));
    const GraphNode b = ok(graph.add_empty_node(a));
    const GraphNode from[] = {b}, to[] = {a};
    REQUIRE(graph.add_dependencies(from, to).has_value());
    CHECK(graph.instantiate_failure().result == InstantiateResult::error); // none has failed
    CHECK_FALSE(graph.instantiate_failure().node);
    const Error exec = error_of(graph.instantiate());
    const InstantiateFailure failure = graph.instantiate_failure();
    CHECK(exec.api() == api);
    CHECK(exec.status() == 1); // invalid value in both APIs
    const Version oldest = std::min(driver_version(), headers_version());
    CHECK(failure.result == (supports(oldest, Feature::graph_instantiate_params)
                                 ? InstantiateResult::invalid_structure
                                 : InstantiateResult::error));
    // Older drivers report the node by another call. The driver chooses the node of the cycle.
    if (api == Api::driver) {
        CHECK((failure.node == a || (failure.node == b && simulator() == nullptr)));
    }
}

GRAPH_SCENARIO_TEST("dependencies are no node, one, several in braces, or a range", "[graph]",
                    (Graph &graph)) {
    CUSHIM_TRY(const GraphNode a, graph.add_empty_node({}));
    CUSHIM_TRY(const GraphNode b, graph.add_empty_node({a}));
    CUSHIM_TRY(const GraphNode c, graph.add_empty_node({a, b}));
    const GraphNode array[] = {a, b, c};
    CUSHIM_TRY(const GraphNode of_array, graph.add_empty_node(array));
    CUSHIM_TRY(const GraphNode of_temporary, graph.add_empty_node(std::vector{a, c}));
    CUSHIM_TRY_VOID(check_gives(graph.dependencies(b), std::vector{a}));
    CUSHIM_TRY_VOID(check_gives(graph.dependencies(c), std::vector{a, b}));
    CUSHIM_TRY_VOID(check_gives(graph.dependencies(of_array), std::vector{a, b, c}));
    return check_gives(graph.dependencies(of_temporary), std::vector{a, c});
}
static_assert(std::is_trivially_copyable_v<GraphNode>);

GRAPH_SCENARIO_TEST("a memcpy node copies from and to named ranges", "[graph]",
                    (const Context &context, const Stream &stream, Graph &graph)) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(context, 3));
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
concept AddsCopy = requires(Graph &graph, To &&to, From &&from) {
    graph.add_memcpy_node({}, std::forward<To>(to), std::forward<From>(from));
};
static_assert(AddsCopy<DeviceBuffer<int> &, std::vector<int> &>);
static_assert(AddsCopy<DeviceSpan<int>, std::span<const int>>);
static_assert(!AddsCopy<DeviceBuffer<int> &, std::vector<int>>); // its elements would be destroyed
static_assert(!AddsCopy<std::vector<int>, DeviceBuffer<int> &>);
static_assert(!AddsCopy<const std::vector<int> &, DeviceBuffer<int> &>);

} // namespace
