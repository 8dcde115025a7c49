// The structure of graphs: nodes, edges, copies, invalid handles.
#include "graph_tools.hpp"

using namespace sim_test;

TEST_CASE("the first ABI of instantiation reports the reason of a failure") {
    for (const bool second : {false, true}) {
        const auto make = [&](auto... arguments) {
            return second ? driver().cuGraphInstantiate_v2(arguments...)
                          : driver().cuGraphInstantiate_v1(arguments...);
        };
        const Graph graph;
        const CUgraphNode a = add_empty(graph), b = add_empty(graph, {a}),
                          c = add_empty(graph, {b});
        CUgraphExec exec = nullptr;
        CUgraphNode wrong = garbage<CUgraphNode>();
        char log[8] = "unset";
        ok(make(&exec, graph.get(), &wrong, log, sizeof log));
        CHECK(wrong == nullptr);
        CHECK(log[0] == '\0');
        destroy(exec);
        require_ok(add_edge(graph, c, b));
        CHECK(make(&exec, graph.get(), &wrong, log, sizeof log) == invalid);
        CHECK((wrong == b || wrong == c));
        CHECK(std::string(log) == "a cycle");
        CHECK(make(&exec, graph.get(), nullptr, nullptr, 0) == invalid);
        log[2] = 'x';
        CHECK(make(&exec, graph.get(), nullptr, log, 2) == invalid);
        CHECK(std::string(log) == "a");
        CHECK(log[2] == 'x');
    }
}

TEST_CASE("nodes and edges are listed in the order in which they were added") {
    const Graph graph;
    const CUgraphNode a = add_empty(graph), b = add_empty(graph), c = add_empty(graph, {b, a}),
                      e = add_empty(graph, {c}), unset = garbage<CUgraphNode>();
    CHECK(nodes_of(graph) == Nodes{a, b, c, e});
    CHECK(dependencies_of(c) == Nodes{b, a});
    CHECK(dependencies_of(a).empty());

    Nodes roots(3, unset);
    std::size_t count = 3; // more room than roots
    CHECK(got(driver().cuGraphGetRootNodes(graph, roots.data(), &count), count) == 2);
    CHECK(roots == Nodes{a, b, nullptr});
    count = 1; // less room
    roots[1] = unset;
    CHECK(got(driver().cuGraphGetRootNodes(graph, roots.data(), &count), count) == 1);
    CHECK(roots[1] == unset);

    Nodes from(4, unset), to(4, unset);
    count = 4;
    ok(driver().cuGraphGetEdges_v1(graph, from.data(), to.data(), &count));
    CHECK(from == Nodes{a, b, c, nullptr});
    CHECK(to == Nodes{c, c, e, nullptr});

    count = 4;
    ok(driver().cuGraphNodeGetDependentNodes_v1(b, to.data(), &count));
    CHECK((to[0] == c && to[1] == nullptr));

    ok(remove_edge(graph, b, c));
    CHECK(dependencies_of(c) == Nodes{a});
    ok(driver().cuGraphDestroyNode(c));
    CHECK(dependencies_of(e).empty());
    CHECK(nodes_of(graph) == Nodes{a, b, e});
}

TEST_CASE("null arguments of graph calls are refused") {
    const Graph graph;
    const CUgraphNode a = add_empty(graph), b = add_empty(graph);
    const Executable exec(graph);
    const Stream stream;
    CUgraphNode node = nullptr;
    std::size_t count = 1;
    CUuserObject object = nullptr;
    unsigned char byte = 0;
    const auto destroy_byte = [](void *) {};
    check_all(
        invalid,
        {driver().cuGraphAddDependencies_v1(graph, nullptr, &b, 1),
         driver().cuGraphAddDependencies_v1(graph, &a, nullptr, 1),
         driver().cuGraphGetEdges_v1(graph, &node, nullptr, &count),
         driver().cuGraphGetEdges_v1(graph, nullptr, &node, &count),
         driver().cuGraphGetRootNodes(graph, &node, nullptr),
         driver().cuGraphGetNodes(graph, nullptr, nullptr),
         driver().cuGraphDebugDotPrint(graph, nullptr, 0),
         driver().cuGraphNodeGetEnabled(exec, a, nullptr),
         driver().cuGraphAddMemsetNode(&node, graph, nullptr, 0, nullptr, current()),
         driver().cuGraphAddMemAllocNode(&node, graph, nullptr, 0, nullptr),
         driver().cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, nullptr),
         driver().cuStreamIsCapturing(stream, nullptr),
         driver().cuUserObjectCreate(nullptr, &byte, destroy_byte, 1,
                                     CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
         driver().cuUserObjectCreate(&object, &byte, nullptr, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
         driver().cuUserObjectRetain(nullptr, 1),
         driver().cuGraphRetainUserObject(graph, nullptr, 1, 0),
         driver().cuGraphReleaseUserObject(graph, nullptr, 1)});
#if CUDA_VERSION >= 12000
    CUgraphExec made = nullptr;
    check_all(invalid, {driver().cuGraphExecGetFlags(exec, nullptr),
                        driver().cuGraphInstantiateWithParams(&made, graph, nullptr)});
#endif
#if CUDA_VERSION >= 12030
    CUgraphConditionalHandle handle = 0;
    CHECK(driver().cuGraphConditionalHandleCreate(nullptr, graph, current(), 0, 0) == invalid);
    CHECK(driver().cuGraphConditionalHandleCreate(&handle, graph, nullptr, 0, 0) ==
          CUDA_ERROR_INVALID_CONTEXT);
#endif
}

TEST_CASE("if one edge cannot be added, none is") {
    const Graph graph, other;
    const CUgraphNode a = add_empty(graph), b = add_empty(graph), c = add_empty(graph),
                      stranger = add_empty(other);
    const CUgraphNode from[] = {a, b, stranger}, to[] = {b, c, c};
    CHECK(driver().cuGraphAddDependencies_v1(graph, from, to, 3) == invalid);
    CHECK(dependencies_of(b).empty());
    CHECK(dependencies_of(c).empty());
    const CUgraphNode twice_from[] = {a, a}, twice_to[] = {b, b};
    CHECK(driver().cuGraphAddDependencies_v1(graph, twice_from, twice_to, 2) == invalid);
    CHECK(dependencies_of(b).empty());
    ok(driver().cuGraphAddDependencies_v1(graph, from, to, 2));
    // An impossible count is rejected before the array is read.
    CUgraphNode node = nullptr;
    CHECK(driver().cuGraphAddEmptyNode(&node, graph, from, ~std::size_t(0)) == invalid);
    CHECK(node != nullptr); // an invalid handle
    CHECK(nodes_of(graph).size() == 3);
}

TEST_CASE("destroyed and wrong graph handles fail and are reported") {
    const CUgraph graph = make_graph();
    const CUgraphNode node = add_empty(graph);
    const CUgraphExec exec = instantiate(graph);
    destroy(exec);
    CHECK(reported(driver().cuGraphExecDestroy(exec), "destroyed executable graph") == invalid);
    CHECK(reported(driver().cuGraphLaunch(exec, nullptr), "destroyed executable graph") == invalid);
    CHECK(driver().cuGraphDestroyNode(reinterpret_cast<CUgraphNode>(graph)) == invalid);
    expect_misuse("was expected, but this is graph");
    destroy(graph);
    CHECK(reported(driver().cuGraphDestroy(graph), "destroyed graph") == invalid);
    CUgraphNodeType type{};
    CHECK(reported(driver().cuGraphNodeGetType(node, &type), "destroyed") == invalid);
    CHECK(reported(driver().cuGraphDestroy(garbage<CUgraph>()), "is not a graph handle") ==
          invalid);
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
    CHECK(got(driver().cuGraphNodeFindInClone(&found, b, clone), found) == cloned[1]);
    ok(driver().cuGraphDestroyNode(cloned[1]));
    CHECK(driver().cuGraphNodeFindInClone(&found, b, clone) == invalid);
    // Changing and destroying the original does not affect the clone.
    const CUDA_HOST_NODE_PARAMS changed = host_parameters(order, 7);
    require_ok(driver().cuGraphHostNodeSetParams(a, &changed));
    destroy(graph);
    run(Executable(clone));
    CHECK(order.ran() == std::vector<int>{1});
}

TEST_CASE("a child graph is a copy that its node owns") {
    RunOrder order;
    const CUgraph child = make_graph();
    const Graph graph;
    const CUgraphNode inner = add_note(child, order, 2), first = add_note(graph, order, 1);
    const CUgraphNode node = add_child(graph, child, {first});
    add_note(graph, order, 4, {node});
    const CUgraph embedded = child_of(node);
    add_note(embedded, order, 3,
             {got<CUgraphNode>(&Driver::cuGraphNodeFindInClone, out, inner, embedded)});
    CHECK(reported(driver().cuGraphDestroy(embedded), "belongs to a node") == invalid);
    // It is launched with its parent only; a clone of it can be instantiated.
    CHECK(try_instantiate(embedded) == CUDA_ERROR_NOT_SUPPORTED);
    const CUgraph clone = clone_of(embedded);
    destroy(instantiate(clone));
    destroy(clone);
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

#if CUDA_VERSION >= 12030
TEST_CASE("edges between kernels may carry data, which older queries fail to return") {
    const Module module("cushim-sim-image 1\nkernel none\n");
    const Graph graph;
    const CUgraphNode a = add_kernel(graph, kernel_parameters(module.function("none"))),
                      b = add_kernel(graph, kernel_parameters(module.function("none"))),
                      c = add_empty(graph);
    const CUgraphEdgeData data{.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                               .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
    CUgraphEdgeData odd = data;
    odd.reserved[2] = 1;
    const auto add = [&](CUgraphNode to, const CUgraphEdgeData *with) {
        return driver().cuGraphAddDependencies_v2(graph, &a, &to, with, 1);
    };
    CHECK(add(c, &data) == invalid); // not between kernels
    CHECK(add(b, &odd) == invalid);
    require_ok(add(b, &data));
    require_ok(add(c, nullptr));

    CUgraphNode from[2], to[2];
    CUgraphEdgeData back[2];
    constexpr auto lossy = CUDA_ERROR_LOSSY_QUERY;
    auto count = got<std::size_t>(&Driver::cuGraphGetEdges_v1, graph, nullptr, nullptr, out);
    check_all(lossy, {driver().cuGraphGetEdges_v1(graph, from, to, &count),
                      driver().cuGraphGetEdges_v2(graph, from, to, nullptr, &count),
                      driver().cuGraphNodeGetDependencies_v1(b, from, &count),
                      driver().cuGraphNodeGetDependentNodes_v1(a, from, &count)});
    count = 2;
    require_ok(driver().cuGraphGetEdges_v2(graph, from, to, back, &count));
    CHECK((count == 2 && back[0].type == data.type && back[1].type == 0));
    CHECK(driver().cuGraphGetEdges_v2(graph, nullptr, nullptr, back, &count) == invalid);
    ok(driver().cuGraphNodeGetDependencies_v2(b, from, back, &count));
    CHECK((from[0] == a && back[0].from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC));
    count = 2;
    ok(driver().cuGraphNodeGetDependentNodes_v2(a, to, back, &count));
    CHECK((count == 2 && to[0] == b && to[1] == c));

    CHECK(driver().cuGraphRemoveDependencies_v2(graph, &a, &b, nullptr, 1) == invalid);
    ok(driver().cuGraphRemoveDependencies_v2(graph, &a, &b, &data, 1));
}
#endif

#if CUDA_VERSION >= 12090
TEST_CASE("a child graph can be moved into its node") {
    RunOrder order;
    const Graph graph;
    const CUgraph child = make_graph();
    add_note(child, order, 1);
    CUgraphNodeParams parameters{.type = CU_GRAPH_NODE_TYPE_GRAPH};
    parameters.graph = {.graph = child, .ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE};
    CUgraphNode node = nullptr;
    auto add = [&](CUgraph to) {
        return driver().cuGraphAddNode_v2(&node, to, nullptr, nullptr, 0, &parameters);
    };
    CHECK(add(child) == invalid); // into itself
    require_ok(add(graph));
    const CUgraphNode moved = node;
    CHECK(add(graph) == invalid); // a second time
    CHECK(child_of(moved) == child);
    CHECK(reported(driver().cuGraphDestroy(child), "belongs to a node") == invalid);
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
