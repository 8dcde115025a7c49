// Parameters of graph nodes, before and after instantiation.
#include "../parameters.hpp"

namespace record::QUESTIONS {

namespace {

CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    ASK(cuGraphInstantiateWithFlags, "", &exec, graph, 0);
    return exec;
}

// A graph with host and event nodes.
void host_and_events(CUgraph graph) {
    CUDA_HOST_NODE_PARAMS host{.fn = [](void *) {}};
    CUevent told = nullptr;
    CUevent event = MAKE(cuEventCreate, 0);
    CUevent other = MAKE(cuEventCreate, 0);
    CUgraphNode host_node = MAKE(cuGraphAddHostNode, graph, nullptr, 0, &host);
    CUgraphNode record_node = MAKE(cuGraphAddEventRecordNode, graph, nullptr, 0, event);
    CUgraphNode wait_node = MAKE(cuGraphAddEventWaitNode, graph, &record_node, 1, event);
    ASK(cuGraphHostNodeGetParams, "", host_node, &host);
    ASK(cuGraphHostNodeSetParams, "", host_node, &host);
    ASK(cuGraphHostNodeSetParams, " of an event's node", record_node, &host);
    ASK(cuGraphEventRecordNodeGetEvent, "", record_node, &told).note("the event", told == event);
    ASK(cuGraphEventRecordNodeGetEvent, " of a wait", wait_node, &told);
    ASK(cuGraphEventRecordNodeSetEvent, "", record_node, other);
    ASK(cuGraphEventWaitNodeGetEvent, "", wait_node, &told).note("the event", told == event);
    ASK(cuGraphEventWaitNodeSetEvent, "", wait_node, other);
    ASK(cuGraphEventWaitNodeSetEvent, " of a record", record_node, other);
    const CUgraphExec exec = instantiate(graph);
    ASK(cuGraphExecHostNodeSetParams, "", exec, host_node, &host);
    ASK(cuGraphExecEventRecordNodeSetEvent, "", exec, record_node, event);
    ASK(cuGraphExecEventRecordNodeSetEvent, " of a wait", exec, wait_node, event);
    ASK(cuGraphExecEventWaitNodeSetEvent, "", exec, wait_node, event);
    ASK(cuGraphExecEventWaitNodeSetEvent, " of a record", exec, record_node, event);
    ASK(cuGraphExecDestroy, "", exec);
    d.cuEventDestroy(event);
    d.cuEventDestroy(other);
}

void copies_and_memsets(CUgraph graph, CUdeviceptr p) {
    CUgraphNode copy_node = nullptr;
    auto copy = copy_of<CUDA_MEMCPY3D>(p + 1024, p, 64), copy_back = copy;
    auto set = fill_of(p, 0, 1, 16), set_back = set;
    ASK(cuGraphAddMemcpyNode, "", &copy_node, graph, nullptr, 0, &copy, context());
    copy.WidthInBytes = 1 << 20;
    CUgraphNode refused = nullptr;
    ASK(cuGraphAddMemcpyNode, " past the end", &refused, graph, nullptr, 0, &copy, context());
    copy.WidthInBytes = 128;
    CUgraphNode set_node = MAKE(cuGraphAddMemsetNode, graph, nullptr, 0, &set, context());
    ASK(cuGraphMemcpyNodeGetParams, "", copy_node, &copy_back);
    note("width", copy_back.WidthInBytes);
    ASK(cuGraphMemcpyNodeGetParams, " of a memset", set_node, &copy_back);
    ASK(cuGraphMemcpyNodeSetParams, "", copy_node, &copy);
    ASK(cuGraphMemsetNodeGetParams, "", set_node, &set_back).note("width", set_back.width);
    set.width = 32;
    ASK(cuGraphMemsetNodeSetParams, "", set_node, &set);
    set.elementSize = 3;
    ASK(cuGraphMemsetNodeSetParams, ", element size 3", set_node, &set);
    const CUgraphExec exec = instantiate(graph);
    copy.WidthInBytes = 64;
    ASK(cuGraphExecMemcpyNodeSetParams, "", exec, copy_node, &copy, context());
    ASK(cuGraphExecMemcpyNodeSetParams, " of a memset", exec, set_node, &copy, context());
    cuuint64_t flags = 77;
    ASK(cuGraphExecGetFlags, "", exec, &flags).note("flags", flags);
    ASK(cuGraphExecDestroy, "", exec);
}

void kernels(CUgraph graph, CUfunction empty) {
    CUgraphNode set_node = nullptr;
    auto launch = launch_of(empty, 32), back = launch;
    CUgraphNode a = MAKE(cuGraphAddKernelNode, graph, nullptr, 0, &launch);
    CUgraphNode b = MAKE(cuGraphAddKernelNode, graph, &a, 1, &launch);
    launch.blockDimX = 4096;
    ASK(cuGraphAddKernelNode, " block 4096", &set_node, graph, nullptr, 0, &launch);
    d.cuGraphAddEmptyNode(&set_node, graph, nullptr, 0);
    launch.blockDimX = 64;
    ASK(cuGraphKernelNodeGetParams, "", a, &back).note("block", back.blockDimX);
    ASK(cuGraphKernelNodeGetParams, " of an empty node", set_node, &back);
    ASK(cuGraphKernelNodeSetParams, "", a, &launch);
    CUkernelNodeAttrValue value{};
    value.priority = 0;
    constexpr auto cooperative = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    ASK(cuGraphKernelNodeGetAttribute, " cooperative", a, cooperative, &value);
    note("cooperative", value.cooperative);
    value.cooperative = 1;
    ASK(cuGraphKernelNodeSetAttribute, " cooperative", a, cooperative, &value);
    ASK(cuGraphKernelNodeSetAttribute, " 99", a, static_cast<CUkernelNodeAttrID>(99), &value);
    ASK(cuGraphKernelNodeGetAttribute, " of an empty node", set_node, cooperative, &value);
    ASK(cuGraphKernelNodeCopyAttributes, "", b, a);
    value.cooperative = 0;
    d.cuGraphKernelNodeGetAttribute(b, cooperative, &value);
    note("cooperative", value.cooperative);
    const CUgraphExec exec = instantiate(graph);
    ASK(cuGraphExecKernelNodeSetParams, "", exec, a, &launch);
    launch.blockDimX = 4096;
    ASK(cuGraphExecKernelNodeSetParams, " block 4096", exec, a, &launch);
    ASK(cuGraphExecDestroy, "", exec);
}

void children(CUgraph graph) {
    CUgraph told = nullptr;
    CUgraph child = MAKE(cuGraphCreate, 0);
    CUgraphNode inner = MAKE(cuGraphAddEmptyNode, child, nullptr, 0);
    CUgraphNode node = MAKE(cuGraphAddChildGraphNode, graph, nullptr, 0, child);
    ASK(cuGraphChildGraphNodeGetGraph, "", node, &told).note("a graph of its own", told != child);
    ASK(cuGraphChildGraphNodeGetGraph, " of an empty node", inner, &told);
    const CUgraphExec exec = instantiate(graph);
    ASK(cuGraphExecChildGraphNodeSetParams, "", exec, node, child);
    d.cuGraphAddEmptyNode(&inner, child, nullptr, 0);
    ASK(cuGraphExecChildGraphNodeSetParams, " of another shape", exec, node, child);
    ASK(cuGraphExecDestroy, "", exec);
    d.cuGraphDestroy(child);
}

template <class Body>
void with_graph(Body body) {
    CUgraph graph = MAKE(cuGraphCreate, 0);
    body(graph);
    ASK(cuGraphDestroy, "", graph);
}

} // namespace

SECTION_ONCE("graph_nodes", start) {
    CUdeviceptr p = MAKE(cuMemAlloc, 4096);
    CUmodule module = MAKE(cuModuleLoadData, ptx);
    CUfunction empty = MAKE(cuModuleGetFunction, module, "empty");
    with_graph(host_and_events);
    with_graph([&](CUgraph graph) { copies_and_memsets(graph, p); });
    with_graph([&](CUgraph graph) { kernels(graph, empty); });
    with_graph(children);
    d.cuModuleUnload(module);
    d.cuMemFree(p);
}

SECTION("graph_edges", start) {
    CUgraphNode a = nullptr, b = nullptr, found[4] = {}, to[4] = {};
    CUgraphEdgeData data[4] = {}, odd{};
    std::size_t count = 0;
    CUgraph graph = MAKE(cuGraphCreate, 0);
    d.cuGraphAddEmptyNode(&a, graph, nullptr, 0);
    d.cuGraphAddEmptyNode(&b, graph, nullptr, 0);
    ASK(cuGraphAddDependencies, "", graph, &a, &b, nullptr, 1);
    ASK(cuGraphAddDependencies, " again", graph, &a, &b, nullptr, 1);
    odd.type = 77;
    ASK(cuGraphAddDependencies, " of type 77", graph, &b, &a, &odd, 1);
    count = 4;
    ASK(cuGraphGetEdges, "", graph, found, to, data, &count).note("edges", count);
    count = 4;
    ASK(cuGraphNodeGetDependencies, "", b, found, data, &count).note("dependencies", count);
    count = 4;
    ASK(cuGraphNodeGetDependentNodes, "", a, found, data, &count).note("dependent nodes", count);
    ASK(cuGraphRemoveDependencies, "", graph, &a, &b, nullptr, 1);
    ASK(cuGraphRemoveDependencies, " again", graph, &a, &b, nullptr, 1);
    CUDA_GRAPH_INSTANTIATE_PARAMS params{};
    CUgraphExec exec = nullptr;
    ASK(cuGraphInstantiateWithParams, "", &exec, graph, &params).note("result", params.result_out);
    ASK(cuGraphExecDestroy, "", exec);
    params.flags = 0x100;
    ASK(cuGraphInstantiateWithParams, " flags 0x100", &exec, graph, &params);
    ASK(cuGraphDebugDotPrint, "", graph, "/dev/null", 0);
    ASK(cuGraphDebugDotPrint, " into no folder", graph, "/nonexistent/graph.dot", 0);
    CUuserObject object = nullptr;
    d.cuUserObjectCreate(&object, nullptr, [](void *) {}, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    ASK(cuUserObjectRetain, "", object, 1);
    ASK(cuUserObjectRetain, " 0", object, 0);
    ASK(cuGraphRetainUserObject, "", graph, object, 1, 0);
    ASK(cuGraphReleaseUserObject, "", graph, object, 1);
    ASK(cuGraphReleaseUserObject, " 0", graph, object, 0);
    ASK(cuUserObjectRelease, "", object, 1);
    ASK(cuUserObjectRelease, " 0", object, 0);
    d.cuUserObjectRelease(object, 2);
    d.cuGraphDestroy(graph);
}

SECTION_ONCE("graph_memory_nodes", start) {
    CUgraphNode alloc_node = nullptr, free_node = nullptr, refused = nullptr;
    CUDA_MEM_ALLOC_NODE_PARAMS alloc{}, back{};
    CUdeviceptr p = 0;
    alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    alloc.bytesize = 4096;
    CUgraph graph = MAKE(cuGraphCreate, 0);
    CUgraphNode empty = MAKE(cuGraphAddEmptyNode, graph, nullptr, 0);
    ASK(cuGraphAddMemAllocNode, "", &alloc_node, graph, nullptr, 0, &alloc);
    ASK(cuGraphMemAllocNodeGetParams, "", alloc_node, &back).note("bytes", back.bytesize);
    note("the address", back.dptr == alloc.dptr);
    ASK(cuGraphMemAllocNodeGetParams, " of an empty node", empty, &back);
    ASK(cuGraphAddMemFreeNode, "", &free_node, graph, &alloc_node, 1, alloc.dptr);
    ASK(cuGraphMemFreeNodeGetParams, "", free_node, &p).note("the address", p == alloc.dptr);
    ASK(cuGraphMemFreeNodeGetParams, " of an empty node", empty, &p);
    alloc.bytesize = 0;
    ASK(cuGraphAddMemAllocNode, " of 0 bytes", &refused, graph, nullptr, 0, &alloc);
    d.cuGraphDestroy(graph);
    CUdeviceptr word = MAKE(cuMemAlloc, 64);
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
    ASK(cuGraphAddBatchMemOpNode, "", &node, graph, nullptr, 0, &batch);
    ASK(cuGraphBatchMemOpNodeGetParams, "", node, &batch_back).note("operations", batch_back.count);
    op.writeValue.value = 4;
    ASK(cuGraphBatchMemOpNodeSetParams, "", node, &batch);
    ASK(cuGraphBatchMemOpNodeSetParams, " of an empty node", empty, &batch);
    const CUgraphExec exec = instantiate(graph);
    op.writeValue.value = 5;
    ASK(cuGraphExecBatchMemOpNodeSetParams, "", exec, node, &batch);
    ASK(cuGraphExecBatchMemOpNodeSetParams, " of an empty node", exec, empty, &batch);
    ASK(cuGraphLaunch, "", exec, nullptr);
    ASK(cuStreamSynchronize, "", nullptr);
    unsigned int value = 0;
    d.cuMemcpyDtoH(&value, word, sizeof value);
    note("value", value);
    ASK(cuGraphExecDestroy, "", exec);
    d.cuGraphDestroy(graph);
    d.cuMemFree(word);
}

SECTION_ONCE("generic_nodes", start) {
    CUgraphNode node = nullptr, empty = nullptr;
    CUdeviceptr p = MAKE(cuMemAlloc, 4096);
    CUgraph graph = MAKE(cuGraphCreate, 0);
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_MEMSET;
    params.memset.dst = p;
    params.memset.elementSize = 1;
    params.memset.width = 16;
    params.memset.height = 1;
    params.memset.ctx = context();
    ASK(cuGraphAddNode, " memset", &node, graph, nullptr, nullptr, 0, &params);
    params.memset.width = 32;
    ASK(cuGraphNodeSetParams, "", node, &params);
    const CUgraphExec exec = instantiate(graph);
    params.memset.width = 16;
    ASK(cuGraphExecNodeSetParams, "", exec, node, &params);
    CUgraphNodeParams nothing{};
    nothing.type = CU_GRAPH_NODE_TYPE_EMPTY;
    ASK(cuGraphAddNode, " empty", &empty, graph, nullptr, nullptr, 0, &nothing);
    ASK(cuGraphNodeSetParams, " of another type", empty, &params);
    ASK(cuGraphExecNodeSetParams, " of a node that came later", exec, empty, &nothing);
    CUgraphNode one[2] = {};
    std::size_t count = 2;
    ASK(cuGraphGetRootNodes, "", graph, one, &count).note("nodes", count);
    ASK(cuGraphExecDestroy, "", exec);
    d.cuGraphDestroy(graph);
    d.cuMemFree(p);
}

} // namespace record::QUESTIONS
