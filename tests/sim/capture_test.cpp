// Stream capture: what becomes a node, how streams take part, and what invalidates it.
#include "graph_tools.hpp"

#include <catch2/generators/catch_generators_range.hpp>

#include <string>
#include <thread>

using namespace sim_test;

namespace {

constexpr auto global = CU_STREAM_CAPTURE_MODE_GLOBAL,
               thread_local_ = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
               relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

CUresult begin(CUstream stream, CUstreamCaptureMode mode = relaxed) {
    return d().cuStreamBeginCapture(stream, mode);
}

CUstreamCaptureStatus status_of(CUstream stream) {
    CUstreamCaptureStatus status{};
    REQUIRE(d().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS);
    return status;
}
bool is_active(CUstream stream) {
    return status_of(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}
bool is_invalidated(CUstream stream) {
    return status_of(stream) == CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

CUgraph end(CUstream stream) {
    CUgraph graph = nullptr;
    REQUIRE(d().cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    REQUIRE(graph != nullptr);
    return graph;
}
// The status of an end that fails; checks that no graph comes of it.
CUresult failed_end(CUstream stream) {
    CUgraph graph = garbage<CUgraph>();
    const CUresult status = d().cuStreamEndCapture(stream, &graph);
    CHECK((graph == nullptr) == (status != CUDA_SUCCESS));
    return status;
}
// Ends a capture that is invalidated.
void end_invalidated(CUstream stream) {
    CHECK(is_invalidated(stream));
    CHECK(failed_end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_NONE);
}

// A call that the driver takes for unsafe.
CUresult unsafe_call() {
    CUdeviceptr address = 0;
    const CUresult status = d().cuMemAlloc(&address, 64);
    if (status == CUDA_SUCCESS) {
        CHECK(d().cuMemFree(address) == CUDA_SUCCESS);
    }
    return status;
}

struct Streams {
    CUstream one = make_stream(CU_STREAM_NON_BLOCKING), two = make_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = make_event(CU_EVENT_DISABLE_TIMING);
    ~Streams() {
        destroy(one);
        destroy(two);
        destroy(event);
    }
};

} // namespace

TEST_CASE("what the H200 answered to captures", "[capture]") {
    start();
    const CUstream stream = make_stream(), forked = make_stream();
    CHECK(begin(stream, global) == CUDA_SUCCESS);
    CHECK(begin(stream, global) == CUDA_ERROR_ILLEGAL_STATE);
    CHECK(unsafe_call() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalidated(stream);
    CHECK(failed_end(stream) == CUDA_ERROR_ILLEGAL_STATE);

    CHECK(begin(stream, thread_local_) == CUDA_SUCCESS);
    CHECK(unsafe_call() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(d().cuStreamSynchronize(stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalidated(stream);

    const CUevent event = make_event();
    CHECK(begin(stream, relaxed) == CUDA_SUCCESS);
    CHECK(unsafe_call() == CUDA_SUCCESS);
    CHECK(d().cuEventRecord(event, stream) == CUDA_SUCCESS);
    CHECK(d().cuEventQuery(event) == CUDA_ERROR_CAPTURED_EVENT);
    CHECK(d().cuEventSynchronize(event) == CUDA_ERROR_INVALID_VALUE);
    end_invalidated(stream);

    CHECK(begin(nullptr, relaxed) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(begin(CU_STREAM_LEGACY, relaxed) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);

    // A fork without work of its own needs no join.
    CHECK(begin(stream, relaxed) == CUDA_SUCCESS);
    CHECK(d().cuEventRecord(event, stream) == CUDA_SUCCESS);
    CHECK(d().cuStreamWaitEvent(forked, event, 0) == CUDA_SUCCESS);
    destroy(end(stream));

    CHECK(begin(stream, relaxed) == CUDA_SUCCESS);
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
    REQUIRE(begin(stream) == CUDA_SUCCESS);
    CHECK(is_active(stream));
    CHECK(order.launch(stream, 1) == CUDA_SUCCESS);
    CHECK(d().cuMemsetD32Async(memory.address, 9, 4, stream) == CUDA_SUCCESS);
    CHECK(d().cuMemcpyDtoHAsync(result, memory.address, 16, stream) == CUDA_SUCCESS);
    CHECK(order.launch(stream, 2) == CUDA_SUCCESS);
    const CUgraph graph = end(stream);
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

TEST_CASE("a captured copy reads its source when the graph runs", "[capture]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUstream stream = make_stream();
    Words memory(1);
    std::uint32_t source = 1;
    REQUIRE(begin(stream) == CUDA_SUCCESS);
    CHECK(d().cuMemcpyHtoDAsync(memory.address, &source, 4, stream) == CUDA_SUCCESS);
    const CUgraph graph = end(stream);
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
    REQUIRE(begin(stream, global) == CUDA_SUCCESS);
    CHECK(d().cuLaunchKernel(module.function("vector_add"), 1, 1, 1, 4, 1, 1, 0, stream, arguments,
                             nullptr) == CUDA_SUCCESS);
    addresses[0] = 0;
    const CUgraph graph = end(stream);
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

TEST_CASE("streams fork and join by events", "[capture]") {
    start(GENERATE_COPY(from_range(all_modes())));
    Streams s;
    RunOrder order;
    REQUIRE(begin(s.one) == CUDA_SUCCESS);
    CHECK(order.launch(s.one, 1) == CUDA_SUCCESS);
    CHECK(d().cuEventRecord(s.event, s.one) == CUDA_SUCCESS);
    CHECK(order.launch(s.one, 2) == CUDA_SUCCESS);
    CHECK(d().cuStreamWaitEvent(s.two, s.event, 0) == CUDA_SUCCESS);
    CHECK(is_active(s.two));
    CHECK(order.launch(s.two, 3) == CUDA_SUCCESS);
    CHECK(d().cuEventRecord(s.event, s.two) == CUDA_SUCCESS);
    CHECK(d().cuStreamWaitEvent(s.one, s.event, 0) == CUDA_SUCCESS);
    CHECK(order.launch(s.one, 4) == CUDA_SUCCESS);
    const CUgraph graph = end(s.one);
    CHECK(status_of(s.two) == CU_STREAM_CAPTURE_STATUS_NONE);
    const Nodes nodes = nodes_of(graph);
    REQUIRE(nodes.size() == 4);
    CHECK(dependencies_of(nodes[1]) == Nodes{nodes[0]});
    CHECK(dependencies_of(nodes[2]) == Nodes{nodes[0]});
    CHECK(dependencies_of(nodes[3]) == Nodes{nodes[1], nodes[2]});
    const CUgraphExec exec = instantiate(graph);
    run(exec, s.one);
    CHECK((order.ran().front() == 1 && order.ran().back() == 4));
    destroy(exec);
    destroy(graph);
}

TEST_CASE("work of a fork that is not joined ends in nothing", "[capture]") {
    start();
    Streams s;
    RunOrder order;
    REQUIRE(begin(s.one) == CUDA_SUCCESS);
    CHECK(d().cuEventRecord(s.event, s.one) == CUDA_SUCCESS);
    CHECK(d().cuStreamWaitEvent(s.two, s.event, 0) == CUDA_SUCCESS);
    CHECK(order.launch(s.two, 1) == CUDA_SUCCESS);
    CHECK(failed_end(s.one) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    CHECK(status_of(s.one) == CU_STREAM_CAPTURE_STATUS_NONE);
    CHECK(status_of(s.two) == CU_STREAM_CAPTURE_STATUS_NONE);
    CHECK(leaks().size() == 3); // no graph among them
}

TEST_CASE("captures of their own do not meet", "[capture]") {
    start();
    Streams s;
    RunOrder order;
    SECTION("a merge") {
        REQUIRE(begin(s.one) == CUDA_SUCCESS);
        REQUIRE(begin(s.two) == CUDA_SUCCESS);
        CHECK(d().cuEventRecord(s.event, s.one) == CUDA_SUCCESS);
        CHECK(d().cuStreamWaitEvent(s.two, s.event, 0) == CUDA_ERROR_STREAM_CAPTURE_MERGE);
        end_invalidated(s.one);
        end_invalidated(s.two);
    }
    SECTION("a wait for work of before") {
        CHECK(order.launch(s.two, 1) == CUDA_SUCCESS);
        CHECK(d().cuEventRecord(s.event, s.two) == CUDA_SUCCESS);
        REQUIRE(begin(s.one) == CUDA_SUCCESS);
        CHECK(d().cuStreamWaitEvent(s.one, s.event, 0) == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        end_invalidated(s.one);
        CHECK(d().cuStreamSynchronize(s.two) == CUDA_SUCCESS);
    }
    SECTION("an event of a capture that is over") {
        REQUIRE(begin(s.one) == CUDA_SUCCESS);
        CHECK(order.launch(s.one, 1) == CUDA_SUCCESS);
        CHECK(d().cuEventRecord(s.event, s.one) == CUDA_SUCCESS);
        destroy(end(s.one));
        CHECK(d().cuEventQuery(s.event) == CUDA_ERROR_INVALID_VALUE);
        CHECK(d().cuEventSynchronize(s.event) == CUDA_ERROR_INVALID_VALUE);
        CHECK(d().cuStreamWaitEvent(s.two, s.event, 0) == CUDA_ERROR_INVALID_VALUE);
        // Recorded anew, it is as any other.
        CHECK(d().cuEventRecord(s.event, s.one) == CUDA_SUCCESS);
        CHECK(d().cuEventSynchronize(s.event) == CUDA_SUCCESS);
        CHECK(d().cuStreamWaitEvent(s.two, s.event, 0) == CUDA_SUCCESS);
    }
}

TEST_CASE("external events are nodes", "[capture]") {
    start(GENERATE_COPY(from_range(all_modes())));
    Streams s;
    RunOrder order;
    REQUIRE(begin(s.one) == CUDA_SUCCESS);
    CHECK(order.launch(s.one, 1) == CUDA_SUCCESS);
    CHECK(d().cuEventRecordWithFlags(s.event, s.one, CU_EVENT_RECORD_EXTERNAL) == CUDA_SUCCESS);
    CHECK(d().cuStreamWaitEvent(s.one, s.event, CU_EVENT_WAIT_EXTERNAL) == CUDA_SUCCESS);
    const CUgraph graph = end(s.one);
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

TEST_CASE("the modes decide whose unsafe calls are refused", "[capture]") {
    start();
    const CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
    const CUcontext context = current();
    // What another thread, in its mode, is told while this one captures in its own.
    const auto answer = [&](CUstreamCaptureMode capture, CUstreamCaptureMode interaction) {
        REQUIRE(begin(stream, capture) == CUDA_SUCCESS);
        CUresult status = CUDA_ERROR_UNKNOWN;
        std::thread([&] {
            cushim::driver().cuCtxSetCurrent(context);
            CUstreamCaptureMode mode = interaction;
            cushim::driver().cuThreadExchangeStreamCaptureMode(&mode);
            CUdeviceptr address = 0;
            status = cushim::driver().cuMemAlloc(&address, 64);
            if (status == CUDA_SUCCESS) {
                cushim::driver().cuMemFree(address);
            }
        }).join();
        if (status == CUDA_SUCCESS) {
            destroy(end(stream));
        } else {
            end_invalidated(stream);
        }
        return status;
    };
    constexpr CUresult unsupported = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    CHECK(answer(global, global) == unsupported);
    CHECK(answer(global, thread_local_) == CUDA_SUCCESS);
    CHECK(answer(global, relaxed) == CUDA_SUCCESS);
    CHECK(answer(thread_local_, global) == CUDA_SUCCESS);
    CHECK(answer(relaxed, global) == CUDA_SUCCESS);

    // And the thread that captures.
    CUstreamCaptureMode mode = relaxed;
    CHECK(d().cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
    CHECK(mode == global);
    REQUIRE(begin(stream, global) == CUDA_SUCCESS);
    CHECK(unsafe_call() == CUDA_SUCCESS);
    mode = thread_local_;
    CHECK(d().cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
    CHECK(mode == relaxed);
    CHECK(unsafe_call() == unsupported);
    end_invalidated(stream);
    mode = static_cast<CUstreamCaptureMode>(3);
    CHECK(d().cuThreadExchangeStreamCaptureMode(&mode) == CUDA_ERROR_INVALID_VALUE);
    CHECK(d().cuThreadExchangeStreamCaptureMode(nullptr) == CUDA_ERROR_INVALID_VALUE);
    mode = global;
    CHECK(d().cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
    CHECK(mode == thread_local_);
    destroy(stream);
}

TEST_CASE("a capture ends in the thread that began it, unless it is relaxed", "[capture]") {
    start();
    const CUstream stream = make_stream();
    CUgraph graph = nullptr;
    CUresult status = CUDA_SUCCESS;
    const auto end_elsewhere = [&] {
        std::thread([&] { status = cushim::driver().cuStreamEndCapture(stream, &graph); }).join();
    };
    REQUIRE(begin(stream, thread_local_) == CUDA_SUCCESS);
    end_elsewhere();
    CHECK(status == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    CHECK(failed_end(stream) == CUDA_ERROR_ILLEGAL_STATE); // it has ended
    REQUIRE(begin(stream, relaxed) == CUDA_SUCCESS);
    end_elsewhere();
    CHECK(status == CUDA_SUCCESS);
    destroy(graph);
    destroy(stream);
}

TEST_CASE("the legacy stream cannot be used while a blocking stream captures", "[capture]") {
    start();
    const CUstream blocking = make_stream(), other = make_stream(CU_STREAM_NON_BLOCKING);
    RunOrder order;
    REQUIRE(begin(blocking) == CUDA_SUCCESS);
    // To ask is allowed, and answered so.
    CUstreamCaptureStatus status{};
    CHECK(d().cuStreamIsCapturing(nullptr, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    CHECK(is_active(blocking));
    CHECK(order.launch(nullptr, 1) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    end_invalidated(blocking);
    REQUIRE(begin(blocking) == CUDA_SUCCESS);
    CHECK(d().cuStreamSynchronize(nullptr) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    end_invalidated(blocking);
    // A non-blocking one does not mind.
    REQUIRE(begin(other) == CUDA_SUCCESS);
    CHECK(order.launch(nullptr, 2) == CUDA_SUCCESS);
    CHECK(order.launch(other, 3) == CUDA_SUCCESS);
    destroy(end(other));
    CHECK(order.ran() == std::vector<int>{2});
    // The whole context is more than the legacy stream.
    REQUIRE(begin(other) == CUDA_SUCCESS);
    CHECK(d().cuCtxSynchronize() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalidated(other);
    destroy(blocking);
    destroy(other);
}

TEST_CASE("an invalidated capture takes no work", "[capture]") {
    start();
    Streams s;
    RunOrder order;
    REQUIRE(begin(s.one) == CUDA_SUCCESS);
    CHECK(d().cuStreamQuery(s.one) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(order.launch(s.one, 1) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(d().cuEventRecord(s.event, s.one) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end_invalidated(s.one);
    CHECK(order.launch(s.one, 2) == CUDA_SUCCESS);
    CHECK(d().cuStreamSynchronize(s.one) == CUDA_SUCCESS);
    CHECK(order.ran() == std::vector<int>{2});
}

TEST_CASE("streams that die take their capture along", "[capture]") {
    start();
    const CUstream one = make_stream(CU_STREAM_NON_BLOCKING),
                   two = make_stream(CU_STREAM_NON_BLOCKING);
    const CUevent event = make_event();
    RunOrder order;
    REQUIRE(begin(one) == CUDA_SUCCESS);
    CHECK(d().cuEventRecord(event, one) == CUDA_SUCCESS);
    CHECK(d().cuStreamWaitEvent(two, event, 0) == CUDA_SUCCESS);
    CHECK(order.launch(two, 1) == CUDA_SUCCESS);
    destroy(two);
    end_invalidated(one);
    // A context that is destroyed in the middle leaves nothing that forbids calls.
    CUcontext first = current(), context = nullptr, popped = nullptr;
#if CUDA_VERSION >= 13000
    REQUIRE(d().cuCtxCreate(&context, nullptr, 0, 0) == CUDA_SUCCESS);
#else
    REQUIRE(d().cuCtxCreate(&context, 0, 0) == CUDA_SUCCESS);
#endif
    const CUstream lost = make_stream();
    REQUIRE(begin(lost, global) == CUDA_SUCCESS);
    CHECK(d().cuCtxDestroy(context) == CUDA_SUCCESS);
    static_cast<void>(popped);
    REQUIRE(d().cuCtxSetCurrent(first) == CUDA_SUCCESS);
    CHECK(unsafe_call() == CUDA_SUCCESS);
    CHECK(leaks().size() == 2); // stream, event
    destroy(one);
    destroy(event);
}

TEST_CASE("a launch that is captured is a child graph", "[capture]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUstream stream = make_stream();
    RunOrder order;
    const CUgraph inner = make_graph();
    add_note(inner, order, 2, {add_note(inner, order, 1)});
    const CUgraphExec inner_exec = instantiate(inner);
    REQUIRE(begin(stream) == CUDA_SUCCESS);
    CHECK(d().cuGraphLaunch(inner_exec, stream) == CUDA_SUCCESS);
    CHECK(order.launch(stream, 3) == CUDA_SUCCESS);
    const CUgraph graph = end(stream);
    CHECK(types_of(graph) ==
          std::vector<CUgraphNodeType>{CU_GRAPH_NODE_TYPE_GRAPH, CU_GRAPH_NODE_TYPE_HOST});
    destroy(inner_exec);
    destroy(inner);
    const CUgraphExec exec = instantiate(graph);
    run(exec, stream);
    CHECK(order.ran() == std::vector<int>{1, 2, 3});
    // An upload is not captured.
    REQUIRE(begin(stream) == CUDA_SUCCESS);
    CHECK(d().cuGraphUpload(exec, stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalidated(stream);
    destroy(exec);
    destroy(graph);
    destroy(stream);
}

TEST_CASE("memory that is allocated in a capture is the graph's", "[capture]") {
    start(GENERATE_COPY(from_range(all_modes())));
    const CUstream stream = make_stream();
    REQUIRE(begin(stream) == CUDA_SUCCESS);
    CUdeviceptr address = 0;
    std::uint32_t result = 0;
    CHECK(d().cuMemAllocAsync(&address, 64, stream) == CUDA_SUCCESS);
    CHECK(d().cuMemsetD32Async(address, 8, 16, stream) == CUDA_SUCCESS);
    CHECK(d().cuMemcpyDtoHAsync(&result, address + 60, 4, stream) == CUDA_SUCCESS);
    CHECK(d().cuMemFreeAsync(address, stream) == CUDA_SUCCESS);
    const CUgraph graph = end(stream);
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

    REQUIRE(begin(stream) == CUDA_SUCCESS);
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
    CHECK(d().cuGraphDestroyNode(dependencies[0]) == CUDA_ERROR_INVALID_VALUE);
    CHECK(try_instantiate(graph) == CUDA_ERROR_INVALID_VALUE);

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
    destroy(end(stream));

    REQUIRE(begin(stream) == CUDA_SUCCESS);
    CHECK(info(stream, &status, &second) == CUDA_SUCCESS);
    CHECK(second != id);
    CHECK(d().cuStreamQuery(stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    count = 77;
    CHECK(info2(stream, &status, &id, &graph, &dependencies, &count) == CUDA_SUCCESS);
    CHECK((status == CU_STREAM_CAPTURE_STATUS_INVALIDATED && count == 77));
    end_invalidated(stream);
    CHECK(begin(stream, static_cast<CUstreamCaptureMode>(9)) == CUDA_ERROR_INVALID_VALUE);
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
    REQUIRE(begin(CU_STREAM_PER_THREAD) == CUDA_SUCCESS);
    CHECK(order.launch(CU_STREAM_PER_THREAD, 1) == CUDA_SUCCESS);
    const CUgraph graph = end(CU_STREAM_PER_THREAD);
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
    CHECK(try_instantiate(graph) == CUDA_ERROR_INVALID_VALUE);
    CHECK(end(stream) == graph);
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
