// Stream capture and graphs.
#include "../parameters.hpp"

#include <chrono>
#include <thread>

namespace record::QUESTIONS {

namespace {

void begin(CUstream s, CUstreamCaptureMode mode) {
    ASK(cuStreamBeginCapture, "", s, mode);
}

void status(CUstream s) {
    CUstreamCaptureStatus told{};
    ASK(cuStreamIsCapturing, "", s, &told).note("status", told);
}

void end(CUstream s) {
    CUgraph graph = reinterpret_cast<CUgraph>(1);
    ASK(cuStreamEndCapture, "", s, &graph);
    note("graph", graph == nullptr                        ? "null"
                  : graph == reinterpret_cast<CUgraph>(1) ? "untouched"
                                                          : "set");
    if (graph != nullptr && graph != reinterpret_cast<CUgraph>(1)) {
        std::size_t nodes = 0;
        d.cuGraphGetNodes(graph, nullptr, &nodes);
        note("nodes", nodes);
        d.cuGraphDestroy(graph);
    }
}

CUresult unsafe() {
    CUdeviceptr p = 0;
    const CUresult result = d.cuMemAlloc(&p, 64);
    if (result == CUDA_SUCCESS) { // otherwise the simulator has poisoned the address
        d.cuMemFree(p);
    }
    return result;
}

} // namespace

SECTION("capture", start) {
    CUstream s = MAKE(cuStreamCreate, 0);
    CUstream t = MAKE(cuStreamCreate, 0);
    MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    CUevent e = MAKE(cuEventCreate, CU_EVENT_DISABLE_TIMING);
    CUevent f = MAKE(cuEventCreate, CU_EVENT_DISABLE_TIMING);
    CUdeviceptr p = MAKE(cuMemAlloc, 4096);
    const auto modes = {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                        CU_STREAM_CAPTURE_MODE_RELAXED};
    ask("begin, mode 7", d.cuStreamBeginCapture(s, static_cast<CUstreamCaptureMode>(7)));
    ask("begin on the null stream",
        d.cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED));
    ask("begin on the per-thread stream",
        d.cuStreamBeginCapture(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED));
    end(CU_STREAM_PER_THREAD);
    ask("end without begin", d.cuStreamEndCapture(s, nullptr));
    end(s);
    for (const auto mode : modes) {
        note("-- mode", mode);
        begin(s, mode);
        begin(s, mode);
        status(s);
        ask("cuMemAlloc meanwhile", unsafe());
        status(s);
        end(s);
        begin(s, mode);
        CUresult there = CUDA_SUCCESS;
        std::thread([&] {
            d.cuCtxSetCurrent(context());
            there = unsafe();
        }).join();
        ask("cuMemAlloc in another thread", there);
        status(s);
        end(s);
        begin(s, mode);
        std::thread([&] {
            CUgraph graph = nullptr;
            there = d.cuStreamEndCapture(s, &graph);
        }).join();
        ask("end in another thread", there);
        status(s);
        end(s);
    }
    const auto relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
    const auto probe = [&](const char *what, auto call) {
        begin(s, relaxed);
        d.cuMemsetD8Async(p, 0, 16, s);
        ask(what, call());
        status(s);
        end(s);
    };
    probe("cuStreamQuery of it", [&] { return d.cuStreamQuery(s); });
    probe("cuStreamSynchronize of it", [&] { return d.cuStreamSynchronize(s); });
    probe("cuCtxSynchronize", [&] { return d.cuCtxSynchronize(); });
    probe("cuMemsetD8Async on the null stream",
          [&] { return d.cuMemsetD8Async(p, 0, 16, nullptr); });
    probe("cuMemcpyDtoD, synchronous", [&] { return d.cuMemcpyDtoD(p, p + 64, 16); });
    probe("cuStreamQuery of another", [&] { return d.cuStreamQuery(t); });
    probe("cuStreamQuery of the null stream", [&] { return d.cuStreamQuery(nullptr); });
    probe("cuStreamCreate", [&] {
        CUstream x = nullptr;
        const auto r = d.cuStreamCreate(&x, 0);
        d.cuStreamDestroy(x);
        return r;
    });
    probe("cuEventCreate", [&] {
        CUevent x = nullptr;
        const auto r = d.cuEventCreate(&x, 0);
        d.cuEventDestroy(x);
        return r;
    });
    probe("cuStreamAddCallback",
          [&] { return d.cuStreamAddCallback(s, [](CUstream, CUresult, void *) {}, nullptr, 0); });
    probe("cuLaunchHostFunc", [&] { return d.cuLaunchHostFunc(s, [](void *) {}, nullptr); });
    probe("cuStreamWriteValue32", [&] { return d.cuStreamWriteValue32(s, p, 1, 0); });
    probe("cuMemAllocAsync", [&] {
        CUdeviceptr q = 0;
        return d.cuMemAllocAsync(&q, 64, s);
    });
    probe("cuStreamWaitEvent of a plain event", [&] {
        d.cuEventRecord(f, t);
        return d.cuStreamWaitEvent(s, f, 0);
    });
    probe("cuStreamWaitEvent external",
          [&] { return d.cuStreamWaitEvent(s, f, CU_EVENT_WAIT_EXTERNAL); });
    probe("cuEventRecord", [&] { return d.cuEventRecord(e, s); });
    probe("cuEventQuery of what it recorded", [&] {
        d.cuEventRecord(e, s);
        return d.cuEventQuery(e);
    });
    probe("cuEventSynchronize of what it recorded", [&] {
        d.cuEventRecord(e, s);
        return d.cuEventSynchronize(e);
    });
    probe("cuMemcpyHtoDAsync from pageable", [&] {
        static int word;
        return d.cuMemcpyHtoDAsync(p, &word, 4, s);
    });
    ASK(cuEventQuery, " after the capture", e);
    ASK(cuStreamWaitEvent, " on it after the capture", t, e, 0);

    note("-- fork and join", 0LL);
    begin(s, relaxed);
    d.cuEventRecord(e, s);
    ask("wait on the forked stream", d.cuStreamWaitEvent(t, e, 0));
    status(t);
    d.cuMemsetD8Async(p, 0, 16, t);
    d.cuEventRecord(f, t);
    ask("join", d.cuStreamWaitEvent(s, f, 0));
    end(s);
    begin(s, relaxed);
    d.cuEventRecord(e, s);
    d.cuStreamWaitEvent(t, e, 0);
    d.cuMemsetD8Async(p, 0, 16, t);
    note("unjoined work", 1LL);
    end(s);
    status(t);
    begin(s, relaxed);
    d.cuEventRecord(e, s);
    d.cuStreamWaitEvent(t, e, 0);
    note("unjoined, no work", 1LL);
    end(s);
    begin(s, relaxed);
    d.cuEventRecord(e, s);
    d.cuStreamWaitEvent(t, e, 0);
    note("end on the forked stream", 1LL);
    end(t);
    end(s);
    begin(s, relaxed);
    begin(t, relaxed);
    d.cuEventRecord(e, s);
    ask("wait for another capture's event (merge)", d.cuStreamWaitEvent(t, e, 0));
    status(s);
    status(t);
    end(s);
    end(t);
    begin(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    ASK(cuThreadExchangeStreamCaptureMode, "", &mode).note("the old mode", mode);
    ask("cuMemAlloc in relaxed interaction", unsafe());
    d.cuThreadExchangeStreamCaptureMode(&mode);
    end(s);
    CUgraph graph = MAKE(cuGraphCreate, 0);
    ASK(cuStreamBeginCaptureToGraph, "", s, graph, nullptr, nullptr, 0, relaxed);
    d.cuMemsetD8Async(p, 0, 16, s);
    CUgraph same = nullptr;
    ASK(cuStreamEndCapture, "", s, &same).note("the same graph", same == graph);
    d.cuGraphDestroy(graph);
    begin(s, relaxed);
    ASK(cuStreamDestroy, " of the capturing stream", s);
}

SECTION("graphs", start) {
    CUgraph graph = nullptr, clone = nullptr;
    CUgraphNode a = nullptr, b = nullptr, c = nullptr;
    CUgraphExec exec = nullptr;
    CUstream s = MAKE(cuStreamCreate, 0);
    ASK(cuGraphCreate, "(null)", nullptr, 0);
    ASK(cuGraphCreate, " flags 1", &graph, 1);
    ASK(cuGraphCreate, "", &graph, 0);
    CUgraph other = MAKE(cuGraphCreate, 0);
    ask("instantiate empty", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ask("launch empty", d.cuGraphLaunch(exec, s));
    ask("destroy exec", d.cuGraphExecDestroy(exec));
    ask("add empty a", d.cuGraphAddEmptyNode(&a, graph, nullptr, 0));
    ask("add empty b after a", d.cuGraphAddEmptyNode(&b, graph, &a, 1));
    ask("add empty c", d.cuGraphAddEmptyNode(&c, graph, nullptr, 0));
    CUgraphNode foreign = MAKE(cuGraphAddEmptyNode, other, nullptr, 0);
    CUgraphNode x = nullptr;
    ask("add with a dependency of another graph", d.cuGraphAddEmptyNode(&x, graph, &foreign, 1));
    CUgraphNode twice[2] = {a, a};
    ask("add with the same dependency twice", d.cuGraphAddEmptyNode(&x, graph, twice, 2));
    ask("add with null dependencies, count 1", d.cuGraphAddEmptyNode(&x, graph, nullptr, 1));
    ask("cuGraphAddDependencies b -> c", d.cuGraphAddDependencies_v1(graph, &b, &c, 1));
    ask("the same again", d.cuGraphAddDependencies_v1(graph, &b, &c, 1));
    ask("to itself", d.cuGraphAddDependencies_v1(graph, &a, &a, 1));
    ask("from another graph", d.cuGraphAddDependencies_v1(graph, &foreign, &c, 1));
    ask("remove one that is not there", d.cuGraphRemoveDependencies_v1(graph, &c, &a, 1));
    ask("cycle c -> a", d.cuGraphAddDependencies_v1(graph, &c, &a, 1));
    ask("instantiate with a cycle", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ask("remove it", d.cuGraphRemoveDependencies_v1(graph, &c, &a, 1));
    std::size_t count = 77;
    ASK(cuGraphGetNodes, "(null, count)", graph, nullptr, &count).note("nodes", count);
    CUgraphNode nodes[8] = {};
    count = 8;
    ASK(cuGraphGetNodes, "(8)", graph, nodes, &count).note("count", count);
    note("fourth is null", nodes[3] == nullptr);
    count = 2;
    ASK(cuGraphGetNodes, "(2)", graph, nodes, &count).note("count", count);
    ASK(cuGraphGetRootNodes, "", graph, nullptr, &count).note("roots", count);
    ask("cuGraphGetEdges", d.cuGraphGetEdges_v1(graph, nullptr, nullptr, &count));
    note("edges", count);
    CUgraphNodeType type{};
    ASK(cuGraphNodeGetType, "", a, &type).note("type", type);
    ASK(cuGraphNodeGetType, "(null)", nullptr, &type);
    ASK(cuGraphClone, "", &clone, graph);
    ASK(cuGraphNodeFindInClone, "", &x, a, clone);
    ASK(cuGraphNodeFindInClone, " of another graph", &x, foreign, clone);
    ask("instantiate", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    CUgraphExec refused = nullptr;
    ask("instantiate flags 0x100", d.cuGraphInstantiateWithFlags(&refused, graph, 0x100));
    ask("upload", d.cuGraphUpload(exec, s));
    ask("launch", d.cuGraphLaunch(exec, s));
    ask("launch in the null stream", d.cuGraphLaunch(exec, nullptr));
    ask("launch null", d.cuGraphLaunch(nullptr, s));
    ask("destroy the graph before the exec", d.cuGraphDestroy(graph));
    ask("launch", d.cuGraphLaunch(exec, s));
    ASK(cuStreamSynchronize, "", s);
    ask("destroy exec", d.cuGraphExecDestroy(exec));
    d.cuGraphDestroy(clone);
    d.cuGraphCreate(&graph, 0);

    CUdeviceptr p = MAKE(cuMemAlloc, 4096);
    auto set = fill_of(p, 0, 1, 16);
    ask("add memset", d.cuGraphAddMemsetNode(&a, graph, nullptr, 0, &set, context()));
    set.elementSize = 3;
    ask("add memset, element size 3",
        d.cuGraphAddMemsetNode(&b, graph, nullptr, 0, &set, context()));
    set.elementSize = 1;
    set.dst = 0x1234560;
    ask("add memset of garbage", d.cuGraphAddMemsetNode(&b, graph, nullptr, 0, &set, context()));
    set.dst = p;
    ask("add memset, null context", d.cuGraphAddMemsetNode(&b, graph, nullptr, 0, &set, nullptr));
    CUDA_HOST_NODE_PARAMS host{};
    ask("add host, null function", d.cuGraphAddHostNode(&b, graph, nullptr, 0, &host));
    host.fn = [](void *) {};
    ask("add host", d.cuGraphAddHostNode(&b, graph, nullptr, 0, &host));
    ask("get host params of a memset node", d.cuGraphHostNodeGetParams(a, &host));
    ask("add child", d.cuGraphAddChildGraphNode(&c, graph, nullptr, 0, other));
    CUevent e = MAKE(cuEventCreate, 0);
    ask("add event record", d.cuGraphAddEventRecordNode(&c, graph, &b, 1, e));
    ask("add event wait", d.cuGraphAddEventWaitNode(&c, graph, &b, 1, e));
    ask("add event record(null)", d.cuGraphAddEventRecordNode(&c, graph, nullptr, 0, nullptr));
    ask("instantiate", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ask("launch", d.cuGraphLaunch(exec, s));
    ASK(cuStreamSynchronize, "", s);
    unsigned int enabled = 77;
    ASK(cuGraphNodeGetEnabled, " memset", exec, a, &enabled).note("enabled", enabled);
    ASK(cuGraphNodeSetEnabled, " memset 0", exec, a, 0);
    ASK(cuGraphNodeSetEnabled, " host 0", exec, b, 0);
    ask("destroy node", d.cuGraphDestroyNode(a));
    ask("launch after destroying the graph's node", d.cuGraphLaunch(exec, s));
    d.cuStreamSynchronize(s);
    d.cuGraphExecDestroy(exec);
    d.cuGraphDestroy(graph);

    note("-- memory nodes", 0LL);
    d.cuGraphCreate(&graph, 0);
    CUDA_MEM_ALLOC_NODE_PARAMS alloc{};
    alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    alloc.bytesize = 4096;
    ask("add alloc", d.cuGraphAddMemAllocNode(&a, graph, nullptr, 0, &alloc));
    note("address is set", alloc.dptr != 0);
    ask("clone with it", d.cuGraphClone(&clone, graph));
    d.cuGraphCreate(&clone, 0);
    ask("child with it", d.cuGraphAddChildGraphNode(&b, clone, nullptr, 0, graph));
    ask("instantiate, never freed", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ask("launch", d.cuGraphLaunch(exec, s));
    ask("launch again, not freed", d.cuGraphLaunch(exec, s));
    ASK(cuMemFreeAsync, " of it", alloc.dptr, s);
    ask("launch then", d.cuGraphLaunch(exec, s));
    ASK(cuMemFree, " of it", alloc.dptr);
    d.cuStreamSynchronize(s);
    ask("destroy exec", d.cuGraphExecDestroy(exec));
    ask("auto free: instantiate",
        d.cuGraphInstantiateWithFlags(&exec, graph,
                                      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    ask("launch", d.cuGraphLaunch(exec, s));
    ask("launch again", d.cuGraphLaunch(exec, s));
    d.cuStreamSynchronize(s);
    d.cuGraphExecDestroy(exec);
    ask("instantiate it twice: first", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    CUgraphExec second = nullptr;
    ask("second", d.cuGraphInstantiateWithFlags(&second, graph, 0));
    d.cuGraphExecDestroy(exec);
    ask("add free of what it allocates", d.cuGraphAddMemFreeNode(&b, graph, &a, 1, alloc.dptr));
    ask("add a second free", d.cuGraphAddMemFreeNode(&c, graph, &a, 1, alloc.dptr));
    ask("destroy the alloc node", d.cuGraphDestroyNode(a));
    ask("add a dependency in it", d.cuGraphAddDependencies_v1(graph, &b, &a, 1));
    ask("instantiate", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ask("launch", d.cuGraphLaunch(exec, s));
    ask("launch again", d.cuGraphLaunch(exec, s));
    d.cuStreamSynchronize(s);
    d.cuGraphExecDestroy(exec);
    d.cuGraphDestroy(graph);

    note("-- user objects", 0LL);
    static int destroyed = 0;
    CUuserObject object = nullptr;
    ASK(cuUserObjectCreate, " flags 0", &object, nullptr, [](void *) {}, 1, 0);
    ASK(cuUserObjectCreate, " references 0", &object, nullptr, [](void *) {}, 0, 1);
    ASK(
        cuUserObjectCreate, "", &object, nullptr, [](void *) { ++destroyed; }, 1,
        CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    d.cuGraphCreate(&graph, 0);
    ask("retain 0", d.cuGraphRetainUserObject(graph, object, 0, 0));
    ask("retain flags 2", d.cuGraphRetainUserObject(graph, object, 1, 2));
    ask("retain move", d.cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    d.cuGraphAddEmptyNode(&a, graph, nullptr, 0);
    d.cuGraphInstantiateWithFlags(&exec, graph, 0);
    d.cuGraphDestroy(graph);
    note("destroyed with the graph", destroyed);
    d.cuGraphExecDestroy(exec);
    d.cuCtxSynchronize();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    note("destroyed with the exec", destroyed);

    note("-- conditional nodes", 0LL);
    d.cuGraphCreate(&graph, 0);
    CUgraphConditionalHandle handle = 0;
    ASK(cuGraphConditionalHandleCreate, " flags 2", &handle, graph, context(), 0, 2);
    ASK(cuGraphConditionalHandleCreate, "", &handle, graph, context(), 1,
        CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    params.conditional.handle = handle;
    params.conditional.type = CU_GRAPH_COND_TYPE_IF;
    params.conditional.size = 3;
    params.conditional.ctx = context();
    ask("if with 3 bodies", d.cuGraphAddNode(&a, graph, nullptr, nullptr, 0, &params));
    params.conditional.size = 2;
    ask("if with 2 bodies", d.cuGraphAddNode(&a, graph, nullptr, nullptr, 0, &params));
    ask("the same handle again", d.cuGraphAddNode(&b, graph, nullptr, nullptr, 0, &params));
    note("bodies are given", params.conditional.phGraph_out != nullptr);
    ask("instantiate with empty bodies", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ask("launch", d.cuGraphLaunch(exec, s));
    ASK(cuStreamSynchronize, "", s);
    d.cuGraphExecDestroy(exec);
    d.cuGraphDestroy(graph);
    params.type = static_cast<CUgraphNodeType>(77);
    d.cuGraphCreate(&graph, 0);
    ASK(cuGraphAddNode, " type 77", &a, graph, nullptr, nullptr, 0, &params);
    CUgraphNodeParams reserved{};
    reserved.type = CU_GRAPH_NODE_TYPE_EMPTY;
    reserved.reserved1[0] = 1;
    ASK(cuGraphAddNode, " with reserved bytes", &a, graph, nullptr, nullptr, 0, &reserved);
    d.cuGraphDestroy(graph);
    d.cuMemFree(p);
}

SECTION_ONCE("graph_updates", start) {
    CUdeviceptr p = MAKE(cuMemAlloc, 4096);
    auto set = fill_of(p, 0, 1, 16);
    CUmodule module = MAKE(cuModuleLoadData, ptx);
    CUfunction empty = MAKE(cuModuleGetFunction, module, "empty");
    CUfunction add = MAKE(cuModuleGetFunction, module, "add");
    const auto with = [&](auto build) {
        CUgraph graph = MAKE(cuGraphCreate, 0);
        build(graph);
        return graph;
    };
    const auto compare = [&](const char *what, CUgraph from, CUgraph to) {
        CUgraphExec exec = nullptr;
        ask("instantiate", d.cuGraphInstantiateWithFlags(&exec, from, 0));
        CUgraphExecUpdateResultInfo info{};
        ask(what, d.cuGraphExecUpdate(exec, to, &info)).note("result", info.result);
        note("node is told", info.errorNode != nullptr);
        d.cuGraphExecDestroy(exec);
        d.cuGraphDestroy(from);
        d.cuGraphDestroy(to);
    };
    CUgraphNode n = nullptr, m = nullptr;
    const auto one_set = [&](CUgraph g) {
        d.cuGraphAddMemsetNode(&n, g, nullptr, 0, &set, context());
    };
    const auto two_sets = [&](CUgraph g) {
        d.cuGraphAddMemsetNode(&n, g, nullptr, 0, &set, context());
        d.cuGraphAddMemsetNode(&m, g, &n, 1, &set, context());
    };
    const auto two_apart = [&](CUgraph g) {
        d.cuGraphAddMemsetNode(&n, g, nullptr, 0, &set, context());
        d.cuGraphAddMemsetNode(&m, g, nullptr, 0, &set, context());
    };
    const auto one_empty = [&](CUgraph g) { d.cuGraphAddEmptyNode(&n, g, nullptr, 0); };
    const auto nothing = [&](CUgraph) {};
    auto kernel = launch_of(empty, 1);
    const auto one_kernel = [&](CUgraph g) { d.cuGraphAddKernelNode(&n, g, nullptr, 0, &kernel); };
    compare("the same", with(one_set), with(one_set));
    compare("one node more", with(one_set), with(two_sets));
    compare("one node less", with(two_sets), with(one_set));
    compare("an edge less", with(two_sets), with(two_apart));
    compare("an edge more", with(two_apart), with(two_sets));
    compare("another type", with(one_set), with(one_empty));
    compare("empty to nothing", with(one_empty), with(nothing));
    const CUgraph wider = with([&](CUgraph g) {
        auto w = set;
        w.width = 32;
        d.cuGraphAddMemsetNode(&n, g, nullptr, 0, &w, context());
    });
    compare("another width", with(one_set), wider);
    const CUgraph rows = with([&](CUgraph g) {
        auto w = set;
        w.height = 2;
        w.pitch = 64;
        d.cuGraphAddMemsetNode(&n, g, nullptr, 0, &w, context());
    });
    compare("two rows", with(one_set), rows);
    const CUgraph first = with(one_kernel);
    kernel.gridDimX = 7;
    compare("another grid", first, with(one_kernel));
    const CUgraph before = with(one_kernel);
    kernel.func = add;
    unsigned int count = 1;
    void *parameters[] = {&p, &count};
    kernel.kernelParams = parameters;
    compare("another function", before, with(one_kernel));
    CUgraph graph = with(one_set);
    CUgraphExec exec = MAKE(cuGraphInstantiateWithFlags, graph, 0);
    set.width = 64;
    ASK(cuGraphExecMemsetNodeSetParams, "", exec, n, &set, context());
    set.height = 2;
    set.pitch = 64;
    ASK(cuGraphExecMemsetNodeSetParams, " to two rows", exec, n, &set, context());
    CUDA_HOST_NODE_PARAMS host{.fn = [](void *) {}};
    ASK(cuGraphExecHostNodeSetParams, " of a memset", exec, n, &host);
    d.cuGraphExecDestroy(exec);
    d.cuGraphDestroy(graph);
    d.cuMemFree(p);
}

} // namespace record::QUESTIONS
