// Updates of executable graphs by graphs: what is taken over, and every reason to refuse.
#include "graph_tools.hpp"

#include <cstring>

using namespace sim_test;

namespace {

constexpr CUresult refused = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;

// A node, whose memset of memory comes after two notes that come after one.
struct Diamond {
    Diamond(RunOrder &order, int base, bool swapped = false) : graph(make_graph()) {
        top = add_note(graph, order, base);
        left = add_note(graph, order, base + 1, {top});
        right = add_note(graph, order, base + 2, {top});
        bottom = swapped ? add_note(graph, order, base + 3, {right, left})
                         : add_note(graph, order, base + 3, {left, right});
    }
    CUgraph graph;
    CUgraphNode top, left, right, bottom;
};

} // namespace

TEST_CASE("an update takes over all parameters") {
    start(GENERATE_COPY(from_range(all_modes())));
    RunOrder order;
    Diamond first(order, 10), second(order, 20);
    const Executable exec(first.graph);
    const Update done = update(exec, second.graph);
    CHECK(done.status == good);
    CHECK(done.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    CHECK((done.node == nullptr && done.from == nullptr));
    destroy(second.graph);
    run(exec);
    const auto ran = order.ran();
    REQUIRE(ran.size() == 4);
    CHECK((ran.front() == 20 && ran.back() == 23));
    // Steps are still those of the first graph.
    const CUDA_HOST_NODE_PARAMS changed = host_parameters(order, 99);
    CHECK(d.cuGraphExecHostNodeSetParams(exec, first.bottom, &changed) == good);
    run(exec);
    CHECK(order.ran().back() == 99);
    // And the first graph takes it all back.
    CHECK(update(exec, first.graph).status == good);
    run(exec);
    CHECK(order.ran().back() == 13);
    destroy(first.graph);
}

TEST_CASE("an update that is not tried has no problem to tell of") {
    start();
    const Graph graph;
    const Executable exec(graph);
    using First = CUresult(CUgraphExec, CUgraph, CUgraphNode *, CUgraphExecUpdateResult *);
    auto *first = entry<First>("cuGraphExecUpdate");
    const auto first_abi = [&](CUgraphExec of, CUgraph from) {
        CUgraphNode node = garbage<CUgraphNode>();
        CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_ERROR;
        CHECK(first(of, from, &node, &result) == invalid);
        CHECK((node == nullptr && result == CU_GRAPH_EXEC_UPDATE_SUCCESS));
    };
    first_abi(exec, nullptr);
    first_abi(nullptr, graph);
#if CUDA_VERSION >= 12000
    const auto second_abi = [](CUgraphExec of, CUgraph from) {
        CUgraphExecUpdateResultInfo info;
        std::memset(static_cast<void *>(&info), 0x5a, sizeof info);
        CHECK(d.cuGraphExecUpdate(of, from, &info) == invalid);
        CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
        CHECK((info.errorNode == nullptr && info.errorFromNode == nullptr));
    };
    second_abi(exec, nullptr);
    second_abi(nullptr, graph);
#endif
    CHECK(first(exec, graph, nullptr, nullptr) == invalid);
}

TEST_CASE("an update does not reach launches in flight") {
    start("mode=adversarial;seed=5");
    RunOrder order;
    const Graph one, two;
    add_note(one, order, 1);
    add_note(two, order, 2);
    const Executable exec(one);
    REQUIRE(d.cuGraphLaunch(exec, nullptr) == good);
    REQUIRE(update(exec, two).status == good);
    REQUIRE(d.cuGraphLaunch(exec, nullptr) == good);
    CHECK(d.cuStreamSynchronize(nullptr) == good);
    CHECK(order.ran() == std::vector<int>{1, 2});
}

TEST_CASE("another topology is refused") {
    start();
    RunOrder order;
    Diamond first(order, 10);
    const Executable exec(first.graph);
    constexpr int topology = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;

    SECTION("one node more") {
        Diamond other(order, 20);
        add_empty(other.graph);
        const Update found = update(exec, other.graph);
        CHECK((found.status == refused && found.result == topology && found.node == nullptr));
        destroy(other.graph);
    }
    SECTION("one exit more") {
        Diamond other(order, 20);
        REQUIRE(remove_edge(other.graph, other.right, other.bottom) == good);
        const Update found = update(exec, other.graph);
        CHECK((found.status == refused && found.result == topology));
        CHECK((found.node == other.bottom || found.node == other.right));
        destroy(other.graph);
    }
    SECTION("one dependency less") {
        Diamond other(order, 20);
        REQUIRE(remove_edge(other.graph, other.top, other.left) == good);
        const Update found = update(exec, other.graph);
        CHECK((found.status == refused && found.result == topology && found.node == other.left));
        destroy(other.graph);
    }
    SECTION("dependencies that do not fit") {
        // right depends on left instead of top.
        Diamond other(order, 20);
        REQUIRE(remove_edge(other.graph, other.top, other.right) == good);
        REQUIRE(add_edge(other.graph, other.left, other.right) == good);
        const Update found = update(exec, other.graph);
        CHECK((found.status == refused && found.result == topology));
#if CUDA_VERSION >= 12000
        CHECK((found.node != nullptr && found.from != nullptr));
#endif
        destroy(other.graph);
    }
    SECTION("a cycle") {
        Diamond other(order, 20);
        REQUIRE(add_edge(other.graph, other.left, other.top) == good);
        CHECK(update(exec, other.graph).result == topology);
        destroy(other.graph);
    }
    SECTION("the same by another order of dependencies is the same") {
        Diamond other(order, 20, true);
        CHECK(update(exec, other.graph).status == good);
        destroy(other.graph);
    }
    destroy(first.graph);
}

TEST_CASE("a refused update changes nothing") {
    start();
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

TEST_CASE("another type of node is refused") {
    start();
    RunOrder order;
    const Graph graph, other;
    add_note(graph, order, 1);
    const CUgraphNode wrong = add_empty(other);
    const Executable exec(graph);
    const Update found = update(exec, other);
    CHECK((found.status == refused &&
           found.result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED && found.node == wrong));
}

TEST_CASE("memory of another kind or place is refused") {
    start("devices=2");
    Words one(8), two(8);
    const PrimaryContext second(1);
    REQUIRE(d.cuCtxPushCurrent(second) == good);
    Words far(8);
    CUcontext popped = pop_current();
    const CUgraph graph = make_graph();
    add_memset(graph, words(one.address, 1, 8));
    const CUgraphExec exec = instantiate(graph);
    const auto result = [&](const CUDA_MEMSET_NODE_PARAMS &parameters) {
        const CUgraph other = make_graph();
        add_memset(other, parameters);
        const int found = update(exec, other).result;
        destroy(other);
        return found;
    };
    CHECK(result(words(two.address, 2, 4)) == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    CHECK(result(words(far.address, 2, 4)) == CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
    CUDA_MEMSET_NODE_PARAMS flat = words(one.address, 1, 2);
    flat.height = 2;
    flat.pitch = 16;
    CHECK(result(flat) == CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
    destroy(exec);
    destroy(graph);
    one.free();
    two.free();
    REQUIRE(d.cuCtxPushCurrent(second) == good);
    far.free();
    REQUIRE(d.cuCtxPopCurrent(&popped) == good);
}

TEST_CASE("an event of another context is refused") {
    start();
    CUcontext second = nullptr;
    const Event first(CU_EVENT_DISABLE_TIMING);
    const Event of_first(CU_EVENT_DISABLE_TIMING);
    REQUIRE(d.cuCtxCreate_v2(&second, 0, 0) == good);
    const CUevent of_second = make_event(CU_EVENT_DISABLE_TIMING);
    const CUgraph graph = make_graph();
    CUgraphNode waiting = nullptr, recording = nullptr;
    REQUIRE(d.cuGraphAddEventWaitNode(&waiting, graph, nullptr, 0, first) == good);
    REQUIRE(d.cuGraphAddEventRecordNode(&recording, graph, &waiting, 1, first) == good);
    const CUgraphExec exec = instantiate(graph);
    CHECK(d.cuGraphExecEventWaitNodeSetEvent(exec, waiting, of_first) == good);
    CHECK(d.cuGraphExecEventRecordNodeSetEvent(exec, recording, of_first) == good);
    CHECK(d.cuGraphExecEventWaitNodeSetEvent(exec, waiting, of_second) == invalid);
    CHECK(d.cuGraphExecEventRecordNodeSetEvent(exec, recording, of_second) == invalid);
    // The graph takes it, and executable graphs that are made of it then.
    CHECK(d.cuGraphEventWaitNodeSetEvent(waiting, of_second) == good);
    CHECK(update(exec, graph).result == CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
    destroy(exec);
    destroy(instantiate(graph));
    destroy(graph);
    CHECK(d.cuEventDestroy(of_second) == good);
    CHECK(d.cuCtxDestroy(second) == good);
}

TEST_CASE("kernels change within their context, with their kind of launch") {
    start();
    constexpr const char *image = "cushim-sim-image 1\nkernel one params=4\nkernel two\n";
    const CUmodule module = load_module(image);
    CUcontext first = current(), second = nullptr;
    CUdevice device = 0;
#if CUDA_VERSION >= 13000
    REQUIRE(d.cuCtxCreate(&second, nullptr, 0, device) == good);
#else
    REQUIRE(d.cuCtxCreate(&second, 0, device) == good);
#endif
    const CUmodule far = load_module(image);
    pop_current();
    REQUIRE(current() == first);
    int number = 1;
    void *arguments[] = {&number};
    const CUgraph graph = make_graph(), other = make_graph();
    add_kernel(graph, kernel_parameters(function_of(module, "one"), arguments));
    const CUgraphNode node = add_kernel(other, kernel_parameters(function_of(module, "two")));
    const CUgraphExec exec = instantiate(graph);
    CHECK(update(exec, other).status == good);
    CUkernelNodeAttrValue value{};
    value.cooperative = 1;
    REQUIRE(d.cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value) == good);
    Update found = update(exec, other);
    CHECK(found.result == CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED);
    CHECK(found.node == node);
    value.cooperative = 0;
    REQUIRE(d.cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value) == good);
    value.priority = -1;
    REQUIRE(d.cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value) == good);
    CHECK(update(exec, other).status == good);
    // Priorities stay where they count.
    const CUgraphExec by_priority = instantiate(graph, 8);
    CHECK(update(by_priority, other).result == CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED);

    const CUDA_KERNEL_NODE_PARAMS stranger = kernel_parameters(function_of(far, "two"));
    CHECK(d.cuGraphExecKernelNodeSetParams(exec, nodes_of(graph).front(), &stranger) == invalid);
    REQUIRE(d.cuGraphKernelNodeSetParams(node, &stranger) == good);
    found = update(exec, other);
    CHECK(found.result == CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE);
    CHECK(found.node == node);
    destroy(exec);
    destroy(by_priority);
    destroy(graph);
    destroy(other);
    destroy(module);
    REQUIRE(d.cuCtxPushCurrent(second) == good);
    destroy(far);
    CHECK(d.cuCtxDestroy(second) == good);
}

#if CUDA_VERSION >= 12030
TEST_CASE("the data of edges is topology") {
    start();
    const Module module("cushim-sim-image 1\nkernel none\n");
    const auto make = [&](bool programmatic) {
        const CUgraph graph = make_graph();
        const CUDA_KERNEL_NODE_PARAMS parameters = kernel_parameters(module.function("none"));
        const CUgraphNode from = add_kernel(graph, parameters), to = add_kernel(graph, parameters);
        CUgraphEdgeData data{};
        if (programmatic) {
            data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
            data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
        }
        using Add = CUresult(CUgraph, const CUgraphNode *, const CUgraphNode *,
                             const CUgraphEdgeData *, size_t);
        REQUIRE(entry<Add>("cuGraphAddDependencies_v2")(graph, &from, &to, &data, 1) == good);
        return graph;
    };
    const CUgraph one = make(true), same = make(true), other = make(false);
    const CUgraphExec exec = instantiate(one);
    CHECK(update(exec, same).status == good);
    CHECK(update(exec, other).result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    destroy(exec);
    for (const CUgraph graph : {one, same, other}) {
        destroy(graph);
    }
}
#endif

TEST_CASE("child graphs are updated with their parents") {
    start();
    RunOrder order;
    const auto make = [&](int number, bool more) {
        const CUgraph child = make_graph(), graph = make_graph();
        add_note(child, order, number);
        if (more) {
            add_empty(child);
        }
        CUgraphNode node = nullptr;
        REQUIRE(d.cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child) == good);
        destroy(child);
        return graph;
    };
    const CUgraph one = make(1, false), two = make(2, false), three = make(3, true);
    const CUgraphExec exec = instantiate(one);
    CHECK(update(exec, two).status == good);
    CHECK(update(exec, three).result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    run(exec);
    CHECK(order.ran() == std::vector<int>{2});
    destroy(exec);
    for (const CUgraph graph : {one, two, three}) {
        destroy(graph);
    }
}

TEST_CASE("both versions of the update call report") {
    start();
    const Graph graph, other;
    RunOrder order;
    add_empty(graph);
    const CUgraphNode wrong = add_note(other, order, 1);
    const Executable exec(graph);
    using First = CUresult(CUgraphExec, CUgraph, CUgraphNode *, CUgraphExecUpdateResult *);
    auto *first = entry<First>("cuGraphExecUpdate");
    CUgraphNode node = garbage<CUgraphNode>();
    CUgraphExecUpdateResult result{};
    CHECK(first(exec, other, &node, &result) == refused);
    CHECK((node == wrong && result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED));
    CHECK(first(exec, other, nullptr, &result) == refused);
    CHECK(first(exec, other, &node, nullptr) == invalid);
    CHECK(first(exec, graph, &node, &result) == good);
    CHECK((node == nullptr && result == CU_GRAPH_EXEC_UPDATE_SUCCESS));
    CHECK(first(exec, nullptr, &node, &result) == invalid);
#if CUDA_VERSION >= 12000
    CHECK(d.cuGraphExecUpdate(exec, graph, nullptr) == invalid);
#endif
}
