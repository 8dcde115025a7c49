// Stream capture: forks and joins, calls that are forbidden during a capture or invalidate it.
#include "capture_tools.hpp"
#include "pool_tools.hpp"

#include <functional>
#include <thread>

using namespace sim_test;

TEST_CASE("streams join a capture by waiting for its events") {
    start(GENERATE_COPY(from_range(all_modes())));
    const TwoStreams s;
    RunOrder order;
    REQUIRE(begin_capture(s.one) == good);
    CHECK(order.launch(s.one, 1) == good);
    CHECK(d.cuEventRecord(s.event, s.one) == good);
    CHECK(order.launch(s.one, 2) == good);
    CHECK(d.cuStreamWaitEvent(s.two, s.event, 0) == good);
    CHECK(is_active(s.two));
    CHECK(order.launch(s.two, 3) == good);
    CHECK(s.order(s.two, s.one) == good);
    CHECK(order.launch(s.one, 4) == good);
    const Graph graph(end_capture(s.one));
    CHECK(status_of(s.two) == not_capturing);
    const Nodes nodes = nodes_of(graph);
    REQUIRE(nodes.size() == 4);
    CHECK(dependencies_of(nodes[1]) == Nodes{nodes[0]});
    CHECK(dependencies_of(nodes[2]) == Nodes{nodes[0]});
    CHECK(dependencies_of(nodes[3]) == Nodes{nodes[1], nodes[2]});
    const Executable exec(graph);
    run(exec, s.one);
    CHECK((order.ran().front() == 1 && order.ran().back() == 4));
}

TEST_CASE("a capture with an unjoined fork fails with UNJOINED and makes no graph") {
    const TwoStreams s;
    RunOrder order;
    REQUIRE(begin_capture(s.one) == good);
    CHECK(s.order(s.one, s.two) == good);
    CHECK(order.launch(s.two, 1) == good);
    CHECK(failed_end(s.one) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    CHECK(status_of(s.one) == not_capturing);
    CHECK(status_of(s.two) == not_capturing);
    CHECK(leaks().size() == 3); // no graph among them
}

TEST_CASE("a capture cannot be mixed with another capture or with earlier work") {
    const TwoStreams s;
    RunOrder order;
    SECTION("merging two captures invalidates both") {
        REQUIRE(begin_capture(s.one) == good);
        REQUIRE(begin_capture(s.two) == good);
        CHECK(s.order(s.one, s.two) == CUDA_ERROR_STREAM_CAPTURE_MERGE);
        end_invalidated(s.one);
        end_invalidated(s.two);
    }
    SECTION("waiting for work before the capture invalidates it") {
        CHECK(order.launch(s.two, 1) == good);
        CHECK(d.cuEventRecord(s.event, s.two) == good);
        check_breaks(s.one, CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                     [&] { return d.cuStreamWaitEvent(s.one, s.event, 0); });
        CHECK(d.cuStreamSynchronize(s.two) == good);
    }
    SECTION("an event of an ended capture cannot be waited for") {
        REQUIRE(begin_capture(s.one) == good);
        CHECK(order.launch(s.one, 1) == good);
        CHECK(d.cuEventRecord(s.event, s.one) == good);
        destroy(end_capture(s.one));
        CHECK(d.cuEventQuery(s.event) == invalid);
        CHECK(d.cuEventSynchronize(s.event) == invalid);
        const auto wait = [&] { return d.cuStreamWaitEvent(s.two, s.event, 0); };
        CHECK(wait() == invalid);
        check_breaks(s.two, invalid, wait);
        // A new record makes the event usable again.
        CHECK(d.cuEventRecord(s.event, s.one) == good);
        CHECK(d.cuEventSynchronize(s.event) == good);
        CHECK(wait() == good);
    }
}

TEST_CASE("capture modes decide which threads may make unsafe calls") {
    const Stream stream(non_blocking);
    const CUcontext context = current();
    // Statuses in a thread with mode `interaction` while this thread captures in mode `capture`.
    const Calls beside([&](CUstreamCaptureMode capture, CUstreamCaptureMode interaction) {
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
    });
    beside[unsupported] = {{global, global}};
    beside[good] = {
        {global, thread_local_}, {global, relaxed}, {thread_local_, global}, {relaxed, global}};

    // The capturing thread itself.
    CHECK(exchange_mode(relaxed) == global);
    REQUIRE(begin_capture(stream, global) == good);
    CHECK(unsafe_call() == good);
    CHECK(exchange_mode(thread_local_) == relaxed);
    CHECK(unsafe_call() == unsupported);
    end_invalidated(stream);
    CHECK(d.cuThreadExchangeStreamCaptureMode(nullptr) == invalid);
    expect_misuse("cuThreadExchangeStreamCaptureMode of a null mode");
    constexpr auto unknown = static_cast<CUstreamCaptureMode>(7); // any number is accepted
    CHECK(exchange_mode(unknown) == thread_local_);
    CHECK(exchange_mode(thread_local_) == unknown);
    CHECK(exchange_mode(global) == thread_local_);
}

// As on an H200 with driver 580.159.04.
TEST_CASE("unsafe calls invalidate a capture unless its mode is relaxed") {
    const Stream stream(non_blocking), other(non_blocking);
    const Graph graph;
    const Executable exec(graph);
    const CUmemPoolProps properties = pool_properties();
    const Pool pool;
    const PoolMemory memory(64);
    REQUIRE(d.cuStreamSynchronize(nullptr) == good);
    CUmemoryPool second_pool = nullptr;
    CUdeviceptr second = 0;
    CUgraphExec second_exec = nullptr;
    const auto first_abi = [&] {
        using Function = CUresult(CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t);
        return entry<Function>("cuGraphInstantiate_v2")(&second_exec, graph, nullptr, nullptr, 0);
    };
#if CUDA_VERSION >= 12000
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
#endif
    const std::vector<std::function<CUresult()>> unsafe = {
        [&] { return try_instantiate(graph); },
        first_abi,
#if CUDA_VERSION >= 12000
        [&] { return d.cuGraphInstantiateWithParams(&second_exec, graph, &parameters); },
#endif
        [&] { return d.cuGraphExecDestroy(exec); },
        [&] { return d.cuMemPoolCreate(&second_pool, &properties); },
        [&] { return d.cuMemPoolTrimTo(pool, 0); },
        [&] { return d.cuMemPoolDestroy(pool); },
        [&] { return d.cuMemAllocAsync(&second, 64, other); },
        [&] { return d.cuMemAllocFromPoolAsync(&second, 64, pool, other); },
        [&] { return d.cuMemFreeAsync(memory, other); },
        [&] { return d.cuMemFreeAsync(0, other); },
        [&] { return d.cuStreamSynchronize(other); },
        [&] { return d.cuStreamQuery(other); },
        [&] { return d.cuCtxSynchronize(); },
    };
    for (const auto &call : unsafe) {
        for (const CUstreamCaptureMode mode : {global, thread_local_}) {
            INFO(&call - unsafe.data());
            check_breaks(stream, unsupported, call, mode);
        }
    }
#if CUDA_VERSION >= 12000
    CHECK(parameters.result_out == CUDA_GRAPH_INSTANTIATE_ERROR);
#endif
    const std::vector<std::function<CUresult()>> safe = {
        [&] { return d.cuMemsetD8Async(memory, 1, 64, other); },
        [&] { return d.cuGraphLaunch(exec, other); },
        [&] { return d.cuGraphUpload(exec, other); },
        [&] { return d.cuGraphDestroy(clone_of(graph)); },
        [&] { return d.cuEventDestroy(make_event()); },
        [&] { return d.cuStreamDestroy(make_stream(non_blocking)); },
    };
    for (const auto &call : safe) {
        INFO(&call - safe.data());
        REQUIRE(begin_capture(stream, global) == good);
        CHECK(call() == good);
        destroy(end_capture(stream));
    }
    REQUIRE(begin_capture(stream, relaxed) == good);
    destroy(instantiate(graph));
    destroy(end_capture(stream));
    CHECK(d.cuStreamSynchronize(other) == good);
}

TEST_CASE("only a relaxed capture can be ended by another thread") {
    const Stream stream;
    CUgraph graph = nullptr;
    for (const auto &[mode, expected] :
         {std::pair{thread_local_, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD}, {relaxed, good}}) {
        REQUIRE(begin_capture(stream, mode) == good);
        CUresult status = CUDA_ERROR_UNKNOWN;
        std::thread([&] { status = d.cuStreamEndCapture(stream, &graph); }).join();
        CHECK(status == expected);
        CHECK(failed_end(stream) == CUDA_ERROR_ILLEGAL_STATE); // it has ended
    }
    destroy(graph);
}

TEST_CASE("cuStreamIsCapturing with an invalid handle is a misuse") {
    CUstreamCaptureStatus status{};
    const CUstream ended = make_stream();
    destroy(ended);
    // Measured elsewhere: a real driver crashes.
    CHECK(d.cuStreamIsCapturing(garbage<CUstream>(), &status) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("is not a stream handle (in cuStreamIsCapturing, call ");
    CHECK(d.cuStreamIsCapturing(ended, &status) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("use of a destroyed stream");
}

TEST_CASE("the legacy stream cannot be used while a blocking stream captures") {
    const Stream blocking, other(non_blocking);
    RunOrder order;
    REQUIRE(begin_capture(blocking) == good);
    // The query is allowed and returns this status.
    CUstreamCaptureStatus status{};
    CHECK(d.cuStreamIsCapturing(nullptr, &status) == implicit);
    CHECK(is_active(blocking));
    CHECK(order.launch(nullptr, 1) == implicit);
    end_invalidated(blocking);
    check_breaks(blocking, implicit, [] { return d.cuStreamSynchronize(nullptr); });
    // As on an H100 with driver 580.159.04.
    const PoolMemory memory(64); // the failed call does not free it
    CUdeviceptr second = 0;
    REQUIRE(d.cuStreamSynchronize(nullptr) == good);
    for (const CUstreamCaptureMode mode : {global, thread_local_, relaxed}) {
        for (const CUdeviceptr freed : {CUdeviceptr(memory), CUdeviceptr{0}}) {
            check_breaks(
                blocking, implicit, [&] { return d.cuMemFreeAsync(freed, nullptr); }, mode);
        }
        check_breaks(
            blocking, implicit, [&] { return d.cuMemAllocAsync(&second, 64, nullptr); }, mode);
    }
    // A capture in a non-blocking stream does not affect it.
    REQUIRE(begin_capture(other) == good);
    CHECK(order.launch(nullptr, 2) == good);
    CHECK(order.launch(other, 3) == good);
    destroy(end_capture(other));
    CHECK(order.ran() == std::vector<int>{2});
    // Synchronizing the context is forbidden all the same.
    check_breaks(other, unsupported, [] { return d.cuCtxSynchronize(); });
}

TEST_CASE("an invalidated capture accepts no work") {
    const TwoStreams s;
    RunOrder order;
    REQUIRE(begin_capture(s.one) == good);
    CHECK(d.cuMemsetD8Async(0, 1, 16, s.one) == invalid);
    CHECK(d.cuStreamQuery(s.one) == unsupported);
    CHECK(order.launch(s.one, 1) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(d.cuEventRecord(s.event, s.one) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    // The capture is checked before the memory.
    CHECK(d.cuMemsetD8Async(0, 1, 16, s.one) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end_invalidated(s.one);
    CHECK(order.launch(s.one, 2) == good);
    CHECK(d.cuStreamSynchronize(s.one) == good);
    CHECK(order.ran() == std::vector<int>{2});
}

TEST_CASE("destroying a stream of a capture invalidates the capture") {
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
    // Destroying a context ends its captures: unsafe calls are allowed again.
    const CUcontext first = current();
    CUcontext context = nullptr;
    REQUIRE(d.cuCtxCreate_v2(&context, 0, 0) == good);
    REQUIRE(begin_capture(make_stream(), global) == good);
    CHECK(d.cuCtxDestroy(context) == good);
    REQUIRE(d.cuCtxSetCurrent(first) == good);
    CHECK(unsafe_call() == good);
    CHECK(leaks().size() == 2); // stream, event
}
