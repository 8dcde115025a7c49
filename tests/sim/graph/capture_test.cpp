// Stream capture: the nodes it creates, and queries of a capture.
#include "capture_tools.hpp"
#include "plan_fault.hpp"

using namespace sim_test;

TEST_CASE("capture calls return the statuses recorded on an H200") {
    const CUstream stream = make_stream();
    const Stream forked;
    CHECK(begin_capture(stream, global) == good);
    CHECK(begin_capture(stream, global) == CUDA_ERROR_ILLEGAL_STATE);
    CHECK(unsafe_call() == unsupported);
    end_invalidated(stream);
    CHECK(failed_end(stream) == CUDA_ERROR_ILLEGAL_STATE);

    CHECK(entry<CUresult(CUstream)>("cuStreamBeginCapture")(stream) == good); // implies mode global
    CHECK(unsafe_call() == unsupported);
    end_invalidated(stream);

    CHECK(begin_capture(stream, thread_local_) == good);
    CHECK(unsafe_call() == unsupported);
    CHECK(d.cuStreamSynchronize(stream) == unsupported);
    end_invalidated(stream);

    const Event event;
    CHECK(begin_capture(stream, relaxed) == good);
    CHECK(unsafe_call() == good);
    CHECK(d.cuEventRecord(event, stream) == good);
    CHECK(d.cuEventQuery(event) == CUDA_ERROR_CAPTURED_EVENT);
    CHECK(d.cuEventSynchronize(event) == invalid);
    end_invalidated(stream);

    RunOrder order; // a per-thread stream can be captured, the legacy stream cannot
    CHECK(begin_capture(CU_STREAM_PER_THREAD) == good);
    CHECK(order.launch(CU_STREAM_PER_THREAD, 1) == good);
    CHECK(nodes_of(Graph(end_capture(CU_STREAM_PER_THREAD))).size() == 1);
    CHECK(begin_capture(nullptr, relaxed) == unsupported);
    CHECK(begin_capture(CU_STREAM_LEGACY, relaxed) == unsupported);

    // A fork without work needs no join.
    const auto fork = [&] {
        CHECK(begin_capture(stream, relaxed) == good);
        CHECK(d.cuEventRecord(event, stream) == good);
        CHECK(d.cuStreamWaitEvent(forked, event, 0) == good);
    };
    fork();
    destroy(end_capture(stream));
    fork();
    CHECK(failed_end(forked) == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    CHECK(d.cuStreamDestroy(stream) == good);
    CHECK(status_of(forked) == not_capturing);
}

TEST_CASE("captured work runs only in launches of its graph, and reads memory then") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream stream;
    RunOrder order;
    const Words memory(4);
    std::uint32_t source = 1, result[4] = {};
    REQUIRE(begin_capture(stream) == good);
    CHECK(is_active(stream));
    CHECK(order.launch(stream, 1) == good);
    CHECK(d.cuMemsetD32Async(memory.address, 9, 4, stream) == good);
    CHECK(d.cuMemcpyHtoDAsync(memory.address, &source, 4, stream) == good);
    CHECK(d.cuMemcpyDtoHAsync(result, memory.address, 16, stream) == good);
    CHECK(order.launch(stream, 2) == good);
    const Graph graph(end_capture(stream));
    CHECK(status_of(stream) == not_capturing);
    CHECK(d.cuStreamSynchronize(stream) == good);
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
    REQUIRE(begin_capture(stream) == good);
    CHECK(order.launch(stream, 1) == good);
    fail_work("cuLaunchHostFunc", CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(order.launch(stream, 2) == good);
    CHECK(order.launch(stream, 3) == good);
    const CUgraph graph = end_capture(stream);
    CHECK(order.launch(stream, 4) == good); // not affected
    CHECK(d.cuStreamSynchronize(stream) == good);
    const CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 2; ++i) {
        CHECK(d.cuGraphLaunch(exec, stream) == good);
        CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_OUT_OF_MEMORY);
    }
    CHECK(order.ran() == std::vector<int>{4, 1, 3, 1, 3});
    sim_control().reset();
}

TEST_CASE("a captured free that is planned to fail still frees") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream stream;
    CUdeviceptr memory = 0;
    REQUIRE(begin_capture(stream) == good);
    REQUIRE(d.cuMemAllocAsync(&memory, 64, stream) == good);
    fail_work("cuMemFreeAsync", CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE(d.cuMemFreeAsync(memory, stream) == good);
    const Graph graph(end_capture(stream));
    const Executable exec(graph);
    for (int i = 0; i < 2; ++i) {
        CHECK(d.cuGraphLaunch(exec, stream) == good);
        CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_OUT_OF_MEMORY);
    }
}

TEST_CASE("a captured kernel launch keeps its arguments") {
    start(GENERATE_COPY(from_range(all_modes())));
    sim_control().register_kernel(
        "vector_add",
        [](const cushim_sim_launch *launch, void *) {
            const auto at = [launch](unsigned int i) {
                return static_cast<std::uint32_t *>(
                    sim_control().view(parameter<CUdeviceptr>(launch, i), 16));
            };
            for (int i = 0; i < 4; ++i) {
                at(2)[i] = at(0)[i] + at(1)[i];
            }
            return 0;
        },
        nullptr);
    const Module module("cushim-sim-image 1\nkernel vector_add params=8,8,8\n");
    const Stream stream;
    const Words a(4), b(4), c(4);
    CUdeviceptr addresses[] = {a.address, b.address, c.address};
    void *arguments[] = {&addresses[0], &addresses[1], &addresses[2]};
    REQUIRE(begin_capture(stream, global) == good);
    CHECK(d.cuLaunchKernel(module.function("vector_add"), 1, 1, 1, 4, 1, 1, 0, stream, arguments,
                           nullptr) == good);
    addresses[0] = 0;
    const Graph graph(end_capture(stream));
    const Executable exec(graph);
    for (std::uint32_t i = 1; i <= 2; ++i) {
        REQUIRE(d.cuMemsetD32(a.address, i, 4) == good);
        REQUIRE(d.cuMemsetD32(b.address, 10 * i, 4) == good);
        run(exec, stream);
        CHECK(c.at(3) == 11 * i);
    }
}

TEST_CASE("external event records and waits become nodes") {
    start(GENERATE_COPY(from_range(all_modes())));
    TwoStreams s;
    RunOrder order;
    REQUIRE(begin_capture(s.one) == good);
    CHECK(order.launch(s.one, 1) == good);
    CHECK(d.cuEventRecordWithFlags(s.event, s.one, CU_EVENT_RECORD_EXTERNAL) == good);
    CHECK(d.cuStreamWaitEvent(s.one, s.event, CU_EVENT_WAIT_EXTERNAL) == good);
    const Graph graph(end_capture(s.one));
    CHECK(types_of(graph) == Types{CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_EVENT_RECORD,
                                   CU_GRAPH_NODE_TYPE_WAIT_EVENT});
    const Executable exec(graph);
    REQUIRE(d.cuGraphLaunch(exec, s.one) == good);
    CHECK(d.cuStreamWaitEvent(s.two, s.event, 0) == good);
    CHECK(order.launch(s.two, 2) == good);
    CHECK(d.cuStreamSynchronize(s.two) == good);
    CHECK(order.ran() == std::vector<int>{1, 2});
    CHECK(d.cuStreamSynchronize(s.one) == good);
}

TEST_CASE("uploading or launching a graph in a capture invalidates the capture") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream stream;
    RunOrder order;
    const Graph graph;
    add_note(graph, order, 1);
    const Executable exec(graph);
    REQUIRE(begin_capture(stream) == good);
    CHECK(d.cuGraphLaunch(exec, stream) == unsupported);
    CHECK(d.cuGraphLaunch(exec, stream) == unsupported); // unlike other work, which fails with 901
    CHECK(order.launch(stream, 2) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end_invalidated(stream);
    check_breaks(stream, unsupported, [&] { return d.cuGraphUpload(exec, stream); });
    CHECK(order.ran().empty());
}

TEST_CASE("a graph can be instantiated while it is captured") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream stream;
    RunOrder order;
    REQUIRE(begin_capture(stream) == good);
    CHECK(order.launch(stream, 1) == good);
    const CUgraph graph = captured_graph(stream);
    const Executable so_far(graph);
    CHECK(is_active(stream));
    CHECK(order.launch(stream, 2) == good);
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
    REQUIRE(begin_capture(stream) == good);
    CUdeviceptr address = 0;
    std::uint32_t result = 0;
    CHECK(d.cuMemAllocAsync(&address, 64, stream) == good);
    CHECK(d.cuMemsetD32Async(address, 8, 16, stream) == good);
    CHECK(d.cuMemcpyDtoHAsync(&result, address + 60, 4, stream) == good);
    CHECK(d.cuMemFreeAsync(address, stream) == good);
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
    using Info = CUresult(CUstream, CUstreamCaptureStatus *, cuuint64_t *);
    using Update = CUresult(CUstream, CUgraphNode *, size_t, unsigned int);
    auto *info = entry<Info>("cuStreamGetCaptureInfo");
    auto *info2 = entry<CaptureInfo>("cuStreamGetCaptureInfo_v2");
    auto *change = entry<Update>("cuStreamUpdateCaptureDependencies");
    CUstreamCaptureStatus status{};
    cuuint64_t id = 0, second = 0;
    CUgraph graph = nullptr;
    const CUgraphNode *dependencies = nullptr;
    std::size_t count = 77;
    CHECK(info2(stream, &status, &id, &graph, &dependencies, &count) == good);
    CHECK((status == not_capturing && count == 77));
    CHECK(change(stream, nullptr, 0, 0) == CUDA_ERROR_ILLEGAL_STATE);

    REQUIRE(begin_capture(stream) == good);
    CHECK(order.launch(stream, 1) == good);
    CHECK(info(stream, &status, &id) == good);
    CHECK(info2(stream, &status, &second, &graph, &dependencies, &count) == good);
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK((id != 0 && id == second));
    REQUIRE(count == 1);
    CHECK(Nodes(dependencies, dependencies + 1) == nodes_of(graph));
    CHECK(info2(stream, nullptr, nullptr, nullptr, nullptr, nullptr) == invalid);
    CHECK(info2(stream, &status, nullptr, nullptr, nullptr, nullptr) == good);
    CHECK(reported(d.cuGraphDestroy(graph), "belongs to a capture") == invalid);
    CHECK(d.cuGraphDestroyNode(dependencies[0]) == CUDA_ERROR_ILLEGAL_STATE);
    CHECK(is_active(stream));

    // Adds a node to the dependencies of the next one, then replaces all dependencies by it.
    CUgraphNode own = add_note(graph, order, 2);
    CHECK(change(stream, &own, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES) == good);
    CHECK(order.launch(stream, 3) == good);
    CHECK(dependencies_of(nodes_of(graph).back()).size() == 2);
    CHECK(change(stream, &own, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES) == good);
    CHECK(order.launch(stream, 4) == good);
    CHECK(dependencies_of(nodes_of(graph).back()) == Nodes{own});
    CHECK(change(stream, nullptr, 1, 0) == invalid);
    CHECK(change(stream, &own, 1, 2) == invalid);
    const Graph foreign;
    CUgraphNode stranger = add_empty(foreign);
    CHECK(change(stream, &stranger, 1, 0) == invalid);
    // Work dropped from the dependencies explicitly does not count as unjoined.
    destroy(end_capture(stream));

    REQUIRE(begin_capture(stream) == good);
    CHECK(info(stream, &status, &second) == good);
    CHECK(second != id);
    CHECK(d.cuStreamQuery(stream) == unsupported);
    count = 77;
    CHECK(info2(stream, &status, &id, &graph, &dependencies, &count) == good);
    CHECK((status == CU_STREAM_CAPTURE_STATUS_INVALIDATED && count == 77));
    end_invalidated(stream);
    CHECK(begin_capture(stream, static_cast<CUstreamCaptureMode>(9)) == invalid);
    CHECK(d.cuStreamEndCapture(stream, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
    CHECK(d.cuStreamIsCapturing(stream, nullptr) == invalid);
}

#if CUDA_VERSION >= 12030
TEST_CASE("a capture into an existing graph adds nodes to it") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Stream stream;
    RunOrder order;
    const Graph graph, other;
    const CUgraphNode first = add_note(graph, order, 1), stranger = add_empty(other);
    CHECK(d.cuStreamBeginCaptureToGraph(stream, graph, &stranger, nullptr, 1, relaxed) == invalid);
    CHECK(d.cuStreamBeginCaptureToGraph(stream, nullptr, nullptr, nullptr, 0, relaxed) == invalid);
    REQUIRE(d.cuStreamBeginCaptureToGraph(stream, graph, &first, nullptr, 1, relaxed) == good);
    CHECK(order.launch(stream, 2) == good);
    destroy(instantiate(graph)); // the nodes captured so far
    CHECK(end_capture(stream) == graph);
    CHECK(dependencies_of(nodes_of(graph).back()) == Nodes{first});
    run(Executable(graph), stream);
    CHECK(order.ran() == std::vector<int>{1, 2});
    // A failed capture does not destroy the graph.
    REQUIRE(d.cuStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, relaxed) == good);
    CHECK(d.cuStreamQuery(stream) == unsupported);
    end_invalidated(stream);
}

TEST_CASE("capture info reports edge data") {
    const Module module("cushim-sim-image 1\nkernel none\n");
    const Stream stream;
    const Graph graph;
    const CUgraphNode kernel = add_kernel(graph, kernel_parameters(module.function("none")));
    CUgraphEdgeData data{.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                         .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
    REQUIRE(d.cuStreamBeginCaptureToGraph(stream, graph, &kernel, &data, 1, relaxed) == good);
    using Info3 = CUresult(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
                           const CUgraphNode **, const CUgraphEdgeData **, size_t *);
    CUstreamCaptureStatus status{};
    const CUgraphNode *nodes = nullptr;
    const CUgraphEdgeData *edges = nullptr;
    std::size_t count = 0;
    CHECK(entry<CaptureInfo>("cuStreamGetCaptureInfo_v2")(stream, &status, nullptr, nullptr, &nodes,
                                                          &count) == CUDA_ERROR_LOSSY_QUERY);
    auto *info3 = entry<Info3>("cuStreamGetCaptureInfo_v3");
    CHECK(info3(stream, &status, nullptr, nullptr, nullptr, &edges, &count) == invalid);
    REQUIRE(info3(stream, &status, nullptr, nullptr, &nodes, &edges, &count) == good);
    REQUIRE(count == 1);
    CHECK((nodes[0] == kernel && edges[0].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC));
    // Only kernels can follow such an edge.
    RunOrder order;
    CHECK(order.launch(stream, 1) == invalid);
    end_invalidated(stream);
}

#endif
