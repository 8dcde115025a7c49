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

// Instantiates a graph of one node, launches it and destroys it. `set` changes the node in it. If
// it can only be instantiated in a context, that is done in the primary one.
template <class Set>
void live(const std::string &node, CUgraph graph, const Parts &parts, const Set &set) {
    CUgraphExec exec = nullptr;
    const CUresult status = d.cuGraphInstantiateWithFlags(&exec, graph, 0);
    ask("cuGraphInstantiate of " + node, status);
    if (status == CUDA_ERROR_INVALID_CONTEXT) {
        d.cuCtxSetCurrent(context());
        d.cuGraphInstantiateWithFlags(&exec, graph, 0);
        d.cuCtxSetCurrent(nullptr);
    }
    set(exec);
    ask("cuGraphLaunch of " + node, d.cuGraphLaunch(exec, parts.stream));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(parts.stream));
    ask("cuGraphExecDestroy of " + node, d.cuGraphExecDestroy(exec));
}

// Graphs of one node, which are made in the current context.
struct OneNodeGraphs {
    CUgraph empty = MAKE(cuGraphCreate, 0), kernel = MAKE(cuGraphCreate, 0),
            fill = MAKE(cuGraphCreate, 0), copy = MAKE(cuGraphCreate, 0),
            host = MAKE(cuGraphCreate, 0), wait = MAKE(cuGraphCreate, 0),
            record = MAKE(cuGraphCreate, 0), child = MAKE(cuGraphCreate, 0),
            memory = MAKE(cuGraphCreate, 0), write = MAKE(cuGraphCreate, 0);
    OneNodeGraphs() = default;
    OneNodeGraphs(const OneNodeGraphs &) = delete;
    OneNodeGraphs &operator=(const OneNodeGraphs &) = delete;
    ~OneNodeGraphs() {
        for (const CUgraph graph :
             {empty, kernel, fill, copy, host, wait, record, child, memory, write}) {
            d.cuGraphDestroy(graph);
        }
    }
};

void nothing(void *) {}

void use(const OneNodeGraphs &of, const Parts &parts, CUcontext context) {
    const CUDA_KERNEL_NODE_PARAMS launch = launch_of(parts.kernel, context);
    const CUDA_MEMSET_NODE_PARAMS fill = fill_of(parts.memory, 1, 4, 16);
    const auto copy = copy_of<CUDA_MEMCPY3D>(parts.memory + 1024, parts.memory, 64);
    const CUDA_HOST_NODE_PARAMS host{.fn = nothing};
    CUstreamBatchMemOpParams operation{};
    operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operation.writeValue.address = parts.memory;
    operation.writeValue.value = 1;
    const CUDA_BATCH_MEM_OP_NODE_PARAMS write{.ctx = context, .count = 1, .paramArray = &operation};
    CUDA_MEM_ALLOC_NODE_PARAMS allocation{};
    allocation.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    allocation.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    allocation.bytesize = 4096;
    CUgraphNode node = nullptr, free_node = nullptr;

    d.cuGraphAddEmptyNode(&node, of.empty, nullptr, 0);
    live("an empty node", of.empty, parts, [](CUgraphExec) {});
    d.cuGraphAddKernelNode(&node, of.kernel, nullptr, 0, &launch);
    live("a kernel node", of.kernel, parts, [&](CUgraphExec exec) {
        ASK(cuGraphExecKernelNodeSetParams, "", exec, node, &launch);
        unsigned int is_enabled = 0;
        ASK(cuGraphNodeSetEnabled, "", exec, node, 1);
        ASK(cuGraphNodeGetEnabled, "", exec, node, &is_enabled);
    });
    d.cuGraphAddMemsetNode(&node, of.fill, nullptr, 0, &fill, context);
    live("a memset node", of.fill, parts, [&](CUgraphExec exec) {
        ASK(cuGraphExecMemsetNodeSetParams, "", exec, node, &fill, context);
    });
    d.cuGraphAddMemcpyNode(&node, of.copy, nullptr, 0, &copy, context);
    live("a memcpy node", of.copy, parts, [&](CUgraphExec exec) {
        ASK(cuGraphExecMemcpyNodeSetParams, "", exec, node, &copy, context);
    });
    d.cuGraphAddHostNode(&node, of.host, nullptr, 0, &host);
    live("a host node", of.host, parts,
         [&](CUgraphExec exec) { ASK(cuGraphExecHostNodeSetParams, "", exec, node, &host); });
    d.cuGraphAddEventWaitNode(&node, of.wait, nullptr, 0, parts.event);
    live("an event wait node", of.wait, parts, [&](CUgraphExec exec) {
        ASK(cuGraphExecEventWaitNodeSetEvent, "", exec, node, parts.event);
    });
    d.cuGraphAddEventRecordNode(&node, of.record, nullptr, 0, parts.event);
    live("an event record node", of.record, parts, [&](CUgraphExec exec) {
        ASK(cuGraphExecEventRecordNodeSetEvent, "", exec, node, parts.event);
    });
    d.cuGraphAddChildGraphNode(&node, of.child, nullptr, 0, of.fill);
    live("a child graph node", of.child, parts, [&](CUgraphExec exec) {
        ASK(cuGraphExecChildGraphNodeSetParams, "", exec, node, of.fill);
    });
    d.cuGraphAddBatchMemOpNode(&node, of.write, nullptr, 0, &write);
    live("a batch memory operation node", of.write, parts, [&](CUgraphExec exec) {
        ASK(cuGraphExecBatchMemOpNodeSetParams, "", exec, node, &write);
    });
    ASK(cuGraphAddMemAllocNode, "", &node, of.memory, nullptr, 0, &allocation);
    ASK(cuGraphAddMemFreeNode, "", &free_node, of.memory, &node, 1, allocation.dptr);
    live("memory nodes", of.memory, parts, [](CUgraphExec) {});
}

} // namespace

// Which calls of executable graphs require a current context, or the one of the nodes.
SECTION("executable_graphs_without_context", start) {
    Parts parts;
    if (!make(parts)) {
        return;
    }
    const CUcontext primary = context();
    CUcontext created = nullptr;
    ask("cuCtxCreate", d.cuCtxCreate_v2(&created, 0, 0));
    d.cuCtxPopCurrent(&created);
    for (const CUcontext current : {primary, CUcontext(nullptr), created}) {
        note(current == primary   ? "the primary context is current"
             : current == nullptr ? "no context is current"
                                  : "another context is current",
             1);
        d.cuCtxSetCurrent(primary);
        const OneNodeGraphs graphs;
        d.cuCtxSetCurrent(current);
        use(graphs, parts, primary);
        CUcontext then = nullptr;
        ASK(cuCtxGetCurrent, "", &then).note("the same context is current", then == current);
    }
    d.cuCtxSetCurrent(primary);
    drop(parts);
    ask("cuCtxDestroy", d.cuCtxDestroy_v2(created));
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
