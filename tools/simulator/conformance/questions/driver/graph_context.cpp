// Graph calls that require a current context although their nodes name one.
#include "../../record.hpp"

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

CUDA_KERNEL_NODE_PARAMS kernel_in(const Parts &parts, CUcontext context) {
    CUDA_KERNEL_NODE_PARAMS launch{};
    launch.gridDimX = launch.gridDimY = launch.gridDimZ = 1;
    launch.blockDimX = launch.blockDimY = launch.blockDimZ = 1;
    launch.kern = parts.kernel;
    launch.ctx = context;
    return launch;
}

CUDA_MEMSET_NODE_PARAMS fill_of(CUdeviceptr memory, unsigned int value) {
    CUDA_MEMSET_NODE_PARAMS fill{};
    fill.dst = memory;
    fill.value = value;
    fill.elementSize = 4;
    fill.width = 16;
    fill.height = 1;
    return fill;
}

CUDA_MEMCPY3D copy_of(CUdeviceptr memory) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = memory;
    copy.dstDevice = memory + 1024;
    copy.WidthInBytes = 64;
    copy.Height = copy.Depth = 1;
    return copy;
}

void add_nodes(CUgraph graph, const Parts &parts, CUcontext context) {
    CUgraphNode node = nullptr;
    const CUDA_KERNEL_NODE_PARAMS in_context = kernel_in(parts, context);
    ask("cuGraphAddKernelNode of a kernel in a context",
        d.cuGraphAddKernelNode(&node, graph, nullptr, 0, &in_context));
    const CUDA_MEMSET_NODE_PARAMS fill = fill_of(parts.memory, 1);
    ask("cuGraphAddMemsetNode", d.cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, context));
    const CUDA_MEMCPY3D copy = copy_of(parts.memory);
    ask("cuGraphAddMemcpyNode", d.cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context));
    CUDA_HOST_NODE_PARAMS host{};
    host.fn = [](void *) {};
    ask("cuGraphAddHostNode", d.cuGraphAddHostNode(&node, graph, nullptr, 0, &host));
    ask("cuGraphAddEmptyNode", d.cuGraphAddEmptyNode(&node, graph, nullptr, 0));
    ask("cuGraphAddEventRecordNode",
        d.cuGraphAddEventRecordNode(&node, graph, nullptr, 0, parts.event));
    ask("cuGraphAddEventWaitNode",
        d.cuGraphAddEventWaitNode(&node, graph, nullptr, 0, parts.event));
}

// The nodes belong to a graph that was built with a current context.
void change_nodes(const Parts &parts, CUcontext context, CUgraphNode kernel_node,
                  CUgraphNode fill_node) {
    const CUDA_KERNEL_NODE_PARAMS launch = kernel_in(parts, context);
    const CUDA_MEMSET_NODE_PARAMS fill = fill_of(parts.memory, 2);
    ask("cuGraphKernelNodeSetParams", d.cuGraphKernelNodeSetParams(kernel_node, &launch));
    ask("cuGraphMemsetNodeSetParams", d.cuGraphMemsetNodeSetParams(fill_node, &fill));
}

void change_exec(CUgraphExec exec, const Parts &parts, CUcontext context, CUgraphNode kernel_node,
                 CUgraphNode fill_node) {
    const CUDA_KERNEL_NODE_PARAMS launch = kernel_in(parts, context);
    const CUDA_MEMSET_NODE_PARAMS fill = fill_of(parts.memory, 3);
    ask("cuGraphExecKernelNodeSetParams",
        d.cuGraphExecKernelNodeSetParams(exec, kernel_node, &launch));
    ask("cuGraphExecMemsetNodeSetParams",
        d.cuGraphExecMemsetNodeSetParams(exec, fill_node, &fill, context));
}

} // namespace

void graphs_without_context() {
    Parts parts;
    if (!start() || !make(parts)) {
        return;
    }
    const CUcontext primary = context();
    const CUDA_KERNEL_NODE_PARAMS launch = kernel_in(parts, primary);
    const CUDA_MEMSET_NODE_PARAMS fill = fill_of(parts.memory, 1);
    CUgraph graph = nullptr, other = nullptr, clone = nullptr;
    CUgraphNode kernel_node = nullptr, fill_node = nullptr;
    CUgraphExec exec = nullptr;
    d.cuGraphCreate(&graph, 0);
    d.cuGraphAddKernelNode(&kernel_node, graph, nullptr, 0, &launch);
    d.cuGraphAddMemsetNode(&fill_node, graph, &kernel_node, 1, &fill, primary);
    d.cuGraphInstantiateWithFlags(&exec, graph, 0);

    d.cuCtxSetCurrent(nullptr);
    ask("cuGraphCreate", d.cuGraphCreate(&other, 0));
    add_nodes(other, parts, primary);
    change_nodes(parts, primary, kernel_node, fill_node);
    ask("cuGraphClone", d.cuGraphClone(&clone, graph));
    change_exec(exec, parts, primary, kernel_node, fill_node);
    CUgraphExecUpdateResultInfo info{};
    ask("cuGraphExecUpdate", d.cuGraphExecUpdate(exec, graph, &info));
    ask("cuGraphUpload", d.cuGraphUpload(exec, parts.stream));
    ask("cuGraphLaunch", d.cuGraphLaunch(exec, parts.stream));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(parts.stream));
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
    ask("cuGraphDestroy", d.cuGraphDestroy(other));
    CUcontext current = nullptr;
    ask("cuCtxGetCurrent", d.cuCtxGetCurrent(&current));
    note("a context became current", current != nullptr);
    // Must be last: this call crashes the process if the node names a function.
    const CUDA_KERNEL_NODE_PARAMS nowhere = kernel_in(parts, nullptr);
    ask("cuGraphAddKernelNode of a kernel in none",
        d.cuGraphAddKernelNode(&kernel_node, graph, nullptr, 0, &nowhere));

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
        ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
        d.cuGraphDestroy(graph);
    }
    EventNodes(const EventNodes &) = delete;
    EventNodes &operator=(const EventNodes &) = delete;

    void instantiate() {
        ask("cuGraphInstantiateWithFlags", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    }
    void set(CUevent event) const {
        ask("cuGraphExecEventWaitNodeSetEvent",
            d.cuGraphExecEventWaitNodeSetEvent(exec, waiting, event));
        ask("cuGraphExecEventRecordNodeSetEvent",
            d.cuGraphExecEventRecordNodeSetEvent(exec, recording, event));
    }
    void update(CUevent event) {
        ask("cuGraphEventWaitNodeSetEvent", d.cuGraphEventWaitNodeSetEvent(waiting, event));
        ask("cuGraphEventRecordNodeSetEvent", d.cuGraphEventRecordNodeSetEvent(recording, event));
        CUgraphExecUpdateResultInfo info{};
        ask("cuGraphExecUpdate", d.cuGraphExecUpdate(exec, graph, &info));
        note("result", info.result);
    }
    void launch(CUstream stream) const {
        ask("cuGraphLaunch", d.cuGraphLaunch(exec, stream));
        ask("cuStreamSynchronize", d.cuStreamSynchronize(stream));
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
void graph_event_contexts() {
    if (!start()) {
        return;
    }
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
void graphs_after_reset() {
    if (!start()) {
        return;
    }
    CUgraph child = nullptr, graph = nullptr, clone = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    d.cuGraphCreate(&child, 0);
    d.cuGraphCreate(&graph, 0);
    hold(child);
    ask("cuGraphAddChildGraphNode", d.cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
    ask("cuGraphDestroy, the child", d.cuGraphDestroy(child));
    ask("cuGraphClone", d.cuGraphClone(&clone, graph));
    hold(graph);
    hold(clone);
    ask("cuGraphInstantiate", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    ask("cuDevicePrimaryCtxReset", d.cuDevicePrimaryCtxReset(0));
    std::size_t count = 0;
    ask("cuGraphGetNodes then", d.cuGraphGetNodes(graph, nullptr, &count));
    note("nodes", static_cast<long long>(count));
    ask("cuGraphDestroy then", d.cuGraphDestroy(graph));
    note("destructors, the executable graph is there", released_soon());
    ask("cuGraphDestroy then, the clone", d.cuGraphDestroy(clone));
    note("destructors, the clone is gone", released_soon());
}

} // namespace record::QUESTIONS
