// Updates of executable graphs: what they change, and why they fail.
#include "graph_tools.hpp"
#include "memory_kinds.hpp"

using namespace sim_test;

namespace {

constexpr CUresult refused = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;

// Four nodes: left and right depend on top, bottom depends on both.
struct Diamond {
    Diamond(RunOrder &order, int base, bool swapped = false) {
        top = add_note(graph, order, base);
        left = add_note(graph, order, base + 1, {top});
        right = add_note(graph, order, base + 2, {top});
        bottom = swapped ? add_note(graph, order, base + 3, {right, left})
                         : add_note(graph, order, base + 3, {left, right});
    }
    const Graph graph;
    CUgraphNode top, left, right, bottom;
};

// The result of an update; checks that the status agrees.
int result_of(CUgraphExec exec, CUgraph graph) {
    const Update done = update(exec, graph);
    CHECK(done.status == (done.result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : refused));
    return done.result;
}

constexpr int success = CU_GRAPH_EXEC_UPDATE_SUCCESS,
              topology = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED,
              other_parameters = CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
              other_attributes = CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;

} // namespace

TEST_CASE("an update changes the parameters of all nodes") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    const Diamond first(order, 10);
    const Executable exec(first.graph);
    {
        const Diamond second(order, 20);
        const Update done = update(exec, second.graph);
        CHECK(done.status == CUDA_SUCCESS);
        CHECK(done.result == success);
        CHECK((done.node == nullptr && done.from == nullptr));
    }
    run(exec);
    const auto ran = order.ran();
    REQUIRE(ran.size() == 4);
    CHECK((ran.front() == 20 && ran.back() == 23));
    // Nodes of the first graph still name the nodes of the executable graph.
    const CUDA_HOST_NODE_PARAMS changed = host_parameters(order, 99);
    ok(driver().cuGraphExecHostNodeSetParams(exec, first.bottom, &changed));
    run(exec);
    CHECK(order.ran().back() == 99);
    // Another update by the first graph restores everything.
    CHECK(result_of(exec, first.graph) == success);
    run(exec);
    CHECK(order.ran().back() == 13);
}

TEST_CASE("an update with invalid arguments reports no reason") {
    const Graph graph;
    const Executable exec(graph);
    for (const auto &[of, from] :
         {std::pair<CUgraphExec, CUgraph>{exec, nullptr}, {nullptr, graph}}) {
        CUgraphNode node = garbage<CUgraphNode>();
        CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_ERROR;
        CHECK(driver().cuGraphExecUpdate_v1(of, from, &node, &result) == invalid);
        CHECK((node == nullptr && result == CU_GRAPH_EXEC_UPDATE_SUCCESS));
#if CUDA_VERSION >= 12000
        CUgraphExecUpdateResultInfo info;
        std::memset(static_cast<void *>(&info), 0x5a, sizeof info);
        CHECK(driver().cuGraphExecUpdate(of, from, &info) == invalid);
        CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
        CHECK((info.errorNode == nullptr && info.errorFromNode == nullptr));
#endif
    }
    ok(driver().cuGraphExecUpdate_v1(exec, graph, nullptr, nullptr));
}

TEST_CASE("an update fails if edges differ, not if only their order does") {
    RunOrder order;
    const Diamond first(order, 10), other(order, 20);
    const Executable exec(first.graph);
    CHECK(result_of(exec, Diamond(order, 30, true).graph) == success);
    SECTION("right depends on left instead of top") {
        require_ok(remove_edge(other.graph, other.top, other.right));
        require_ok(add_edge(other.graph, other.left, other.right));
#if CUDA_VERSION >= 12000
        CHECK(update(exec, other.graph).from != nullptr);
#endif
    }
    SECTION("a cycle") {
        require_ok(add_edge(other.graph, other.left, other.top));
    }
    CHECK(result_of(exec, other.graph) == topology);
}

TEST_CASE("a failed update changes nothing") {
    RunOrder order;
    Words one(4);
    std::uint32_t host[4] = {};
    const Graph graph, other;
    add_copy(graph, copy_to_host(host, one.address, 16), {add_note(graph, order, 1)});
    const CUgraphNode wrong =
        add_copy(other, device_copy(one.address, one.address + 8, 8), {add_note(other, order, 2)});
    const Executable exec(graph);
    const Update found = update(exec, other);
    CHECK(found.status == refused);
    CHECK(found.result == CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
    CHECK(found.node == wrong);
    run(exec);
    CHECK(order.ran() == std::vector<int>{1});
}

TEST_CASE("an update cannot change the kind or the device of memory") {
    start("devices=2");
    const Words one(8), two(8);
    const MemoryElsewhere far(32);
    const Graph graph;
    add_memset(graph, words(one.address, 1, 8));
    const Executable exec(graph);
    const auto result = [&](const CUDA_MEMSET_NODE_PARAMS &parameters) {
        const Graph other;
        add_memset(other, parameters);
        return result_of(exec, other);
    };
    CHECK(result(words(two.address, 2, 4)) == success);
    CHECK(result(words(far, 2, 4)) == other_parameters);
}

TEST_CASE("an update cannot change the context or the launch kind of a kernel") {
    constexpr const char *image = "cushim-sim-image 1\nkernel one params=4\nkernel two\n";
    const Module module(image);
    const CUcontext second = make_context();
    const CUmodule far = load_module(image);
    pop_current();
    int number = 1;
    void *arguments[] = {&number};
    const Graph graph, other;
    add_kernel(graph, kernel_parameters(module.function("one"), arguments));
    const CUgraphNode node = add_kernel(other, kernel_parameters(module.function("two")));
    const Executable exec(graph), by_priority(graph, 8);
    CHECK(result_of(exec, other) == success);
    CUkernelNodeAttrValue value{};
    for (const int cooperative : {1, 0}) {
        value.cooperative = cooperative;
        require_ok(
            driver().cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
        const Update found = update(exec, other);
        CHECK(found.result == (cooperative ? other_attributes : success));
        CHECK(found.node == (cooperative ? node : nullptr));
    }
    value.priority = -1;
    require_ok(driver().cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    CHECK(result_of(exec, other) == success);
    CHECK(result_of(by_priority, other) == other_attributes); // instantiated with node priorities

    const CUDA_KERNEL_NODE_PARAMS stranger = kernel_parameters(function_of(far, "two"));
    CHECK(driver().cuGraphExecKernelNodeSetParams(exec, nodes_of(graph).front(), &stranger) ==
          invalid);
    require_ok(driver().cuGraphKernelNodeSetParams(node, &stranger));
    const Update found = update(exec, other);
    CHECK(found.result == CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE);
    CHECK(found.node == node);
    require_ok(driver().cuCtxPushCurrent(second));
    destroy(far);
    ok(driver().cuCtxDestroy(second));
}

#if CUDA_VERSION >= 12030
TEST_CASE("an update cannot change the data of edges") {
    const Module module("cushim-sim-image 1\nkernel none\n");
    const CUDA_KERNEL_NODE_PARAMS parameters = kernel_parameters(module.function("none"));
    const auto fill = [&](CUgraph graph, const CUgraphEdgeData &data) {
        const CUgraphNode from = add_kernel(graph, parameters), to = add_kernel(graph, parameters);
        require_ok(driver().cuGraphAddDependencies_v2(graph, &from, &to, &data, 1));
    };
    const Graph one, same, other;
    for (const CUgraph graph : {one.get(), same.get()}) {
        fill(graph, {.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                     .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC});
    }
    fill(other, {});
    const Executable exec(one);
    CHECK(result_of(exec, same) == success);
    CHECK(result_of(exec, other) == topology);
}
#endif

TEST_CASE("an update of a graph includes its child graphs") {
    RunOrder order;
    const Graph one, two, three;
    const auto fill = [&](CUgraph graph, int number, bool more) {
        const Graph child;
        add_note(child, order, number);
        if (more) {
            add_empty(child);
        }
        add_child(graph, child);
    };
    fill(one, 1, false);
    fill(two, 2, false);
    fill(three, 3, true);
    const Executable exec(one);
    CHECK(result_of(exec, two) == success);
    CHECK(result_of(exec, three) == topology);
    run(exec);
    CHECK(order.ran() == std::vector<int>{2});
}

TEST_CASE("the first version of cuGraphExecUpdate reports a changed node type") {
    const Graph graph, other;
    RunOrder order;
    add_empty(graph);
    const CUgraphNode wrong = add_note(other, order, 1);
    const Executable exec(graph);
    CUgraphNode node = garbage<CUgraphNode>();
    CUgraphExecUpdateResult result{};
    CHECK(driver().cuGraphExecUpdate_v1(exec, other, &node, &result) == refused);
    CHECK((node == wrong && result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED));
    ok(driver().cuGraphExecUpdate_v1(exec, graph, &node, &result));
    CHECK((node == nullptr && result == CU_GRAPH_EXEC_UPDATE_SUCCESS));
}
