// Stream capture: the nodes it creates, and queries of a capture.
#include "capture_tools.hpp"
#include "plan_fault.hpp"

using namespace sim_test;

TEST_CASE("the first ABI of cuStreamBeginCapture captures in the global mode") {
    const Stream stream;
    ok(driver().cuStreamBeginCapture_v1(stream));
    CHECK(try_allocate() == unsupported);
    end_invalidated(stream);
}

TEST_CASE("captured work runs only in launches of its graph, and reads memory then") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream stream;
    RunOrder order;
    const Words memory(4);
    std::uint32_t source = 1, result[4] = {};
    require_ok(begin_capture(stream));
    CHECK(is_active(stream));
    ok(order.launch(stream, 1));
    ok(driver().cuMemsetD32Async(memory.address, 9, 4, stream));
    ok(driver().cuMemcpyHtoDAsync(memory.address, &source, 4, stream));
    ok(driver().cuMemcpyDtoHAsync(result, memory.address, 16, stream));
    ok(order.launch(stream, 2));
    const Graph graph(end_capture(stream));
    CHECK(status_of(stream) == not_capturing);
    ok(driver().cuStreamSynchronize(stream));
    CHECK(order.ran().empty());
    CHECK(result[3] == 0);
    CHECK(types_of(graph) == Types{CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_MEMSET,
                                   CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMCPY,
                                   CU_GRAPH_NODE_TYPE_HOST});
    const Nodes nodes = nodes_of(graph);
    for (std::size_t i = 1; i < nodes.size(); ++i) {
        CHECK(dependencies_of(nodes[i]) == Nodes{nodes[i - 1]});
    }
    const Executable exec(graph);
    for (const std::uint32_t value : {2u, 3u}) {
        source = value;
        result[3] = 0;
        run(exec, stream);
        CHECK(result[0] == value);
        CHECK(result[3] == 9);
    }
    CHECK(order.ran() == std::vector<int>{1, 2, 1, 2});
}

TEST_CASE("a failure planned for captured work occurs in each launch of the graph") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUstream stream = make_stream();
    RunOrder order;
    require_ok(begin_capture(stream));
    ok(order.launch(stream, 1));
    fail_work("cuLaunchHostFunc", CUDA_ERROR_OUT_OF_MEMORY);
    ok(order.launch(stream, 2));
    ok(order.launch(stream, 3));
    const CUgraph graph = end_capture(stream);
    ok(order.launch(stream, 4)); // not affected
    ok(driver().cuStreamSynchronize(stream));
    const CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 2; ++i) {
        ok(driver().cuGraphLaunch(exec, stream));
        CHECK(driver().cuStreamSynchronize(stream) == CUDA_ERROR_OUT_OF_MEMORY);
    }
    CHECK(order.ran() == std::vector<int>{4, 1, 3, 1, 3});
    sim_control().reset();
}

TEST_CASE("a captured free that is planned to fail still frees") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream stream;
    CUdeviceptr memory = 0;
    require_ok(begin_capture(stream));
    require_ok(driver().cuMemAllocAsync(&memory, 64, stream));
    fail_work("cuMemFreeAsync", CUDA_ERROR_OUT_OF_MEMORY);
    require_ok(driver().cuMemFreeAsync(memory, stream));
    const Graph graph(end_capture(stream));
    const Executable exec(graph);
    for (int i = 0; i < 2; ++i) {
        ok(driver().cuGraphLaunch(exec, stream));
        CHECK(driver().cuStreamSynchronize(stream) == CUDA_ERROR_OUT_OF_MEMORY);
    }
}

TEST_CASE("a captured kernel launch keeps its arguments") {
    start(GENERATE_COPY(from_range(all_modes())));
    const auto keep = [](const cushim_sim_launch *launch, void *last) {
        *static_cast<int *>(last) = parameter<int>(launch, 0);
        return 0;
    };
    int last = 0, number = 7;
    sim_control().register_kernel("keep", keep, &last);
    const Module module("cushim-sim-image 1\nkernel keep params=4\n");
    const Stream stream;
    void *arguments[] = {&number};
    require_ok(begin_capture(stream, global));
    ok(driver().cuLaunchKernel(module.function("keep"), 1, 1, 1, 4, 1, 1, 0, stream, arguments,
                               nullptr));
    number = 0;
    const Graph graph(end_capture(stream));
    CHECK(last == 0);
    const Executable exec(graph);
    for (int i = 0; i < 2; ++i) {
        last = 0;
        run(exec, stream);
        CHECK(last == 7);
    }
}

TEST_CASE("uploading or launching a graph in a capture invalidates the capture") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream stream;
    RunOrder order;
    const Graph graph;
    add_note(graph, order, 1);
    const Executable exec(graph);
    require_ok(begin_capture(stream));
    CHECK(driver().cuGraphLaunch(exec, stream) == unsupported);
    CHECK(driver().cuGraphLaunch(exec, stream) ==
          unsupported); // unlike other work, which fails with 901
    CHECK(order.launch(stream, 2) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end_invalidated(stream);
    check_breaks(stream, unsupported, [&] { return driver().cuGraphUpload(exec, stream); });
    CHECK(order.ran().empty());
}

TEST_CASE("a graph can be instantiated while it is captured") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream stream;
    RunOrder order;
    require_ok(begin_capture(stream));
    ok(order.launch(stream, 1));
    const CUgraph graph = captured_graph(stream);
    const Executable so_far(graph);
    CHECK(is_active(stream));
    ok(order.launch(stream, 2));
    REQUIRE(end_capture(stream) == graph);
    const Executable whole(graph);
    run(so_far, stream);
    CHECK(order.ran() == std::vector<int>{1});
    run(whole, stream);
    CHECK(order.ran() == std::vector<int>{1, 1, 2});
    destroy(graph);
}

TEST_CASE("memory allocated in a capture becomes allocation and free nodes") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream stream;
    require_ok(begin_capture(stream));
    CUdeviceptr address = 0;
    std::uint32_t result = 0;
    ok(driver().cuMemAllocAsync(&address, 64, stream));
    ok(driver().cuMemsetD32Async(address, 8, 16, stream));
    ok(driver().cuMemcpyDtoHAsync(&result, address + 60, 4, stream));
    ok(driver().cuMemFreeAsync(address, stream));
    const Graph graph(end_capture(stream));
    CHECK(types_of(graph) == Types{CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEMSET,
                                   CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEM_FREE});
    const Executable exec(graph);
    for (int i = 0; i < 2; ++i) {
        result = 0;
        run(exec, stream);
        CHECK(result == 8);
    }
}

TEST_CASE("capture info reports and changes the dependencies of the next node") {
    const Stream stream;
    RunOrder order;
    CUstreamCaptureStatus status{};
    cuuint64_t id = 0, second = 0;
    CUgraph graph = nullptr;
    const CUgraphNode *dependencies = nullptr;
    std::size_t count = 77;
    const auto query = [&] {
        return driver().cuStreamGetCaptureInfo_v2(stream, &status, &second, &graph, &dependencies,
                                                  &count);
    };
    const auto change = [&](CUgraphNode node, unsigned int flags) {
        return driver().cuStreamUpdateCaptureDependencies_v1(stream, &node, 1, flags);
    };
    ok(query());
    CHECK(count == 77);

    require_ok(begin_capture(stream));
    ok(order.launch(stream, 1));
    ok(driver().cuStreamGetCaptureInfo_v1(stream, &status, &id));
    ok(query());
    CHECK((id != 0 && id == second));
    REQUIRE(count == 1);
    CHECK(Nodes(dependencies, dependencies + 1) == nodes_of(graph));
    CHECK(reported(driver().cuGraphDestroy(graph), "belongs to a capture") == invalid);
    CHECK(driver().cuGraphDestroyNode(dependencies[0]) == CUDA_ERROR_ILLEGAL_STATE);
    CHECK(is_active(stream));
    const CUgraphNode own = add_note(graph, order, 2);
    ok(change(own, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    ok(order.launch(stream, 4));
    CHECK(dependencies_of(nodes_of(graph).back()) == Nodes{own});
    const Graph foreign;
    CHECK(change(add_empty(foreign), 0) == invalid);
    // Work dropped from the dependencies explicitly does not count as unjoined.
    destroy(end_capture(stream));

    require_ok(begin_capture(stream));
    ok(query());
    CHECK(second != id);
    CHECK(driver().cuStreamQuery(stream) == unsupported);
    count = 77;
    ok(query());
    CHECK((status == CU_STREAM_CAPTURE_STATUS_INVALIDATED && count == 77));
    end_invalidated(stream);
}

#if CUDA_VERSION >= 12030
TEST_CASE("a capture into an existing graph adds nodes to it") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream stream;
    RunOrder order;
    const Graph graph, other;
    const CUgraphNode first = add_note(graph, order, 1), stranger = add_empty(other);
    CHECK(driver().cuStreamBeginCaptureToGraph(stream, graph, &stranger, nullptr, 1, relaxed) ==
          invalid);
    require_ok(driver().cuStreamBeginCaptureToGraph(stream, graph, &first, nullptr, 1, relaxed));
    ok(order.launch(stream, 2));
    destroy(instantiate(graph)); // the nodes captured so far
    CHECK(end_capture(stream) == graph);
    CHECK(dependencies_of(nodes_of(graph).back()) == Nodes{first});
    run(Executable(graph), stream);
    CHECK(order.ran() == std::vector<int>{1, 2});
    // A failed capture does not destroy the graph.
    require_ok(driver().cuStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, relaxed));
    CHECK(driver().cuStreamQuery(stream) == unsupported);
    end_invalidated(stream);
}

TEST_CASE("capture info reports edge data") {
    const Module module("cushim-sim-image 1\nkernel none\n");
    const Stream stream;
    const Graph graph;
    const CUgraphNode kernel = add_kernel(graph, kernel_parameters(module.function("none")));
    CUgraphEdgeData data{.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                         .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
    require_ok(driver().cuStreamBeginCaptureToGraph(stream, graph, &kernel, &data, 1, relaxed));
    CUstreamCaptureStatus status{};
    const CUgraphNode *nodes = nullptr;
    const CUgraphEdgeData *edges = nullptr;
    std::size_t count = 0;
    CHECK(driver().cuStreamGetCaptureInfo_v2(stream, &status, nullptr, nullptr, &nodes, &count) ==
          CUDA_ERROR_LOSSY_QUERY);
    const auto query = [&](const CUgraphNode **into) {
        return driver().cuStreamGetCaptureInfo_v3(stream, &status, nullptr, nullptr, into, &edges,
                                                  &count);
    };
    CHECK(query(nullptr) == invalid);
    require_ok(query(&nodes));
    REQUIRE(count == 1);
    CHECK((nodes[0] == kernel && edges[0].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC));
    // Only kernels can follow such an edge.
    RunOrder order;
    CHECK(order.launch(stream, 1) == invalid);
    end_invalidated(stream);
}

#endif
