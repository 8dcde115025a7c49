// Parameters of graph nodes, before and after instantiation.
#include "../../record.hpp"

namespace record::QUESTIONS {

namespace {

CUDA_MEMSET_NODE_PARAMS memset_of(CUdeviceptr p) {
    CUDA_MEMSET_NODE_PARAMS set{};
    set.dst = p;
    set.elementSize = 1;
    set.width = 16;
    set.height = 1;
    return set;
}

CUDA_MEMCPY3D copy_of(CUdeviceptr from, CUdeviceptr to) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from;
    copy.dstDevice = to;
    copy.WidthInBytes = 64;
    copy.Height = copy.Depth = 1;
    return copy;
}

CUDA_KERNEL_NODE_PARAMS launch_of(CUfunction function) {
    CUDA_KERNEL_NODE_PARAMS launch{};
    launch.func = function;
    launch.gridDimX = launch.gridDimY = launch.gridDimZ = 1;
    launch.blockDimX = 32;
    launch.blockDimY = launch.blockDimZ = 1;
    return launch;
}

CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    ask("cuGraphInstantiateWithFlags", d.cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

// A graph with host and event nodes.
void host_and_events(CUgraph graph) {
    CUgraphNode host_node = nullptr, record_node = nullptr, wait_node = nullptr;
    CUDA_HOST_NODE_PARAMS host{};
    host.fn = [](void *) {};
    CUevent event = nullptr, other = nullptr, told = nullptr;
    d.cuEventCreate(&event, 0);
    d.cuEventCreate(&other, 0);
    d.cuGraphAddHostNode(&host_node, graph, nullptr, 0, &host);
    d.cuGraphAddEventRecordNode(&record_node, graph, nullptr, 0, event);
    d.cuGraphAddEventWaitNode(&wait_node, graph, &record_node, 1, event);
    ask("cuGraphHostNodeGetParams", d.cuGraphHostNodeGetParams(host_node, &host));
    ask("cuGraphHostNodeSetParams", d.cuGraphHostNodeSetParams(host_node, &host));
    ask("cuGraphHostNodeSetParams of an event's node",
        d.cuGraphHostNodeSetParams(record_node, &host));
    ask("cuGraphEventRecordNodeGetEvent", d.cuGraphEventRecordNodeGetEvent(record_node, &told));
    note("the event", told == event);
    ask("cuGraphEventRecordNodeGetEvent of a wait",
        d.cuGraphEventRecordNodeGetEvent(wait_node, &told));
    ask("cuGraphEventRecordNodeSetEvent", d.cuGraphEventRecordNodeSetEvent(record_node, other));
    ask("cuGraphEventWaitNodeGetEvent", d.cuGraphEventWaitNodeGetEvent(wait_node, &told));
    note("the event", told == event);
    ask("cuGraphEventWaitNodeSetEvent", d.cuGraphEventWaitNodeSetEvent(wait_node, other));
    ask("cuGraphEventWaitNodeSetEvent of a record",
        d.cuGraphEventWaitNodeSetEvent(record_node, other));
    const CUgraphExec exec = instantiate(graph);
    ask("cuGraphExecHostNodeSetParams", d.cuGraphExecHostNodeSetParams(exec, host_node, &host));
    ask("cuGraphExecEventRecordNodeSetEvent",
        d.cuGraphExecEventRecordNodeSetEvent(exec, record_node, event));
    ask("cuGraphExecEventRecordNodeSetEvent of a wait",
        d.cuGraphExecEventRecordNodeSetEvent(exec, wait_node, event));
    ask("cuGraphExecEventWaitNodeSetEvent",
        d.cuGraphExecEventWaitNodeSetEvent(exec, wait_node, event));
    ask("cuGraphExecEventWaitNodeSetEvent of a record",
        d.cuGraphExecEventWaitNodeSetEvent(exec, record_node, event));
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
    d.cuEventDestroy(event);
    d.cuEventDestroy(other);
}

void copies_and_memsets(CUgraph graph, CUdeviceptr p) {
    CUgraphNode copy_node = nullptr, set_node = nullptr;
    auto copy = copy_of(p, p + 1024), copy_back = copy;
    auto set = memset_of(p), set_back = set;
    ask("cuGraphAddMemcpyNode",
        d.cuGraphAddMemcpyNode(&copy_node, graph, nullptr, 0, &copy, context()));
    copy.WidthInBytes = 1 << 20;
    CUgraphNode refused = nullptr;
    ask("cuGraphAddMemcpyNode past the end",
        d.cuGraphAddMemcpyNode(&refused, graph, nullptr, 0, &copy, context()));
    copy.WidthInBytes = 128;
    d.cuGraphAddMemsetNode(&set_node, graph, nullptr, 0, &set, context());
    ask("cuGraphMemcpyNodeGetParams", d.cuGraphMemcpyNodeGetParams(copy_node, &copy_back));
    note("width", static_cast<long long>(copy_back.WidthInBytes));
    ask("cuGraphMemcpyNodeGetParams of a memset",
        d.cuGraphMemcpyNodeGetParams(set_node, &copy_back));
    ask("cuGraphMemcpyNodeSetParams", d.cuGraphMemcpyNodeSetParams(copy_node, &copy));
    ask("cuGraphMemsetNodeGetParams", d.cuGraphMemsetNodeGetParams(set_node, &set_back));
    note("width", static_cast<long long>(set_back.width));
    set.width = 32;
    ask("cuGraphMemsetNodeSetParams", d.cuGraphMemsetNodeSetParams(set_node, &set));
    set.elementSize = 3;
    ask("cuGraphMemsetNodeSetParams, element size 3", d.cuGraphMemsetNodeSetParams(set_node, &set));
    const CUgraphExec exec = instantiate(graph);
    copy.WidthInBytes = 64;
    ask("cuGraphExecMemcpyNodeSetParams",
        d.cuGraphExecMemcpyNodeSetParams(exec, copy_node, &copy, context()));
    ask("cuGraphExecMemcpyNodeSetParams of a memset",
        d.cuGraphExecMemcpyNodeSetParams(exec, set_node, &copy, context()));
    cuuint64_t flags = 77;
    ask("cuGraphExecGetFlags", d.cuGraphExecGetFlags(exec, &flags));
    note("flags", static_cast<long long>(flags));
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
}

void kernels(CUgraph graph, CUfunction empty) {
    CUgraphNode a = nullptr, b = nullptr, set_node = nullptr;
    auto launch = launch_of(empty), back = launch;
    d.cuGraphAddKernelNode(&a, graph, nullptr, 0, &launch);
    d.cuGraphAddKernelNode(&b, graph, &a, 1, &launch);
    launch.blockDimX = 4096;
    ask("cuGraphAddKernelNode block 4096",
        d.cuGraphAddKernelNode(&set_node, graph, nullptr, 0, &launch));
    d.cuGraphAddEmptyNode(&set_node, graph, nullptr, 0);
    launch.blockDimX = 64;
    ask("cuGraphKernelNodeGetParams", d.cuGraphKernelNodeGetParams(a, &back));
    note("block", back.blockDimX);
    ask("cuGraphKernelNodeGetParams of an empty node",
        d.cuGraphKernelNodeGetParams(set_node, &back));
    ask("cuGraphKernelNodeSetParams", d.cuGraphKernelNodeSetParams(a, &launch));
    CUkernelNodeAttrValue value{};
    value.priority = 0;
    constexpr auto cooperative = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    ask("cuGraphKernelNodeGetAttribute cooperative",
        d.cuGraphKernelNodeGetAttribute(a, cooperative, &value));
    note("cooperative", value.cooperative);
    value.cooperative = 1;
    ask("cuGraphKernelNodeSetAttribute cooperative",
        d.cuGraphKernelNodeSetAttribute(a, cooperative, &value));
    ask("cuGraphKernelNodeSetAttribute 99",
        d.cuGraphKernelNodeSetAttribute(a, static_cast<CUkernelNodeAttrID>(99), &value));
    ask("cuGraphKernelNodeGetAttribute of an empty node",
        d.cuGraphKernelNodeGetAttribute(set_node, cooperative, &value));
    ask("cuGraphKernelNodeCopyAttributes", d.cuGraphKernelNodeCopyAttributes(b, a));
    value.cooperative = 0;
    d.cuGraphKernelNodeGetAttribute(b, cooperative, &value);
    note("cooperative", value.cooperative);
    const CUgraphExec exec = instantiate(graph);
    ask("cuGraphExecKernelNodeSetParams", d.cuGraphExecKernelNodeSetParams(exec, a, &launch));
    launch.blockDimX = 4096;
    ask("cuGraphExecKernelNodeSetParams block 4096",
        d.cuGraphExecKernelNodeSetParams(exec, a, &launch));
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
}

void children(CUgraph graph) {
    CUgraph child = nullptr, told = nullptr;
    CUgraphNode node = nullptr, inner = nullptr;
    d.cuGraphCreate(&child, 0);
    d.cuGraphAddEmptyNode(&inner, child, nullptr, 0);
    d.cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child);
    ask("cuGraphChildGraphNodeGetGraph", d.cuGraphChildGraphNodeGetGraph(node, &told));
    note("a graph of its own", told != child);
    ask("cuGraphChildGraphNodeGetGraph of an empty node",
        d.cuGraphChildGraphNodeGetGraph(inner, &told));
    const CUgraphExec exec = instantiate(graph);
    ask("cuGraphExecChildGraphNodeSetParams",
        d.cuGraphExecChildGraphNodeSetParams(exec, node, child));
    d.cuGraphAddEmptyNode(&inner, child, nullptr, 0);
    ask("cuGraphExecChildGraphNodeSetParams of another shape",
        d.cuGraphExecChildGraphNodeSetParams(exec, node, child));
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
    d.cuGraphDestroy(child);
}

template <class Body>
void with_graph(Body body) {
    CUgraph graph = nullptr;
    d.cuGraphCreate(&graph, 0);
    body(graph);
    ask("cuGraphDestroy", d.cuGraphDestroy(graph));
}

} // namespace

void graph_nodes() {
    if (!start()) {
        return;
    }
    CUdeviceptr p = 0;
    CUmodule module = nullptr;
    CUfunction empty = nullptr;
    d.cuMemAlloc(&p, 4096);
    d.cuModuleLoadData(&module, ptx);
    d.cuModuleGetFunction(&empty, module, "empty");
    with_graph(host_and_events);
    with_graph([&](CUgraph graph) { copies_and_memsets(graph, p); });
    with_graph([&](CUgraph graph) { kernels(graph, empty); });
    with_graph(children);
    d.cuModuleUnload(module);
    d.cuMemFree(p);
}

void graph_edges() {
    if (!start()) {
        return;
    }
    CUgraph graph = nullptr;
    CUgraphNode a = nullptr, b = nullptr, found[4] = {}, to[4] = {};
    CUgraphEdgeData data[4] = {}, odd{};
    std::size_t count = 0;
    d.cuGraphCreate(&graph, 0);
    d.cuGraphAddEmptyNode(&a, graph, nullptr, 0);
    d.cuGraphAddEmptyNode(&b, graph, nullptr, 0);
    ask("cuGraphAddDependencies", d.cuGraphAddDependencies(graph, &a, &b, nullptr, 1));
    ask("cuGraphAddDependencies again", d.cuGraphAddDependencies(graph, &a, &b, nullptr, 1));
    odd.type = 77;
    ask("cuGraphAddDependencies of type 77", d.cuGraphAddDependencies(graph, &b, &a, &odd, 1));
    count = 4;
    ask("cuGraphGetEdges", d.cuGraphGetEdges(graph, found, to, data, &count));
    note("edges", static_cast<long long>(count));
    count = 4;
    ask("cuGraphNodeGetDependencies", d.cuGraphNodeGetDependencies(b, found, data, &count));
    note("dependencies", static_cast<long long>(count));
    count = 4;
    ask("cuGraphNodeGetDependentNodes", d.cuGraphNodeGetDependentNodes(a, found, data, &count));
    note("dependent nodes", static_cast<long long>(count));
    ask("cuGraphRemoveDependencies", d.cuGraphRemoveDependencies(graph, &a, &b, nullptr, 1));
    ask("cuGraphRemoveDependencies again", d.cuGraphRemoveDependencies(graph, &a, &b, nullptr, 1));
    CUDA_GRAPH_INSTANTIATE_PARAMS params{};
    CUgraphExec exec = nullptr;
    ask("cuGraphInstantiateWithParams", d.cuGraphInstantiateWithParams(&exec, graph, &params));
    note("result", params.result_out);
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
    params.flags = 0x100;
    ask("cuGraphInstantiateWithParams flags 0x100",
        d.cuGraphInstantiateWithParams(&exec, graph, &params));
    ask("cuGraphDebugDotPrint", d.cuGraphDebugDotPrint(graph, "/dev/null", 0));
    ask("cuGraphDebugDotPrint into no folder",
        d.cuGraphDebugDotPrint(graph, "/nonexistent/graph.dot", 0));
    CUuserObject object = nullptr;
    d.cuUserObjectCreate(&object, nullptr, [](void *) {}, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    ask("cuUserObjectRetain", d.cuUserObjectRetain(object, 1));
    ask("cuUserObjectRetain 0", d.cuUserObjectRetain(object, 0));
    ask("cuGraphRetainUserObject", d.cuGraphRetainUserObject(graph, object, 1, 0));
    ask("cuGraphReleaseUserObject", d.cuGraphReleaseUserObject(graph, object, 1));
    ask("cuGraphReleaseUserObject 0", d.cuGraphReleaseUserObject(graph, object, 0));
    ask("cuUserObjectRelease", d.cuUserObjectRelease(object, 1));
    ask("cuUserObjectRelease 0", d.cuUserObjectRelease(object, 0));
    d.cuUserObjectRelease(object, 2);
    d.cuGraphDestroy(graph);
}

void graph_memory_nodes() {
    if (!start()) {
        return;
    }
    CUgraph graph = nullptr;
    CUgraphNode alloc_node = nullptr, free_node = nullptr, empty = nullptr, refused = nullptr;
    CUDA_MEM_ALLOC_NODE_PARAMS alloc{}, back{};
    CUdeviceptr p = 0;
    alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    alloc.bytesize = 4096;
    d.cuGraphCreate(&graph, 0);
    d.cuGraphAddEmptyNode(&empty, graph, nullptr, 0);
    ask("cuGraphAddMemAllocNode", d.cuGraphAddMemAllocNode(&alloc_node, graph, nullptr, 0, &alloc));
    ask("cuGraphMemAllocNodeGetParams", d.cuGraphMemAllocNodeGetParams(alloc_node, &back));
    note("bytes", static_cast<long long>(back.bytesize));
    note("the address", back.dptr == alloc.dptr);
    ask("cuGraphMemAllocNodeGetParams of an empty node",
        d.cuGraphMemAllocNodeGetParams(empty, &back));
    ask("cuGraphAddMemFreeNode",
        d.cuGraphAddMemFreeNode(&free_node, graph, &alloc_node, 1, alloc.dptr));
    ask("cuGraphMemFreeNodeGetParams", d.cuGraphMemFreeNodeGetParams(free_node, &p));
    note("the address", p == alloc.dptr);
    ask("cuGraphMemFreeNodeGetParams of an empty node", d.cuGraphMemFreeNodeGetParams(empty, &p));
    alloc.bytesize = 0;
    ask("cuGraphAddMemAllocNode of 0 bytes",
        d.cuGraphAddMemAllocNode(&refused, graph, nullptr, 0, &alloc));
    d.cuGraphDestroy(graph);
    CUdeviceptr word = 0;
    d.cuMemAlloc(&word, 64);
    d.cuMemsetD8(word, 0, 64);
    CUstreamBatchMemOpParams op{};
    op.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op.writeValue.address = word;
    op.writeValue.value = 3;
    CUDA_BATCH_MEM_OP_NODE_PARAMS batch{}, batch_back{};
    batch.ctx = context();
    batch.count = 1;
    batch.paramArray = &op;
    CUgraphNode node = nullptr;
    d.cuGraphCreate(&graph, 0);
    d.cuGraphAddEmptyNode(&empty, graph, nullptr, 0);
    ask("cuGraphAddBatchMemOpNode", d.cuGraphAddBatchMemOpNode(&node, graph, nullptr, 0, &batch));
    ask("cuGraphBatchMemOpNodeGetParams", d.cuGraphBatchMemOpNodeGetParams(node, &batch_back));
    note("operations", batch_back.count);
    op.writeValue.value = 4;
    ask("cuGraphBatchMemOpNodeSetParams", d.cuGraphBatchMemOpNodeSetParams(node, &batch));
    ask("cuGraphBatchMemOpNodeSetParams of an empty node",
        d.cuGraphBatchMemOpNodeSetParams(empty, &batch));
    const CUgraphExec exec = instantiate(graph);
    op.writeValue.value = 5;
    ask("cuGraphExecBatchMemOpNodeSetParams",
        d.cuGraphExecBatchMemOpNodeSetParams(exec, node, &batch));
    ask("cuGraphExecBatchMemOpNodeSetParams of an empty node",
        d.cuGraphExecBatchMemOpNodeSetParams(exec, empty, &batch));
    ask("cuGraphLaunch", d.cuGraphLaunch(exec, nullptr));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(nullptr));
    unsigned int value = 0;
    d.cuMemcpyDtoH(&value, word, sizeof value);
    note("value", value);
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
    d.cuGraphDestroy(graph);
    d.cuMemFree(word);
}

void generic_nodes() {
    if (!start()) {
        return;
    }
    CUdeviceptr p = 0;
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr, empty = nullptr;
    d.cuMemAlloc(&p, 4096);
    d.cuGraphCreate(&graph, 0);
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_MEMSET;
    params.memset.dst = p;
    params.memset.elementSize = 1;
    params.memset.width = 16;
    params.memset.height = 1;
    params.memset.ctx = context();
    ask("cuGraphAddNode memset", d.cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
    params.memset.width = 32;
    ask("cuGraphNodeSetParams", d.cuGraphNodeSetParams(node, &params));
    const CUgraphExec exec = instantiate(graph);
    params.memset.width = 16;
    ask("cuGraphExecNodeSetParams", d.cuGraphExecNodeSetParams(exec, node, &params));
    CUgraphNodeParams nothing{};
    nothing.type = CU_GRAPH_NODE_TYPE_EMPTY;
    ask("cuGraphAddNode empty", d.cuGraphAddNode(&empty, graph, nullptr, nullptr, 0, &nothing));
    ask("cuGraphNodeSetParams of another type", d.cuGraphNodeSetParams(empty, &params));
    ask("cuGraphExecNodeSetParams of a node that came later",
        d.cuGraphExecNodeSetParams(exec, empty, &nothing));
    CUgraphNode one[2] = {};
    std::size_t count = 2;
    ask("cuGraphGetRootNodes", d.cuGraphGetRootNodes(graph, one, &count));
    note("nodes", static_cast<long long>(count));
    ask("cuGraphExecDestroy", d.cuGraphExecDestroy(exec));
    d.cuGraphDestroy(graph);
    d.cuMemFree(p);
}

} // namespace record::QUESTIONS
