// Stream capture: how streams take part in one, what is forbidden meanwhile, and what invalidates
// it.
#include "capture_tools.hpp"

#include <functional>
#include <thread>

using namespace sim_test;

TEST_CASE("streams fork and join by events") {
    start(GENERATE_COPY(from_range(all_modes())));
    TwoStreams s;
    RunOrder order;
    REQUIRE(begin_capture(s.one) == good);
    CHECK(order.launch(s.one, 1) == good);
    CHECK(d.cuEventRecord(s.event, s.one) == good);
    CHECK(order.launch(s.one, 2) == good);
    CHECK(d.cuStreamWaitEvent(s.two, s.event, 0) == good);
    CHECK(is_active(s.two));
    CHECK(order.launch(s.two, 3) == good);
    CHECK(d.cuEventRecord(s.event, s.two) == good);
    CHECK(d.cuStreamWaitEvent(s.one, s.event, 0) == good);
    CHECK(order.launch(s.one, 4) == good);
    const Graph graph(end_capture(s.one));
    CHECK(status_of(s.two) == CU_STREAM_CAPTURE_STATUS_NONE);
    const Nodes nodes = nodes_of(graph);
    REQUIRE(nodes.size() == 4);
    CHECK(dependencies_of(nodes[1]) == Nodes{nodes[0]});
    CHECK(dependencies_of(nodes[2]) == Nodes{nodes[0]});
    CHECK(dependencies_of(nodes[3]) == Nodes{nodes[1], nodes[2]});
    const Executable exec(graph);
    run(exec, s.one);
    CHECK((order.ran().front() == 1 && order.ran().back() == 4));
}

TEST_CASE("work of a fork that is not joined ends in nothing") {
    start();
    TwoStreams s;
    RunOrder order;
    REQUIRE(begin_capture(s.one) == good);
    CHECK(d.cuEventRecord(s.event, s.one) == good);
    CHECK(d.cuStreamWaitEvent(s.two, s.event, 0) == good);
    CHECK(order.launch(s.two, 1) == good);
    CHECK(failed_end(s.one) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    CHECK(status_of(s.one) == CU_STREAM_CAPTURE_STATUS_NONE);
    CHECK(status_of(s.two) == CU_STREAM_CAPTURE_STATUS_NONE);
    CHECK(leaks().size() == 3); // no graph among them
}

TEST_CASE("captures of their own do not meet") {
    start();
    TwoStreams s;
    RunOrder order;
    SECTION("a merge") {
        REQUIRE(begin_capture(s.one) == good);
        REQUIRE(begin_capture(s.two) == good);
        CHECK(d.cuEventRecord(s.event, s.one) == good);
        CHECK(d.cuStreamWaitEvent(s.two, s.event, 0) == CUDA_ERROR_STREAM_CAPTURE_MERGE);
        end_invalidated(s.one);
        end_invalidated(s.two);
    }
    SECTION("a wait for work of before") {
        CHECK(order.launch(s.two, 1) == good);
        CHECK(d.cuEventRecord(s.event, s.two) == good);
        REQUIRE(begin_capture(s.one) == good);
        CHECK(d.cuStreamWaitEvent(s.one, s.event, 0) == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        end_invalidated(s.one);
        CHECK(d.cuStreamSynchronize(s.two) == good);
    }
    SECTION("an event of a capture that is over") {
        REQUIRE(begin_capture(s.one) == good);
        CHECK(order.launch(s.one, 1) == good);
        CHECK(d.cuEventRecord(s.event, s.one) == good);
        destroy(end_capture(s.one));
        CHECK(d.cuEventQuery(s.event) == invalid);
        CHECK(d.cuEventSynchronize(s.event) == invalid);
        CHECK(d.cuStreamWaitEvent(s.two, s.event, 0) == invalid);
        REQUIRE(begin_capture(s.two) == good);
        CHECK(d.cuStreamWaitEvent(s.two, s.event, 0) == invalid);
        end_invalidated(s.two);
        // Recorded anew, it is as any other.
        CHECK(d.cuEventRecord(s.event, s.one) == good);
        CHECK(d.cuEventSynchronize(s.event) == good);
        CHECK(d.cuStreamWaitEvent(s.two, s.event, 0) == good);
    }
}

TEST_CASE("the modes decide whose unsafe calls are refused") {
    start();
    const Stream stream(non_blocking);
    const CUcontext context = current();
    // What another thread, in its mode, is told while this one captures in its own.
    const auto answer = [&](CUstreamCaptureMode capture, CUstreamCaptureMode interaction) {
        REQUIRE(begin_capture(stream, capture) == good);
        CUresult status = CUDA_ERROR_UNKNOWN;
        std::thread([&] {
            d.cuCtxSetCurrent(context);
            CUstreamCaptureMode mode = interaction;
            d.cuThreadExchangeStreamCaptureMode(&mode);
            CUdeviceptr address = 0;
            status = d.cuMemAlloc(&address, 64);
            if (status == good) {
                d.cuMemFree(address);
            }
        }).join();
        if (status == good) {
            destroy(end_capture(stream));
        } else {
            end_invalidated(stream);
        }
        return status;
    };
    constexpr CUresult unsupported = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    CHECK(answer(global, global) == unsupported);
    CHECK(answer(global, thread_local_) == good);
    CHECK(answer(global, relaxed) == good);
    CHECK(answer(thread_local_, global) == good);
    CHECK(answer(relaxed, global) == good);

    // And the thread that captures.
    CUstreamCaptureMode mode = relaxed;
    CHECK(got(d.cuThreadExchangeStreamCaptureMode(&mode), mode) == global);
    REQUIRE(begin_capture(stream, global) == good);
    CHECK(unsafe_call() == good);
    mode = thread_local_;
    CHECK(got(d.cuThreadExchangeStreamCaptureMode(&mode), mode) == relaxed);
    CHECK(unsafe_call() == unsupported);
    end_invalidated(stream);
    CHECK(d.cuThreadExchangeStreamCaptureMode(nullptr) == invalid);
    expect_misuse("cuThreadExchangeStreamCaptureMode of a null mode");
    mode = static_cast<CUstreamCaptureMode>(7); // no number is refused
    CHECK(got(d.cuThreadExchangeStreamCaptureMode(&mode), mode) == thread_local_);
    mode = thread_local_;
    CHECK(static_cast<int>(got(d.cuThreadExchangeStreamCaptureMode(&mode), mode)) == 7);
    mode = global;
    CHECK(got(d.cuThreadExchangeStreamCaptureMode(&mode), mode) == thread_local_);
}

// Measured: recordings/h200-580.159.04-further.txt, section captures.
TEST_CASE("which calls are unsafe beside a capture") {
    start();
    const Stream stream(non_blocking);
    const Stream other(non_blocking);
    const Graph graph;
    const CUgraphExec exec = instantiate(graph);
    CUmemPoolProps properties{.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                              .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemoryPool pool = nullptr, second_pool = nullptr;
    REQUIRE(d.cuMemPoolCreate(&pool, &properties) == good);
    CUdeviceptr memory = 0, second = 0;
    REQUIRE(d.cuMemAllocAsync(&memory, 64, other) == good);
    REQUIRE(d.cuStreamSynchronize(other) == good);
    const std::vector<std::function<CUresult()>> unsafe = {
        [&] { return d.cuGraphExecDestroy(exec); },
        [&] { return d.cuMemPoolCreate(&second_pool, &properties); },
        [&] { return d.cuMemPoolTrimTo(pool, 0); },
        [&] { return d.cuMemPoolDestroy(pool); },
        [&] { return d.cuMemAllocAsync(&second, 64, other); },
        [&] { return d.cuMemAllocFromPoolAsync(&second, 64, pool, other); },
        [&] { return d.cuMemFreeAsync(memory, other); },
        [&] { return d.cuStreamSynchronize(other); },
        [&] { return d.cuStreamQuery(other); },
        [&] { return d.cuCtxSynchronize(); },
    };
    for (const auto &call : unsafe) {
        for (const CUstreamCaptureMode mode : {global, thread_local_}) {
            INFO(&call - unsafe.data());
            REQUIRE(begin_capture(stream, mode) == good);
            CHECK(call() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
            end_invalidated(stream);
        }
    }
    const std::vector<std::function<CUresult()>> safe = {
        [&] { return d.cuMemsetD8Async(memory, 1, 64, other); },
        [&] { return d.cuGraphLaunch(exec, other); },
        [&] { return d.cuGraphUpload(exec, other); },
        [&] {
            CUgraph clone = nullptr;
            const CUresult status = d.cuGraphClone(&clone, graph);
            return status == good ? d.cuGraphDestroy(clone) : status;
        },
        [&] {
            CUevent event = nullptr;
            const CUresult status = d.cuEventCreate(&event, 0);
            return status == good ? d.cuEventDestroy(event) : status;
        },
        [&] {
            CUstream made = nullptr;
            const CUresult status = d.cuStreamCreate(&made, CU_STREAM_NON_BLOCKING);
            return status == good ? d.cuStreamDestroy(made) : status;
        },
    };
    for (const auto &call : safe) {
        INFO(&call - safe.data());
        REQUIRE(begin_capture(stream, global) == good);
        CHECK(call() == good);
        destroy(end_capture(stream));
    }
    CHECK(d.cuStreamSynchronize(other) == good);
    CHECK(d.cuMemFreeAsync(memory, other) == good);
    CHECK(d.cuStreamSynchronize(other) == good);
    CHECK(d.cuMemPoolDestroy(pool) == good);
    destroy(exec);
}

TEST_CASE("instantiation is an unsafe call") {
    start();
    const Stream stream(non_blocking);
    const Graph graph;
    CUgraphExec exec = nullptr;
    const auto first_abi = [&] {
        using Function = CUresult(CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t);
        return entry<Function>("cuGraphInstantiate_v2")(&exec, graph, nullptr, nullptr, 0);
    };
    for (const CUstreamCaptureMode mode : {global, thread_local_}) {
        REQUIRE(begin_capture(stream, mode) == good);
        CHECK(try_instantiate(graph) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        end_invalidated(stream);
        REQUIRE(begin_capture(stream, mode) == good);
        CHECK(first_abi() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        end_invalidated(stream);
#if CUDA_VERSION >= 12000
        CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
        REQUIRE(begin_capture(stream, mode) == good);
        CHECK(d.cuGraphInstantiateWithParams(&exec, graph, &parameters) ==
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_ERROR);
        end_invalidated(stream);
#endif
    }
    REQUIRE(begin_capture(stream, relaxed) == good);
    destroy(instantiate(graph));
    destroy(end_capture(stream));
}

TEST_CASE("a capture ends in the thread that began it, unless it is relaxed") {
    start();
    const Stream stream;
    CUgraph graph = nullptr;
    CUresult status = good;
    const auto end_elsewhere = [&] {
        std::thread([&] { status = d.cuStreamEndCapture(stream, &graph); }).join();
    };
    REQUIRE(begin_capture(stream, thread_local_) == good);
    end_elsewhere();
    CHECK(status == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    CHECK(failed_end(stream) == CUDA_ERROR_ILLEGAL_STATE); // it has ended
    REQUIRE(begin_capture(stream, relaxed) == good);
    end_elsewhere();
    CHECK(status == good);
    destroy(graph);
}

TEST_CASE("to ask for the capture of what is no stream is a misuse") {
    start();
    CUstreamCaptureStatus status{};
    // Measured elsewhere: a real driver crashes.
    CHECK(d.cuStreamIsCapturing(garbage<CUstream>(), &status) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("is not a stream handle (in cuStreamIsCapturing, call ");
    const CUstream ended = make_stream();
    destroy(ended);
    CHECK(d.cuStreamIsCapturing(ended, &status) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("use of a destroyed stream");
}

TEST_CASE("the legacy stream cannot be used while a blocking stream captures") {
    start();
    const Stream blocking, other(non_blocking);
    RunOrder order;
    REQUIRE(begin_capture(blocking) == good);
    // To ask is allowed, and answered so.
    CUstreamCaptureStatus status{};
    CHECK(d.cuStreamIsCapturing(nullptr, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    CHECK(is_active(blocking));
    CHECK(order.launch(nullptr, 1) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    end_invalidated(blocking);
    REQUIRE(begin_capture(blocking) == good);
    CHECK(d.cuStreamSynchronize(nullptr) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    end_invalidated(blocking);
    // A non-blocking one does not mind.
    REQUIRE(begin_capture(other) == good);
    CHECK(order.launch(nullptr, 2) == good);
    CHECK(order.launch(other, 3) == good);
    destroy(end_capture(other));
    CHECK(order.ran() == std::vector<int>{2});
    // The whole context is more than the legacy stream.
    REQUIRE(begin_capture(other) == good);
    CHECK(d.cuCtxSynchronize() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end_invalidated(other);
}

TEST_CASE("an invalidated capture takes no work") {
    start();
    TwoStreams s;
    RunOrder order;
    REQUIRE(begin_capture(s.one) == good);
    CHECK(d.cuStreamQuery(s.one) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(order.launch(s.one, 1) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(d.cuEventRecord(s.event, s.one) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end_invalidated(s.one);
    CHECK(order.launch(s.one, 2) == good);
    CHECK(d.cuStreamSynchronize(s.one) == good);
    CHECK(order.ran() == std::vector<int>{2});
}

TEST_CASE("streams that die take their capture along") {
    start();
    const CUstream two = make_stream(non_blocking);
    const Stream one(non_blocking);
    const Event event;
    RunOrder order;
    REQUIRE(begin_capture(one) == good);
    CHECK(d.cuEventRecord(event, one) == good);
    CHECK(d.cuStreamWaitEvent(two, event, 0) == good);
    CHECK(order.launch(two, 1) == good);
    destroy(two);
    end_invalidated(one);
    // A context that is destroyed in the middle leaves nothing that forbids calls.
    CUcontext first = current(), context = nullptr, popped = nullptr;
#if CUDA_VERSION >= 13000
    REQUIRE(d.cuCtxCreate(&context, nullptr, 0, 0) == good);
#else
    REQUIRE(d.cuCtxCreate(&context, 0, 0) == good);
#endif
    const CUstream lost = make_stream();
    REQUIRE(begin_capture(lost, global) == good);
    CHECK(d.cuCtxDestroy(context) == good);
    static_cast<void>(popped);
    REQUIRE(d.cuCtxSetCurrent(first) == good);
    CHECK(unsafe_call() == good);
    CHECK(leaks().size() == 2); // stream, event
}
