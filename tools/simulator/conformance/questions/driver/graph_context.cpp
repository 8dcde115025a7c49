// Graph calls that require a current context although their nodes name one.
#include "../parameters.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace record::QUESTIONS {

namespace {

std::atomic<int> released{0};

// Makes the graph own a user object.
void hold(CUgraph graph) {
    CUuserObject object = nullptr;
    d.cuUserObjectCreate(
        &object, nullptr, [](void *) { ++released; }, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    d.cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
}

// Destructors may run in a driver thread.
int released_soon() {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return released;
}

struct Parts {
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUdeviceptr memory = 0;
    CUevent event = nullptr;
    CUstream stream = nullptr;
};

bool make(Parts &parts) {
    return d.cuLibraryLoadData(&parts.library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0) ==
               0 &&
           d.cuLibraryGetKernel(&parts.kernel, parts.library, "empty") == 0 &&
           d.cuMemAlloc(&parts.memory, 4096) == 0 && d.cuEventCreate(&parts.event, 0) == 0 &&
           d.cuStreamCreate(&parts.stream, 0) == 0;
}

void drop(const Parts &parts) {
    d.cuStreamDestroy(parts.stream);
    d.cuEventDestroy(parts.event);
    d.cuMemFree(parts.memory);
    d.cuLibraryUnload(parts.library);
}

void add_nodes(CUgraph graph, const Parts &parts, CUcontext context) {
    CUgraphNode node = nullptr;
    const CUDA_KERNEL_NODE_PARAMS in_context = launch_of(parts.kernel, context);
    ASK(cuGraphAddKernelNode, " of a kernel in a context", &node, graph, nullptr, 0, &in_context);
    const CUDA_MEMSET_NODE_PARAMS fill = fill_of(parts.memory, 1, 4, 16);
    ASK(cuGraphAddMemsetNode, "", &node, graph, nullptr, 0, &fill, context);
    const auto copy = copy_of<CUDA_MEMCPY3D>(parts.memory + 1024, parts.memory, 64);
    ASK(cuGraphAddMemcpyNode, "", &node, graph, nullptr, 0, &copy, context);
    CUDA_HOST_NODE_PARAMS host{.fn = [](void *) {}};
    ASK(cuGraphAddHostNode, "", &node, graph, nullptr, 0, &host);
    ASK(cuGraphAddEmptyNode, "", &node, graph, nullptr, 0);
    ASK(cuGraphAddEventRecordNode, "", &node, graph, nullptr, 0, parts.event);
    ASK(cuGraphAddEventWaitNode, "", &node, graph, nullptr, 0, parts.event);
}

// The nodes belong to a graph that was built with a current context.
void change_nodes(const Parts &parts, CUcontext context, CUgraphNode kernel_node,
                  CUgraphNode fill_node) {
    const CUDA_KERNEL_NODE_PARAMS launch = launch_of(parts.kernel, context);
    const CUDA_MEMSET_NODE_PARAMS fill = fill_of(parts.memory, 2, 4, 16);
    ASK(cuGraphKernelNodeSetParams, "", kernel_node, &launch);
    ASK(cuGraphMemsetNodeSetParams, "", fill_node, &fill);
}

void change_exec(CUgraphExec exec, const Parts &parts, CUcontext context, CUgraphNode kernel_node,
                 CUgraphNode fill_node) {
    const CUDA_KERNEL_NODE_PARAMS launch = launch_of(parts.kernel, context);
    const CUDA_MEMSET_NODE_PARAMS fill = fill_of(parts.memory, 3, 4, 16);
    ASK(cuGraphExecKernelNodeSetParams, "", exec, kernel_node, &launch);
    ASK(cuGraphExecMemsetNodeSetParams, "", exec, fill_node, &fill, context);
}

} // namespace

SECTION("graphs_without_context") {
    Parts parts;
    if (!start() || !make(parts)) {
        return;
    }
    const CUcontext primary = context();
    const CUDA_KERNEL_NODE_PARAMS launch = launch_of(parts.kernel, primary);
    const CUDA_MEMSET_NODE_PARAMS fill = fill_of(parts.memory, 1, 4, 16);
    CUgraph other = nullptr, clone = nullptr;
    CUgraph graph = MAKE(cuGraphCreate, 0);
    CUgraphNode kernel_node = MAKE(cuGraphAddKernelNode, graph, nullptr, 0, &launch);
    CUgraphNode fill_node = MAKE(cuGraphAddMemsetNode, graph, &kernel_node, 1, &fill, primary);
    CUgraphExec exec = MAKE(cuGraphInstantiateWithFlags, graph, 0);

    d.cuCtxSetCurrent(nullptr);
    ASK(cuGraphCreate, "", &other, 0);
    add_nodes(other, parts, primary);
    change_nodes(parts, primary, kernel_node, fill_node);
    ASK(cuGraphClone, "", &clone, graph);
    change_exec(exec, parts, primary, kernel_node, fill_node);
    CUgraphExecUpdateResultInfo info{};
    ASK(cuGraphExecUpdate, "", exec, graph, &info);
    ASK(cuGraphUpload, "", exec, parts.stream);
    ASK(cuGraphLaunch, "", exec, parts.stream);
    ASK(cuStreamSynchronize, "", parts.stream);
    ASK(cuGraphExecDestroy, "", exec);
    ASK(cuGraphDestroy, "", other);
    CUcontext current = nullptr;
    ASK(cuCtxGetCurrent, "", &current).note("a context became current", current != nullptr);
    // Must be last: this call crashes the process if the node names a function.
    const CUDA_KERNEL_NODE_PARAMS nowhere = launch_of(parts.kernel, nullptr);
    ASK(cuGraphAddKernelNode, " of a kernel in none", &kernel_node, graph, nullptr, 0, &nowhere);

    d.cuCtxSetCurrent(primary);
    d.cuGraphDestroy(clone);
    d.cuGraphDestroy(graph);
    drop(parts);
}

namespace {

// A graph with one event wait node and one event record node.
struct EventNodes {
    CUgraph graph = nullptr;
    CUgraphNode waiting = nullptr, recording = nullptr;
    CUgraphExec exec = nullptr;

    explicit EventNodes(CUevent event) {
        d.cuGraphCreate(&graph, 0);
        d.cuGraphAddEventWaitNode(&waiting, graph, nullptr, 0, event);
        d.cuGraphAddEventRecordNode(&recording, graph, &waiting, 1, event);
    }
    ~EventNodes() {
        ASK(cuGraphExecDestroy, "", exec);
        d.cuGraphDestroy(graph);
    }
    EventNodes(const EventNodes &) = delete;
    EventNodes &operator=(const EventNodes &) = delete;

    void instantiate() { ASK(cuGraphInstantiateWithFlags, "", &exec, graph, 0); }
    void set(CUevent event) const {
        ASK(cuGraphExecEventWaitNodeSetEvent, "", exec, waiting, event);
        ASK(cuGraphExecEventRecordNodeSetEvent, "", exec, recording, event);
    }
    void update(CUevent event) {
        ASK(cuGraphEventWaitNodeSetEvent, "", waiting, event);
        ASK(cuGraphEventRecordNodeSetEvent, "", recording, event);
        CUgraphExecUpdateResultInfo info{};
        ASK(cuGraphExecUpdate, "", exec, graph, &info).note("result", info.result);
    }
    void launch(CUstream stream) const {
        ASK(cuGraphLaunch, "", exec, stream);
        ASK(cuStreamSynchronize, "", stream);
    }
};

struct ContextParts {
    CUcontext context = nullptr;
    CUevent event = nullptr, other_event = nullptr;
    CUstream stream = nullptr;

    explicit ContextParts(CUcontext of) : context(of) {
        d.cuCtxSetCurrent(context);
        d.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
        d.cuEventCreate(&other_event, CU_EVENT_DISABLE_TIMING);
        d.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    }
};

void change_events(const char *title, const ContextParts &made_in, const ContextParts &instantiated,
                   const ContextParts &set_in, const ContextParts &first,
                   const ContextParts &second) {
    note(title, 1);
    d.cuCtxSetCurrent(made_in.context);
    EventNodes nodes(made_in.event);
    d.cuCtxSetCurrent(instantiated.context);
    nodes.instantiate();
    d.cuCtxSetCurrent(set_in.context);
    nodes.set(first.other_event);
    nodes.set(second.event);
    nodes.launch(set_in.stream);
    nodes.update(first.event);
    nodes.update(second.event);
    nodes.launch(set_in.stream);
}

} // namespace

// Whether nodes of an executable graph accept events of other contexts.
SECTION("graph_event_contexts", start) {
    CUcontext created = nullptr;
    ask("cuCtxCreate", d.cuCtxCreate_v2(&created, 0, 0));
    const ContextParts here(context()), there(created);
    change_events("all in one context", here, here, here, here, there);
    change_events("set where the other context is current", here, here, there, here, there);
    change_events("instantiated there, too", here, there, there, here, there);
    change_events("the events' first context is the other one", there, here, here, here, there);
    d.cuCtxSetCurrent(context());
    ask("cuCtxDestroy", d.cuCtxDestroy_v2(created));
}

// Without cuGraphExecDestroy: driver 580 does not return from it (recordings/README.md).
SECTION("graphs_after_reset", start) {
    CUgraph clone = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    CUgraph child = MAKE(cuGraphCreate, 0);
    CUgraph graph = MAKE(cuGraphCreate, 0);
    hold(child);
    ASK(cuGraphAddChildGraphNode, "", &node, graph, nullptr, 0, child);
    ASK(cuGraphDestroy, ", the child", child);
    ASK(cuGraphClone, "", &clone, graph);
    hold(graph);
    hold(clone);
    ask("cuGraphInstantiate", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ASK(cuDevicePrimaryCtxReset, "", 0);
    std::size_t count = 0;
    ASK(cuGraphGetNodes, " then", graph, nullptr, &count).note("nodes", count);
    ASK(cuGraphDestroy, " then", graph);
    note("destructors, the executable graph is there", released_soon());
    ASK(cuGraphDestroy, " then, the clone", clone);
    note("destructors, the clone is gone", released_soon());
}

} // namespace record::QUESTIONS
