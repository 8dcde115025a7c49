// Stream capture: what becomes a node, and what there is to know of it meanwhile.
#include "capture_tools.hpp"
#include "plan_fault.hpp"

#include <catch2/generators/catch_generators_range.hpp>

using namespace sim_test;

TEST_CASE("what the H200 answered to captures", "[capture]") {
    start();
    const CUstream stream = make_stream(), forked = make_stream();
    CHECK(begin_capture(stream, global) == CUDA_SUCCESS);
    CHECK(begin_capture(stream, global) == CUDA_ERROR_ILLEGAL_STATE);
    CHECK(unsafe_call() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalidated(stream);
    CHECK(failed_end(stream) == CUDA_ERROR_ILLEGAL_STATE);

    CHECK(begin_capture(stream, thread_local_) == CUDA_SUCCESS);
    CHECK(unsafe_call() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(d().cuStreamSynchronize(stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalidated(stream);

    const CUevent event = make_event();
    CHECK(begin_capture(stream, relaxed) == CUDA_SUCCESS);
    CHECK(unsafe_call() == CUDA_SUCCESS);
    CHECK(d().cuEventRecord(event, stream) == CUDA_SUCCESS);
    CHECK(d().cuEventQuery(event) == CUDA_ERROR_CAPTURED_EVENT);
    CHECK(d().cuEventSynchronize(event) == CUDA_ERROR_INVALID_VALUE);
    end_invalidated(stream);

    CHECK(begin_capture(nullptr, relaxed) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(begin_capture(CU_STREAM_LEGACY, relaxed) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);

    // A fork without work of its own needs no join.
    CHECK(begin_capture(stream, relaxed) == CUDA_SUCCESS);
    CHECK(d().cuEventRecord(event, stream) == CUDA_SUCCESS);
    CHECK(d().cuStreamWaitEvent(forked, event, 0) == CUDA_SUCCESS);
    destroy(end_capture(stream));

    CHECK(begin_capture(stream, relaxed) == CUDA_SUCCESS);
    CHECK(d().cuEventRecord(event, stream) == CUDA_SUCCESS);
    CHECK(d().cuStreamWaitEvent(forked, event, 0) == CUDA_SUCCESS);
    CHECK(failed_end(forked) == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    CHECK(d().cuStreamDestroy(stream) == CUDA_SUCCESS);
    CHECK(status_of(forked) == CU_STREAM_CAPTURE_STATUS_NONE);
    destroy(forked);
    destroy(event);
}

TEST_CASE("captured work does not run; its graph does", "[capture]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUstream stream = make_stream();
    RunOrder order;
    Words memory(4);
    std::uint32_t result[4] = {};
    REQUIRE(begin_capture(stream) == CUDA_SUCCESS);
    CHECK(is_active(stream));
    CHECK(order.launch(stream, 1) == CUDA_SUCCESS);
    CHECK(d().cuMemsetD32Async(memory.address, 9, 4, stream) == CUDA_SUCCESS);
    CHECK(d().cuMemcpyDtoHAsync(result, memory.address, 16, stream) == CUDA_SUCCESS);
    CHECK(order.launch(stream, 2) == CUDA_SUCCESS);
    const CUgraph graph = end_capture(stream);
    CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_NONE);
    CHECK(d().cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(order.ran().empty());
    CHECK(types_of(graph) ==
          std::vector<CUgraphNodeType>{CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_MEMSET,
                                       CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_HOST});
    const Nodes nodes = nodes_of(graph);
    for (std::size_t i = 1; i < nodes.size(); ++i) {
        CHECK(dependencies_of(nodes[i]) == Nodes{nodes[i - 1]});
    }
    const CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 2; ++i) {
        result[3] = 0;
        run(exec, stream);
        CHECK(result[3] == 9);
    }
    CHECK(order.ran() == std::vector<int>{1, 2, 1, 2});
    destroy(exec);
    destroy(graph);
    destroy(stream);
    memory.free();
}

TEST_CASE("a failure that is planned for captured work comes whenever the graph runs",
          "[capture]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUstream stream = make_stream();
    RunOrder order;
    REQUIRE(begin_capture(stream) == CUDA_SUCCESS);
    CHECK(order.launch(stream, 1) == CUDA_SUCCESS);
    fail_work("cuLaunchHostFunc", CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(order.launch(stream, 2) == CUDA_SUCCESS);
    CHECK(order.launch(stream, 3) == CUDA_SUCCESS);
    const CUgraph graph = end_capture(stream);
    CHECK(d().cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(order.launch(stream, 4) == CUDA_SUCCESS); // it is not this work's
    CHECK(d().cuStreamSynchronize(stream) == CUDA_SUCCESS);
    const CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 2; ++i) {
        CHECK(d().cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
        CHECK(d().cuStreamSynchronize(stream) == CUDA_ERROR_OUT_OF_MEMORY);
    }
    CHECK(order.ran() == std::vector<int>{4, 1, 3, 1, 3});
    sim_control().reset();
}

TEST_CASE("a free that was captured is planned to fail, and frees all the same", "[capture]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUstream stream = make_stream();
    CUdeviceptr memory = 0;
    REQUIRE(begin_capture(stream) == CUDA_SUCCESS);
    REQUIRE(d().cuMemAllocAsync(&memory, 64, stream) == CUDA_SUCCESS);
    fail_work("cuMemFreeAsync", CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE(d().cuMemFreeAsync(memory, stream) == CUDA_SUCCESS);
    const CUgraph graph = end_capture(stream);
    const CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 2; ++i) {
        CHECK(d().cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
        CHECK(d().cuStreamSynchronize(stream) == CUDA_ERROR_OUT_OF_MEMORY);
    }
    destroy(exec);
    destroy(graph);
    destroy(stream);
}

TEST_CASE("a captured copy reads its source when the graph runs", "[capture]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUstream stream = make_stream();
    Words memory(1);
    std::uint32_t source = 1;
    REQUIRE(begin_capture(stream) == CUDA_SUCCESS);
    CHECK(d().cuMemcpyHtoDAsync(memory.address, &source, 4, stream) == CUDA_SUCCESS);
    const CUgraph graph = end_capture(stream);
    const CUgraphExec exec = instantiate(graph);
    source = 2;
    run(exec, stream);
    CHECK(memory.at(0) == 2);
    destroy(exec);
    destroy(graph);
    destroy(stream);
    memory.free();
}

TEST_CASE("kernels are captured with their arguments, twice replayed", "[capture]") {
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
    TestModule module("cushim-sim-image 1\nkernel vector_add params=8,8,8\n");
    const CUstream stream = make_stream();
    Words a(4), b(4), c(4);
    CUdeviceptr addresses[] = {a.address, b.address, c.address};
    void *arguments[] = {&addresses[0], &addresses[1], &addresses[2]};
    REQUIRE(begin_capture(stream, global) == CUDA_SUCCESS);
    CHECK(d().cuLaunchKernel(module.function("vector_add"), 1, 1, 1, 4, 1, 1, 0, stream, arguments,
                             nullptr) == CUDA_SUCCESS);
    addresses[0] = 0;
    const CUgraph graph = end_capture(stream);
    const CUgraphExec exec = instantiate(graph);
    for (std::uint32_t i = 1; i <= 2; ++i) {
        REQUIRE(d().cuMemsetD32(a.address, i, 4) == CUDA_SUCCESS);
        REQUIRE(d().cuMemsetD32(b.address, 10 * i, 4) == CUDA_SUCCESS);
        run(exec, stream);
        CHECK(c.at(3) == 11 * i);
    }
    destroy(exec);
    destroy(graph);
    destroy(stream);
    for (Words *words : {&a, &b, &c}) {
        words->free();
    }
    module.unload();
}

TEST_CASE("external events are nodes", "[capture]") {
    start(GENERATE_COPY(from_range(all_modes())));
    TwoStreams s;
    RunOrder order;
    REQUIRE(begin_capture(s.one) == CUDA_SUCCESS);
    CHECK(order.launch(s.one, 1) == CUDA_SUCCESS);
    CHECK(d().cuEventRecordWithFlags(s.event, s.one, CU_EVENT_RECORD_EXTERNAL) == CUDA_SUCCESS);
    CHECK(d().cuStreamWaitEvent(s.one, s.event, CU_EVENT_WAIT_EXTERNAL) == CUDA_SUCCESS);
    const CUgraph graph = end_capture(s.one);
    CHECK(types_of(graph) == std::vector<CUgraphNodeType>{CU_GRAPH_NODE_TYPE_HOST,
                                                          CU_GRAPH_NODE_TYPE_EVENT_RECORD,
                                                          CU_GRAPH_NODE_TYPE_WAIT_EVENT});
    const CUgraphExec exec = instantiate(graph);
    REQUIRE(d().cuGraphLaunch(exec, s.one) == CUDA_SUCCESS);
    CHECK(d().cuStreamWaitEvent(s.two, s.event, 0) == CUDA_SUCCESS);
    CHECK(order.launch(s.two, 2) == CUDA_SUCCESS);
    CHECK(d().cuStreamSynchronize(s.two) == CUDA_SUCCESS);
    CHECK(order.ran() == std::vector<int>{1, 2});
    CHECK(d().cuStreamSynchronize(s.one) == CUDA_SUCCESS);
    destroy(exec);
    destroy(graph);
}

TEST_CASE("graphs are neither uploaded nor launched into a capture", "[capture]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUstream stream = make_stream();
    RunOrder order;
    const CUgraph graph = make_graph();
    add_note(graph, order, 1);
    const CUgraphExec exec = instantiate(graph);
    REQUIRE(begin_capture(stream) == CUDA_SUCCESS);
    CHECK(d().cuGraphLaunch(exec, stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    // It is not told the 901 of other work then.
    CHECK(d().cuGraphLaunch(exec, stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(order.launch(stream, 2) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end_invalidated(stream);
    REQUIRE(begin_capture(stream) == CUDA_SUCCESS);
    CHECK(d().cuGraphUpload(exec, stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalidated(stream);
    CHECK(order.ran().empty());
    destroy(exec);
    destroy(graph);
    destroy(stream);
}

TEST_CASE("a graph that is captured can be instantiated as it is", "[capture]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUstream stream = make_stream();
    RunOrder order;
    REQUIRE(begin_capture(stream) == CUDA_SUCCESS);
    CHECK(order.launch(stream, 1) == CUDA_SUCCESS);
    CUstreamCaptureStatus status{};
    CUgraph graph = nullptr;
    using Info2 = CUresult(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
                           const CUgraphNode **, size_t *);
    REQUIRE(entry<Info2>("cuStreamGetCaptureInfo_v2")(stream, &status, nullptr, &graph, nullptr,
                                                      nullptr) == CUDA_SUCCESS);
    const CUgraphExec so_far = instantiate(graph);
    CHECK(is_active(stream));
    CHECK(order.launch(stream, 2) == CUDA_SUCCESS);
    REQUIRE(end_capture(stream) == graph);
    const CUgraphExec whole = instantiate(graph);
    run(so_far, stream);
    CHECK(order.ran() == std::vector<int>{1});
    run(whole, stream);
    CHECK(order.ran() == std::vector<int>{1, 1, 2});
    destroy(so_far);
    destroy(whole);
    destroy(graph);
    destroy(stream);
}

TEST_CASE("memory that is allocated in a capture is the graph's", "[capture]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUstream stream = make_stream();
    REQUIRE(begin_capture(stream) == CUDA_SUCCESS);
    CUdeviceptr address = 0;
    std::uint32_t result = 0;
    CHECK(d().cuMemAllocAsync(&address, 64, stream) == CUDA_SUCCESS);
    CHECK(d().cuMemsetD32Async(address, 8, 16, stream) == CUDA_SUCCESS);
    CHECK(d().cuMemcpyDtoHAsync(&result, address + 60, 4, stream) == CUDA_SUCCESS);
    CHECK(d().cuMemFreeAsync(address, stream) == CUDA_SUCCESS);
    const CUgraph graph = end_capture(stream);
    CHECK(types_of(graph) ==
          std::vector<CUgraphNodeType>{CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEMSET,
                                       CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEM_FREE});
    const CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 2; ++i) {
        result = 0;
        run(exec, stream);
        CHECK(result == 8);
    }
    destroy(exec);
    destroy(graph);
    destroy(stream);
}

TEST_CASE("capture info and dependencies", "[capture]") {
    start();
    const CUstream stream = make_stream();
    RunOrder order;
    using Info = CUresult(CUstream, CUstreamCaptureStatus *, cuuint64_t *);
    using Info2 = CUresult(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
                           const CUgraphNode **, size_t *);
    using Update = CUresult(CUstream, CUgraphNode *, size_t, unsigned int);
    auto *info = entry<Info>("cuStreamGetCaptureInfo");
    auto *info2 = entry<Info2>("cuStreamGetCaptureInfo_v2");
    auto *change = entry<Update>("cuStreamUpdateCaptureDependencies");
    CUstreamCaptureStatus status{};
    cuuint64_t id = 0, second = 0;
    CUgraph graph = nullptr;
    const CUgraphNode *dependencies = nullptr;
    std::size_t count = 77;
    CHECK(info2(stream, &status, &id, &graph, &dependencies, &count) == CUDA_SUCCESS);
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
    CHECK(count == 77);
    CHECK(change(stream, nullptr, 0, 0) == CUDA_ERROR_ILLEGAL_STATE);

    REQUIRE(begin_capture(stream) == CUDA_SUCCESS);
    CHECK(order.launch(stream, 1) == CUDA_SUCCESS);
    CHECK(info(stream, &status, &id) == CUDA_SUCCESS);
    CHECK(info2(stream, &status, &second, &graph, &dependencies, &count) == CUDA_SUCCESS);
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK((id != 0 && id == second));
    REQUIRE(count == 1);
    CHECK(Nodes(dependencies, dependencies + 1) == nodes_of(graph));
    CHECK(info2(stream, nullptr, nullptr, nullptr, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(info2(stream, &status, nullptr, nullptr, nullptr, nullptr) == CUDA_SUCCESS);
    CHECK(d().cuGraphDestroy(graph) == CUDA_ERROR_INVALID_VALUE);
    expect_misuse("belongs to a capture");
    CHECK(d().cuGraphDestroyNode(dependencies[0]) == CUDA_ERROR_ILLEGAL_STATE);
    CHECK(is_active(stream));

    // A node of one's own, which the next one comes after; then in place of the others.
    CUgraphNode own = add_note(graph, order, 2);
    CHECK(change(stream, &own, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES) == CUDA_SUCCESS);
    CHECK(order.launch(stream, 3) == CUDA_SUCCESS);
    CHECK(dependencies_of(nodes_of(graph).back()).size() == 2);
    CHECK(change(stream, &own, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES) == CUDA_SUCCESS);
    CHECK(order.launch(stream, 4) == CUDA_SUCCESS);
    CHECK(dependencies_of(nodes_of(graph).back()) == Nodes{own});
    CHECK(change(stream, nullptr, 1, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(change(stream, &own, 1, 2) == CUDA_ERROR_INVALID_VALUE);
    const CUgraph foreign = make_graph();
    CUgraphNode stranger = add_empty(foreign);
    CHECK(change(stream, &stranger, 1, 0) == CUDA_ERROR_INVALID_VALUE);
    destroy(foreign);
    // The node of before is out of reach by a direct action: that is no unjoined work.
    destroy(end_capture(stream));

    REQUIRE(begin_capture(stream) == CUDA_SUCCESS);
    CHECK(info(stream, &status, &second) == CUDA_SUCCESS);
    CHECK(second != id);
    CHECK(d().cuStreamQuery(stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    count = 77;
    CHECK(info2(stream, &status, &id, &graph, &dependencies, &count) == CUDA_SUCCESS);
    CHECK((status == CU_STREAM_CAPTURE_STATUS_INVALIDATED && count == 77));
    end_invalidated(stream);
    CHECK(begin_capture(stream, static_cast<CUstreamCaptureMode>(9)) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d().cuStreamEndCapture(stream, nullptr) == CUDA_ERROR_ILLEGAL_STATE);
    CHECK(d().cuStreamIsCapturing(stream, nullptr) == CUDA_ERROR_INVALID_VALUE);
    destroy(stream);
}

TEST_CASE("the first ABI of begin has no mode", "[capture]") {
    start();
    const CUstream stream = make_stream();
    using Begin = CUresult(CUstream);
    REQUIRE(entry<Begin>("cuStreamBeginCapture")(stream) == CUDA_SUCCESS);
    CHECK(unsafe_call() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED); // it is global
    end_invalidated(stream);
    destroy(stream);
}

TEST_CASE("a thread's own stream can be captured", "[capture]") {
    start();
    RunOrder order;
    REQUIRE(begin_capture(CU_STREAM_PER_THREAD) == CUDA_SUCCESS);
    CHECK(order.launch(CU_STREAM_PER_THREAD, 1) == CUDA_SUCCESS);
    const CUgraph graph = end_capture(CU_STREAM_PER_THREAD);
    CHECK(nodes_of(graph).size() == 1);
    destroy(graph);
}

#if CUDA_VERSION >= 12030
TEST_CASE("a capture into a graph of the client's adds to it", "[capture]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUstream stream = make_stream();
    RunOrder order;
    const CUgraph graph = make_graph(), other = make_graph();
    const CUgraphNode first = add_note(graph, order, 1), stranger = add_empty(other);
    CHECK(d().cuStreamBeginCaptureToGraph(stream, graph, &stranger, nullptr, 1, relaxed) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(d().cuStreamBeginCaptureToGraph(stream, nullptr, nullptr, nullptr, 0, relaxed) ==
          CUDA_ERROR_INVALID_VALUE);
    REQUIRE(d().cuStreamBeginCaptureToGraph(stream, graph, &first, nullptr, 1, relaxed) ==
            CUDA_SUCCESS);
    CHECK(order.launch(stream, 2) == CUDA_SUCCESS);
    destroy(instantiate(graph)); // of what there is so far
    CHECK(end_capture(stream) == graph);
    CHECK(dependencies_of(nodes_of(graph).back()) == Nodes{first});
    const CUgraphExec exec = instantiate(graph);
    run(exec, stream);
    CHECK(order.ran() == std::vector<int>{1, 2});
    // One that fails leaves the graph to its owner.
    REQUIRE(d().cuStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, relaxed) ==
            CUDA_SUCCESS);
    CHECK(d().cuStreamQuery(stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalidated(stream);
    destroy(exec);
    destroy(graph);
    destroy(other);
    destroy(stream);
}

TEST_CASE("capture info tells the data of edges", "[capture]") {
    start();
    TestModule module("cushim-sim-image 1\nkernel none\n");
    const CUstream stream = make_stream();
    const CUgraph graph = make_graph();
    const CUgraphNode kernel = add_kernel(graph, kernel_parameters(module.function("none")));
    CUgraphEdgeData data{};
    data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
    data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    REQUIRE(d().cuStreamBeginCaptureToGraph(stream, graph, &kernel, &data, 1, relaxed) ==
            CUDA_SUCCESS);
    using Info2 = CUresult(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
                           const CUgraphNode **, size_t *);
    using Info3 = CUresult(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
                           const CUgraphNode **, const CUgraphEdgeData **, size_t *);
    CUstreamCaptureStatus status{};
    const CUgraphNode *nodes = nullptr;
    const CUgraphEdgeData *edges = nullptr;
    std::size_t count = 0;
    CHECK(entry<Info2>("cuStreamGetCaptureInfo_v2")(stream, &status, nullptr, nullptr, &nodes,
                                                    &count) == CUDA_ERROR_LOSSY_QUERY);
    CHECK(entry<Info3>("cuStreamGetCaptureInfo_v3")(stream, &status, nullptr, nullptr, nullptr,
                                                    &edges, &count) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(entry<Info3>("cuStreamGetCaptureInfo_v3")(stream, &status, nullptr, nullptr, &nodes,
                                                      &edges, &count) == CUDA_SUCCESS);
    REQUIRE(count == 1);
    CHECK((nodes[0] == kernel && edges[0].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC));
    // Work that is no kernel cannot come after such an edge.
    RunOrder order;
    CHECK(order.launch(stream, 1) == CUDA_ERROR_INVALID_VALUE);
    end_invalidated(stream);
    destroy(graph);
    destroy(stream);
    module.unload();
}

#endif
