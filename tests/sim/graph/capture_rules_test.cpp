// Stream capture: forks and joins, calls that are forbidden during a capture or invalidate it.
#include "capture_tools.hpp"
#include "images.hpp"
#include "pool_tools.hpp"

#include <functional>
#include <thread>

using namespace sim_test;

TEST_CASE("streams join a capture by waiting for its events") {
    start(GENERATE_COPY(from_range(all_modes())));
    const TwoStreams s;
    RunOrder order;
    require_ok(begin_capture(s.one));
    ok(order.launch(s.one, 1));
    ok(driver().cuEventRecord(s.event, s.one));
    ok(order.launch(s.one, 2));
    ok(driver().cuStreamWaitEvent(s.two, s.event, 0));
    CHECK(is_active(s.two));
    ok(order.launch(s.two, 3));
    ok(s.order(s.two, s.one));
    ok(order.launch(s.one, 4));
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

TEST_CASE("a new record makes an event of an ended capture usable again") {
    const TwoStreams s;
    require_ok(begin_capture(s.one));
    ok(driver().cuEventRecord(s.event, s.one));
    destroy(end_capture(s.one));
    CHECK(driver().cuEventSynchronize(s.event) == invalid);
    check_breaks(s.two, invalid, [&] { return driver().cuStreamWaitEvent(s.two, s.event, 0); });
    ok(driver().cuEventRecord(s.event, s.one));
    ok(driver().cuEventSynchronize(s.event));
    ok(driver().cuStreamWaitEvent(s.two, s.event, 0));
}

TEST_CASE("a thread in another mode may make unsafe calls beside a global capture") {
    const Stream stream(non_blocking);
    for (const CUstreamCaptureMode interaction : {thread_local_, relaxed}) {
        require_ok(begin_capture(stream, global));
        std::thread([interaction, context = current()] {
            driver().cuCtxSetCurrent(context);
            exchange_mode(interaction);
            ok(try_allocate());
        }).join();
        destroy(end_capture(stream));
    }
    // The capturing thread itself.
    exchange_mode(relaxed);
    require_ok(begin_capture(stream, global));
    CHECK(exchange_mode(thread_local_) == relaxed);
    CHECK(try_allocate() == unsupported);
    end_invalidated(stream);
    CHECK(reported(driver().cuThreadExchangeStreamCaptureMode(nullptr), "of a null mode") ==
          invalid);
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
    require_ok(driver().cuStreamSynchronize(nullptr));
    CUmemoryPool second_pool = nullptr;
    CUdeviceptr second = 0;
    CUgraphExec second_exec = nullptr;
    constexpr auto threshold_attribute = CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    cuuint64_t threshold = 0;
    CUmodule module = nullptr;
#if CUDA_VERSION >= 12000
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
#endif
    const std::vector<std::function<CUresult()>> unsafe = {
        [&] { return try_instantiate(graph); },
        [&] { return driver().cuGraphInstantiate_v2(&second_exec, graph, nullptr, nullptr, 0); },
#if CUDA_VERSION >= 12000
        [&] { return driver().cuGraphInstantiateWithParams(&second_exec, graph, &parameters); },
#endif
        [&] { return driver().cuGraphExecDestroy(exec); },
        [&] { return driver().cuMemPoolCreate(&second_pool, &properties); },
        [&] { return driver().cuMemPoolTrimTo(pool, 0); },
        [&] { return driver().cuMemPoolDestroy(pool); },
        [&] { return driver().cuMemAllocAsync(&second, 64, other); },
        [&] { return driver().cuMemAllocFromPoolAsync(&second, 64, pool, other); },
        [&] { return driver().cuMemFreeAsync(memory, other); },
        [&] { return driver().cuMemFreeAsync(0, other); },
        [&] { return driver().cuStreamSynchronize(other); },
        [&] { return driver().cuStreamQuery(other); },
        [&] { return driver().cuMemPoolGetAttribute(pool, threshold_attribute, &threshold); },
        [&] { return driver().cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024); },
        [&] { return driver().cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_NONE); },
        [&] { return driver().cuTexObjectDestroy(0); },
        [&] { return driver().cuMemFreeHost(nullptr); },
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
        [&] { return driver().cuMemsetD8Async(memory, 1, 64, other); },
        [&] { return driver().cuGraphLaunch(exec, other); },
        [&] { return driver().cuGraphUpload(exec, other); },
        [&] { return driver().cuGraphDestroy(clone_of(graph)); },
        [&] { return driver().cuEventDestroy(make_event()); },
        [&] { return driver().cuStreamDestroy(make_stream(non_blocking)); },
        [&] { return driver().cuModuleLoadData(&module, vector_image); },
    };
    for (const auto &call : safe) {
        INFO(&call - safe.data());
        require_ok(begin_capture(stream, global));
        ok(call());
        destroy(end_capture(stream));
    }
    ok(driver().cuModuleUnload(module));
    require_ok(begin_capture(stream, relaxed));
    destroy(instantiate(graph));
    destroy(end_capture(stream));
    ok(driver().cuStreamSynchronize(other));
}

// As on an H200 with driver 580.159.04.
TEST_CASE("a capturing stream permits no copies between contexts and few queries") {
    const Stream stream(non_blocking);
    const PoolMemory memory(64);
    const CUcontext context = current();
    unsigned int flags = 0;
    const std::vector<std::function<CUresult()>> calls = {
        [&] { return driver().cuMemcpyPeerAsync(memory, context, memory, context, 64, stream); },
        [&] { return driver().cuStreamGetFlags(stream, &flags); },
#if CUDA_VERSION >= 12000
        [&] {
            unsigned long long id = 0;
            return driver().cuStreamGetId(stream, &id);
        },
#endif
    };
    for (const auto &call : calls) {
        INFO(&call - calls.data());
        for (const CUstreamCaptureMode mode : {global, thread_local_, relaxed}) {
            check_breaks(stream, unsupported, call, mode);
        }
    }
    int priority = 0;
    require_ok(begin_capture(stream));
    ok(driver().cuStreamGetPriority(stream, &priority));
    destroy(end_capture(stream));
}

#ifndef _WIN32
// As on an H200 with driver 580.159.04.
TEST_CASE("memory of a pool for other processes cannot be allocated in a capture") {
    const Stream stream(non_blocking);
    CUmemPoolProps properties = pool_properties();
    properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    const auto pool = got<CUmemoryPool>(&Driver::cuMemPoolCreate, out, &properties);
    CUdeviceptr made = 0;
    require_ok(begin_capture(stream));
    CHECK(driver().cuMemAllocFromPoolAsync(&made, 64, pool, stream) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(is_active(stream));
    destroy(end_capture(stream));
    ok(driver().cuMemPoolDestroy(pool));
}
#endif

TEST_CASE("cuStreamIsCapturing with an invalid handle is a misuse") {
    CUstreamCaptureStatus status{};
    // Measured elsewhere: a real driver crashes.
    CHECK(driver().cuStreamIsCapturing(garbage<CUstream>(), &status) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("is not a stream handle (in cuStreamIsCapturing, call ");
}

TEST_CASE("the legacy stream cannot be used while a blocking stream captures") {
    const Stream blocking, other(non_blocking);
    RunOrder order;
    require_ok(begin_capture(blocking));
    // The query is allowed and returns this status.
    CUstreamCaptureStatus status{};
    CHECK(driver().cuStreamIsCapturing(nullptr, &status) == implicit);
    CHECK(is_active(blocking));
    CHECK(order.launch(nullptr, 1) == implicit);
    end_invalidated(blocking);
    const PoolMemory memory(64); // the failed call does not free it
    CUdeviceptr second = 0;
    require_ok(driver().cuStreamSynchronize(nullptr));
    for (const CUstreamCaptureMode mode : {global, thread_local_, relaxed}) {
        for (const CUdeviceptr freed : {CUdeviceptr(memory), CUdeviceptr{0}}) {
            check_breaks(
                blocking, implicit, [&] { return driver().cuMemFreeAsync(freed, nullptr); }, mode);
        }
        check_breaks(
            blocking, implicit, [&] { return driver().cuMemAllocAsync(&second, 64, nullptr); },
            mode);
    }
    // A capture in a non-blocking stream does not affect it.
    require_ok(begin_capture(other));
    ok(order.launch(nullptr, 2));
    ok(order.launch(other, 3));
    destroy(end_capture(other));
    CHECK(order.ran() == std::vector<int>{2});
    // Synchronizing the context is forbidden all the same.
    check_breaks(other, unsupported, [] { return driver().cuCtxSynchronize(); });
}

TEST_CASE("an invalidated capture accepts no work") {
    const TwoStreams s;
    RunOrder order;
    require_ok(begin_capture(s.one));
    CHECK(driver().cuMemsetD8Async(0, 1, 16, s.one) == invalid);
    CHECK(driver().cuStreamQuery(s.one) == unsupported);
    CHECK(order.launch(s.one, 1) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(driver().cuEventRecord(s.event, s.one) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    // The capture is checked before the memory.
    CHECK(driver().cuMemsetD8Async(0, 1, 16, s.one) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end_invalidated(s.one);
    ok(order.launch(s.one, 2));
    ok(driver().cuStreamSynchronize(s.one));
    CHECK(order.ran() == std::vector<int>{2});
}

// As on an H200 with driver 580.159.04.
TEST_CASE("a stream that joined a capture may be destroyed before its end") {
    start(GENERATE_COPY(from_range(all_modes())));
    enum Work { before_the_join, none, not_joined, after_the_join };
    const auto [work, nodes] = GENERATE(table<Work, std::size_t>(
        {{before_the_join, 2}, {none, 1}, {not_joined, 0}, {after_the_join, 0}}));
    const CUstreamCaptureMode mode = GENERATE(global, thread_local_, relaxed);
    INFO(int(work) << ", mode " << int(mode));
    const Stream one(non_blocking);
    CUstream two = make_stream(non_blocking);
    const Event fork(CU_EVENT_DISABLE_TIMING), join(CU_EVENT_DISABLE_TIMING);
    RunOrder order;
    require_ok(begin_capture(one, mode));
    ok(order.launch(one, 1));
    ok(driver().cuEventRecord(fork, one));
    ok(driver().cuStreamWaitEvent(two, fork, 0));
    if (work != none) {
        ok(order.launch(two, 2));
    }
    ok(driver().cuEventRecord(join, two));
    if (work != not_joined) {
        ok(driver().cuStreamWaitEvent(one, join, 0));
    }
    if (work == after_the_join) {
        ok(order.launch(two, 3));
    }
    destroy(two);
    CHECK(is_active(one));
    if (nodes == 0) {
        CHECK(failed_end(one) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    } else {
        const Graph graph(end_capture(one));
        CHECK(nodes_of(graph).size() == nodes);
        const Executable exec(graph);
        run(exec, one);
        CHECK(order.ran().size() == nodes);
    }
    ok(driver().cuCtxSynchronize());
}

TEST_CASE("a stream that joined a destroyed stream's work carries it to the end of the capture") {
    const TwoStreams s;
    const CUstream between = make_stream(non_blocking);
    RunOrder order;
    require_ok(begin_capture(s.one));
    ok(order.launch(s.one, 1));
    ok(s.order(s.one, between));
    ok(order.launch(between, 2));
    ok(driver().cuEventRecord(s.event, between));
    ok(driver().cuStreamWaitEvent(s.one, s.event, 0));
    ok(driver().cuStreamWaitEvent(s.two, s.event, 0));
    destroy(between);
    ok(order.launch(s.two, 3));
    ok(s.order(s.two, s.one));
    const Graph graph(end_capture(s.one));
    CHECK(nodes_of(graph).size() == 3);
}

#if CUDA_VERSION >= 12030
// As on an H200 with driver 580.159.04.
TEST_CASE("the end of a capture needs no output") {
    const Stream stream(non_blocking);
    const Graph graph;
    RunOrder order;
    require_ok(driver().cuStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, relaxed));
    ok(order.launch(stream, 1));
    ok(driver().cuStreamEndCapture(stream, nullptr));
    CHECK(nodes_of(graph).size() == 1);
    CHECK(status_of(stream) == not_capturing);
    // Without one, the graph of another capture can only be destroyed by its handle from before.
    require_ok(begin_capture(stream));
    const CUgraph made = captured_graph(stream);
    ok(driver().cuStreamEndCapture(stream, nullptr));
    CHECK(status_of(stream) == not_capturing);
    destroy(made);
}
#endif

// As on two H200 with driver 580.159.04.
TEST_CASE("freeing null is unsafe during a capture, synchronizing another device is not") {
    start("devices=2");
    const CUcontext first = current();
    const Stream stream(non_blocking);
    const auto elsewhere = [&](CUcontext context, auto call) {
        CUresult status{};
        std::thread([&] {
            require_ok(driver().cuCtxSetCurrent(context));
            status = call();
        }).join();
        return status;
    };
    const CUcontext second = got<CUcontext>(&Driver::cuDevicePrimaryCtxRetain, out, 1);
    for (const CUcontext context : {first, second}) {
        check_breaks(
            stream, unsupported,
            [&] { return elsewhere(context, [] { return driver().cuMemFree(0); }); }, global);
    }
    require_ok(begin_capture(stream, global));
    ok(elsewhere(second, [] { return driver().cuCtxSynchronize(); }));
    CHECK(is_active(stream));
    destroy(end_capture(stream));
    check_breaks(
        stream, unsupported,
        [&] { return elsewhere(first, [] { return driver().cuCtxSynchronize(); }); }, global);
    ok(driver().cuDevicePrimaryCtxRelease(1));
}

TEST_CASE("destroying the stream that began a capture ends it") {
    const Stream one(non_blocking);
    const Event event;
    const CUstream origin = make_stream(non_blocking);
    require_ok(begin_capture(origin));
    ok(driver().cuEventRecord(event, origin));
    ok(driver().cuStreamWaitEvent(one, event, 0));
    destroy(origin);
    CHECK(status_of(one) == not_capturing);
    // Destroying a context ends its captures: unsafe calls are allowed again.
    const CUcontext first = current();
    const CUcontext context = make_context();
    require_ok(begin_capture(make_stream(), global));
    destroy(context);
    require_ok(driver().cuCtxSetCurrent(first));
    ok(try_allocate());
    expect_ended({"capture of stream", "capture of stream"});
    CHECK(leaks().size() == 2); // stream, event
}
