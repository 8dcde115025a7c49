// The structure of graphs: nodes, edges, copies, invalid handles.
#include "../support/contains.hpp"
#include "graph_tools.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

using namespace sim_test;

TEST_CASE("graph calls return the statuses recorded on an H200") {
    const Graph graph, other;
    const CUgraphNode a = add_empty(graph), b = add_empty(graph, {a}), stranger = add_empty(other);
    CHECK(add_edge(graph, stranger, b) == invalid);
    CHECK(add_edge(graph, b, a) == good); // a cycle
    CHECK(add_edge(graph, a, b) == invalid);
    CHECK(try_instantiate(graph) == invalid);
    CHECK(d.cuGraphLaunch(nullptr, nullptr) == invalid);
    CHECK(d.cuGraphDestroyNode(add_empty(graph)) == good);
    // A graph needs no context; an executable graph does.
    REQUIRE(d.cuCtxSetCurrent(nullptr) == good);
    const Graph third;
#if CUDA_VERSION >= 12000
    CHECK(try_instantiate(third) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuGraphLaunch(nullptr, nullptr) == invalid);
    CHECK(d.cuGraphExecDestroy(nullptr) == invalid);
#endif
}

TEST_CASE("the first ABI of instantiation reports the reason of a failure") {
    using Function = CUresult(CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t);
    for (const char *name : {"cuGraphInstantiate", "cuGraphInstantiate_v2"}) {
        auto *make = entry<Function>(name);
        const Graph graph;
        const CUgraphNode a = add_empty(graph), b = add_empty(graph, {a}),
                          c = add_empty(graph, {b});
        CUgraphExec exec = nullptr;
        CUgraphNode wrong = garbage<CUgraphNode>();
        char log[8] = "unset";
        CHECK(make(&exec, graph, &wrong, log, sizeof log) == good);
        CHECK(wrong == nullptr);
        CHECK(log[0] == '\0');
        destroy(exec);
        REQUIRE(add_edge(graph, c, b) == good);
        CHECK(make(&exec, graph, &wrong, log, sizeof log) == invalid);
        CHECK((wrong == b || wrong == c));
        CHECK(std::string(log) == "a cycle");
        CHECK(make(&exec, graph, nullptr, nullptr, 0) == invalid);
        log[2] = 'x';
        CHECK(make(&exec, graph, nullptr, log, 2) == invalid);
        CHECK(std::string(log) == "a");
        CHECK(log[2] == 'x');
        CHECK(make(nullptr, graph, nullptr, nullptr, 0) == invalid);
    }
}

TEST_CASE("nodes and edges are listed in the order in which they were added") {
    const Graph graph;
    const CUgraphNode a = add_empty(graph), b = add_empty(graph), c = add_empty(graph, {b, a}),
                      e = add_empty(graph, {c}), unset = garbage<CUgraphNode>();
    CHECK(nodes_of(graph) == Nodes{a, b, c, e});
    CHECK(dependencies_of(c) == Nodes{b, a});
    CHECK(dependencies_of(a).empty());

    std::size_t count = 0;
    CHECK(got(d.cuGraphGetRootNodes(graph, nullptr, &count), count) == 2);
    Nodes roots(3, unset);
    count = 3; // more room than roots
    CHECK(got(d.cuGraphGetRootNodes(graph, roots.data(), &count), count) == 2);
    CHECK(roots == Nodes{a, b, nullptr});
    count = 1; // less room
    roots[1] = unset;
    CHECK(got(d.cuGraphGetRootNodes(graph, roots.data(), &count), count) == 1);
    CHECK(roots[1] == unset);
    CHECK(d.cuGraphGetRootNodes(graph, roots.data(), nullptr) == invalid);
    CHECK(d.cuGraphGetNodes(graph, nullptr, nullptr) == invalid);

    using Edges = CUresult(CUgraph, CUgraphNode *, CUgraphNode *, size_t *);
    auto *edges = entry<Edges>("cuGraphGetEdges");
    CHECK(got(edges(graph, nullptr, nullptr, &count), count) == 3);
    Nodes from(4, unset), to(4, unset);
    count = 4;
    CHECK(got(edges(graph, from.data(), to.data(), &count), count) == 3);
    CHECK(from == Nodes{a, b, c, nullptr});
    CHECK(to == Nodes{c, c, e, nullptr});
    CHECK(edges(graph, from.data(), nullptr, &count) == invalid);
    CHECK(edges(graph, nullptr, to.data(), &count) == invalid);

    using Neighbours = CUresult(CUgraphNode, CUgraphNode *, size_t *);
    count = 4;
    CHECK(got(entry<Neighbours>("cuGraphNodeGetDependentNodes")(b, to.data(), &count), count) == 1);
    CHECK((to[0] == c && to[1] == nullptr));

    CHECK(remove_edge(graph, b, c) == good);
    CHECK(remove_edge(graph, b, c) == invalid);
    CHECK(dependencies_of(c) == Nodes{a});
    CHECK(d.cuGraphDestroyNode(c) == good);
    CHECK(dependencies_of(e).empty());
    CHECK(nodes_of(graph) == Nodes{a, b, e});
}

TEST_CASE("if one edge cannot be added, none is") {
    const Graph graph, other;
    const CUgraphNode a = add_empty(graph), b = add_empty(graph), c = add_empty(graph),
                      stranger = add_empty(other);
    auto *add = entry<EdgeFunction>("cuGraphAddDependencies");
    const CUgraphNode from[] = {a, b, stranger}, to[] = {b, c, c};
    CHECK(add(graph, from, to, 3) == invalid);
    CHECK(dependencies_of(b).empty());
    CHECK(dependencies_of(c).empty());
    const CUgraphNode twice_from[] = {a, a}, twice_to[] = {b, b};
    CHECK(add(graph, twice_from, twice_to, 2) == invalid);
    CHECK(dependencies_of(b).empty());
    CHECK(add(graph, from, to, 2) == good);
    CHECK(add(graph, nullptr, nullptr, 0) == good);
    CHECK(add(graph, nullptr, to, 1) == invalid);
    CHECK(add(graph, from, nullptr, 1) == invalid);
}

TEST_CASE("dependencies of a new node must be distinct nodes of its graph") {
    const Graph graph, other;
    const CUgraphNode a = add_empty(graph), b = add_empty(graph), stranger = add_empty(other);
    const CUgraphNode twice[] = {a, a}, foreign[] = {stranger}, null[] = {nullptr};
    CUgraphNode node = nullptr;
    const Calls add(&Driver::cuGraphAddEmptyNode);
    // An impossible count is rejected before the array is read.
    add[invalid] = {{&node, graph, twice, 2},    {&node, graph, twice, ~std::size_t(0)},
                    {&node, graph, foreign, 1},  {&node, graph, null, 1},
                    {&node, graph, nullptr, 1},  {nullptr, graph, nullptr, 0},
                    {&node, nullptr, nullptr, 0}};
    CHECK(nodes_of(graph) == Nodes{a, b});
    // The output is overwritten with an invalid handle.
    CHECK(node != nullptr);
    CUgraph failed = nullptr;
    CHECK(d.cuGraphCreate(&failed, 1) == invalid);
    CHECK(failed != nullptr);
    CHECK(d.cuGraphCreate(nullptr, 0) == invalid);
}

TEST_CASE("destroyed and wrong graph handles fail and are reported") {
    const CUgraph graph = make_graph();
    const CUgraphNode node = add_empty(graph);
    const CUgraphExec exec = instantiate(graph);
    destroy(exec);
    CHECK(reported(d.cuGraphExecDestroy(exec), "destroyed executable graph") == invalid);
    CHECK(reported(d.cuGraphLaunch(exec, nullptr), "destroyed executable graph") == invalid);
    CHECK(d.cuGraphDestroyNode(reinterpret_cast<CUgraphNode>(graph)) == invalid);
    expect_misuse("was expected, but this is graph");
    destroy(graph);
    CHECK(reported(d.cuGraphDestroy(graph), "destroyed graph") == invalid);
    CUgraphNodeType type{};
    CHECK(reported(d.cuGraphNodeGetType(node, &type), "destroyed") == invalid);
    CHECK(reported(d.cuGraphDestroy(garbage<CUgraph>()), "is not a graph handle") == invalid);
    CHECK(d.cuGraphDestroy(nullptr) == invalid);
}

TEST_CASE("a clone is independent of its original") {
    RunOrder order;
    const CUgraph graph = make_graph();
    const CUgraphNode a = add_note(graph, order, 1), b = add_note(graph, order, 2, {a});
    const Graph clone(clone_of(graph));
    const Nodes cloned = nodes_of(clone);
    REQUIRE(cloned.size() == 2);
    CHECK(dependencies_of(cloned[1]) == Nodes{cloned[0]});
    CUgraphNode found = nullptr;
    CHECK(got(d.cuGraphNodeFindInClone(&found, b, clone), found) == cloned[1]);
    const Calls find(&Driver::cuGraphNodeFindInClone);
    find[invalid] = {{&found, cloned[0], graph},
                     {&found, a, graph},
                     {nullptr, a, clone},
                     {&found, add_empty(graph), clone}};
    REQUIRE(d.cuGraphDestroyNode(cloned[1]) == good);
    find[invalid] = {{&found, b, clone}};
    // Changing and destroying the original does not affect the clone.
    const CUDA_HOST_NODE_PARAMS changed = host_parameters(order, 7);
    REQUIRE(d.cuGraphHostNodeSetParams(a, &changed) == good);
    destroy(graph);
    run(Executable(clone));
    CHECK(order.ran() == std::vector<int>{1});
    CHECK(d.cuGraphClone(nullptr, clone) == invalid);
}

TEST_CASE("a child graph is a copy that its node owns") {
    RunOrder order;
    const CUgraph child = make_graph();
    const Graph graph;
    const CUgraphNode inner = add_note(child, order, 2), first = add_note(graph, order, 1);
    const CUgraphNode node = add_child(graph, child, {first});
    add_note(graph, order, 4, {node});
    CUgraph embedded = child_of(node);
    CHECK(embedded != child);
    CUgraphNode found = nullptr;
    CHECK(d.cuGraphNodeFindInClone(&found, inner, embedded) == good);
    add_note(embedded, order, 3, {found});
    CHECK(reported(d.cuGraphDestroy(embedded), "belongs to a node") == invalid);
    // It is launched with its parent only; a clone of it can be instantiated.
    CHECK(try_instantiate(embedded) == CUDA_ERROR_NOT_SUPPORTED);
    const CUgraph clone = clone_of(embedded);
    destroy(instantiate(clone));
    destroy(clone);
    CHECK(d.cuGraphChildGraphNodeGetGraph(first, &embedded) == invalid);
    destroy(child);
    CHECK(leaks().size() == 1); // the graph, including all it contains
    const Executable exec(graph);
    CHECK(leaks().size() == 2);
    run(exec);
    CHECK(order.ran() == std::vector<int>{1, 2, 3, 4});
}

TEST_CASE("a graph added to itself as a child is copied without the new node") {
    RunOrder order;
    const Graph graph, empty;
    add_note(graph, order, 1);
    for (int i = 0; i < 3; ++i) {
        add_child(graph, graph);
    }
    run(Executable(graph));
    CHECK(order.ran().size() == 8);
    const CUgraph inner = child_of(add_child(empty, empty));
    CHECK(nodes_of(inner).empty());
    // Adds a copy of the outer graph to the inner graph that it contains.
    CHECK(nodes_of(child_of(add_child(inner, empty))).size() == 1);
#if CUDA_VERSION >= 12000
    CHECK(try_instantiate(empty, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) == invalid);
#endif
}

TEST_CASE("a graph can be printed as a Graphviz file") {
    const Graph graph;
    const CUgraphNode a = add_empty(graph), b = add_empty(graph, {a});
    add_child(graph, graph, {b});
    const std::string path = "graph_test.dot";
    CHECK(d.cuGraphDebugDotPrint(graph, path.c_str(), CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE) == good);
    std::ostringstream read;
    read << std::ifstream(path).rdbuf();
    const std::string text = read.str();
    CHECK(text.find("digraph") == 0);
    CHECK(support::contains(text, "_node_0 -> graph_"));
    CHECK(support::contains(text, "EMPTY"));
    CHECK(std::count(text.begin(), text.end(), '{') == std::count(text.begin(), text.end(), '}'));
    std::remove(path.c_str());
    CHECK(d.cuGraphDebugDotPrint(graph, nullptr, 0) == invalid);
    CHECK(d.cuGraphDebugDotPrint(graph, "no/such/folder/graph.dot", 0) != good);
}

#if CUDA_VERSION >= 12030
TEST_CASE("edges between kernels may carry data, which older queries fail to return") {
    const Module module("cushim-sim-image 1\nkernel none\n");
    const Graph graph;
    const CUgraphNode a = add_kernel(graph, kernel_parameters(module.function("none"))),
                      b = add_kernel(graph, kernel_parameters(module.function("none"))),
                      c = add_empty(graph);
    using Add = CUresult(CUgraph, const CUgraphNode *, const CUgraphNode *, const CUgraphEdgeData *,
                         size_t);
    auto *add = entry<Add>("cuGraphAddDependencies_v2");
    auto *remove = entry<Add>("cuGraphRemoveDependencies_v2");
    CUgraphEdgeData data{.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                         .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
    CHECK(add(graph, &a, &c, &data, 1) == invalid); // not between kernels
    CUgraphEdgeData odd = data;
    odd.reserved[2] = 1;
    CHECK(add(graph, &a, &b, &odd, 1) == invalid);
    REQUIRE(add(graph, &a, &b, &data, 1) == good);
    CHECK(add(graph, &a, &b, nullptr, 1) == invalid);
    REQUIRE(add(graph, &a, &c, nullptr, 1) == good);

    CUgraphNode from[2], to[2];
    CUgraphEdgeData back[2];
    std::size_t count = 2;
    constexpr auto lossy = CUDA_ERROR_LOSSY_QUERY;
    using Edges = CUresult(CUgraph, CUgraphNode *, CUgraphNode *, size_t *);
    using Edges2 = CUresult(CUgraph, CUgraphNode *, CUgraphNode *, CUgraphEdgeData *, size_t *);
    auto *edges = entry<Edges>("cuGraphGetEdges");
    auto *edges2 = entry<Edges2>("cuGraphGetEdges_v2");
    CHECK(edges(graph, from, to, &count) == lossy);
    CHECK(edges(graph, nullptr, nullptr, &count) == good);
    CHECK(edges2(graph, from, to, nullptr, &count) == lossy);
    REQUIRE(edges2(graph, from, to, back, &count) == good);
    CHECK((count == 2 && back[0].type == data.type && back[1].type == 0));
    CHECK(edges2(graph, nullptr, nullptr, back, &count) == invalid);
    using Near = CUresult(CUgraphNode, CUgraphNode *, size_t *);
    using Near2 = CUresult(CUgraphNode, CUgraphNode *, CUgraphEdgeData *, size_t *);
    CHECK(entry<Near>("cuGraphNodeGetDependencies")(b, from, &count) == lossy);
    CHECK(entry<Near>("cuGraphNodeGetDependentNodes")(a, from, &count) == lossy);
    CHECK(entry<Near2>("cuGraphNodeGetDependencies_v2")(b, from, back, &count) == good);
    CHECK((from[0] == a && back[0].from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC));
    count = 2;
    CHECK(entry<Near2>("cuGraphNodeGetDependentNodes_v2")(a, to, back, &count) == good);
    CHECK((count == 2 && to[0] == b && to[1] == c));

    CHECK(remove(graph, &a, &b, nullptr, 1) == invalid); // other data
    CHECK(remove(graph, &a, &b, &data, 1) == good);
}

#endif

#if CUDA_VERSION >= 12090
TEST_CASE("a child graph can be moved into its node") {
    RunOrder order;
    const Graph graph;
    const CUgraph child = make_graph();
    add_note(child, order, 1);
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_GRAPH;
    parameters.graph.graph = child;
    parameters.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    CUgraphNode node = nullptr;
    auto add = [&](CUgraph to) {
        using Add2 = CUresult(CUgraphNode *, CUgraph, const CUgraphNode *, const CUgraphEdgeData *,
                              size_t, CUgraphNodeParams *);
        return entry<Add2>("cuGraphAddNode_v2")(&node, to, nullptr, nullptr, 0, &parameters);
    };
    CHECK(add(child) == invalid); // into itself
    REQUIRE(add(graph) == good);
    const CUgraphNode moved = node;
    CHECK(add(graph) == invalid); // a second time
    CHECK(got<CUgraph>(&Driver::cuGraphChildGraphNodeGetGraph, moved, out) == child);
    CHECK(reported(d.cuGraphDestroy(child), "belongs to a node") == invalid);
    CHECK(try_instantiate(child) == CUDA_ERROR_NOT_SUPPORTED);
    const Executable exec(graph);
    CHECK(update(exec, child).result == CU_GRAPH_EXEC_UPDATE_ERROR);
    run(exec);
    CHECK(order.has(1));
    const Graph last, other;
    parameters.graph.graph = other;
    parameters.graph.ownership = static_cast<CUgraphChildGraphNodeOwnership>(-1);
    CHECK(add(last) == invalid);
}
#endif
