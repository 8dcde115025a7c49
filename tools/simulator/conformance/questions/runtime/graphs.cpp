// Runtime graphs: creation, structure, nodes of each type, copies.
#include "../../runtime_questions.hpp"
#include "graph_tools.hpp"

namespace record::QUESTIONS::runtime {
namespace {

void structure(cudaGraph_t graph, cudaGraphNode_t a, cudaGraphNode_t b, cudaGraphNode_t foreign) {
    ask("cudaGraphAddDependencies", link(graph, a, b));
    ask("cudaGraphAddDependencies to itself", link(graph, a, a));
    ask("cudaGraphAddDependencies from another graph", link(graph, foreign, b));
    ask("cudaGraphRemoveDependencies, not there", unlink(graph, b, a));
    ask("cudaGraphRemoveDependencies", unlink(graph, a, b));
    link(graph, a, b);
    std::size_t count = 77;
    cudaGraphNode_t nodes[4] = {};
    ask("cudaGraphGetNodes, the number", r.cudaGraphGetNodes(graph, nullptr, &count));
    note("nodes", static_cast<long long>(count));
    ask("cudaGraphGetNodes(null)", r.cudaGraphGetNodes(nullptr, nullptr, &count));
    count = 4;
    ask("cudaGraphGetNodes(4)", r.cudaGraphGetNodes(graph, nodes, &count));
    note("count", static_cast<long long>(count));
    ask("cudaGraphGetRootNodes, the number", r.cudaGraphGetRootNodes(graph, nullptr, &count));
    note("roots", static_cast<long long>(count));
    ask("cudaGraphGetRootNodes(null)", r.cudaGraphGetRootNodes(nullptr, nullptr, &count));
    ask("cudaGraphGetEdges, the number", edges(graph, &count));
    note("edges", static_cast<long long>(count));
    ask("cudaGraphGetEdges(null)", edges(nullptr, &count));
    ask("cudaGraphNodeGetDependencies, the number", dependencies_of(b, &count));
    note("dependencies", static_cast<long long>(count));
    ask("cudaGraphNodeGetDependencies(null)", dependencies_of(nullptr, &count));
    ask("cudaGraphNodeGetDependentNodes, the number", dependents_of(a, &count));
    note("dependents", static_cast<long long>(count));
    ask("cudaGraphNodeGetDependentNodes(null)", dependents_of(nullptr, &count));
    cudaGraphNodeType type{};
    ask("cudaGraphNodeGetType", r.cudaGraphNodeGetType(a, &type));
    note("type", type);
    ask("cudaGraphNodeGetType(null)", r.cudaGraphNodeGetType(nullptr, &type));
}

void clones(cudaGraph_t graph, cudaGraphNode_t a, cudaGraphNode_t foreign) {
    cudaGraph_t clone = nullptr;
    cudaGraphNode_t found = nullptr;
    ask("cudaGraphClone(null)", r.cudaGraphClone(&clone, nullptr));
    ask("cudaGraphClone", r.cudaGraphClone(&clone, graph));
    ask("cudaGraphNodeFindInClone", r.cudaGraphNodeFindInClone(&found, a, clone));
    ask("cudaGraphNodeFindInClone of another graph",
        r.cudaGraphNodeFindInClone(&found, foreign, clone));
    ask("cudaGraphDestroy of the clone", r.cudaGraphDestroy(clone));
    ask("cudaGraphDebugDotPrint", r.cudaGraphDebugDotPrint(graph, "/dev/null", 0));
    ask("cudaGraphDebugDotPrint into no folder",
        r.cudaGraphDebugDotPrint(graph, "/nonexistent/graph.dot", 0));
}

} // namespace

void graphs() {
    if (!begin()) {
        return;
    }
    cudaGraph_t graph = nullptr, other = nullptr;
    cudaGraphNode_t a = nullptr, b = nullptr, foreign = nullptr;
    ask("cudaGraphCreate(flags 1)", r.cudaGraphCreate(&graph, 1));
    ask("cudaGraphCreate(null)", r.cudaGraphCreate(nullptr, 0));
    ask("cudaGraphCreate", r.cudaGraphCreate(&graph, 0));
    r.cudaGraphCreate(&other, 0);
    ask("cudaGraphAddEmptyNode", r.cudaGraphAddEmptyNode(&a, graph, nullptr, 0));
    r.cudaGraphAddEmptyNode(&b, graph, nullptr, 0);
    r.cudaGraphAddEmptyNode(&foreign, other, nullptr, 0);
    cudaGraphNode_t none = nullptr;
    ask("cudaGraphAddEmptyNode after another graph's node",
        r.cudaGraphAddEmptyNode(&none, graph, &foreign, 1));
    structure(graph, a, b, foreign);
    clones(graph, a, foreign);
    ask("cudaGraphDestroyNode(null)", r.cudaGraphDestroyNode(nullptr));
    ask("cudaGraphDestroyNode", r.cudaGraphDestroyNode(b));
    ask("cudaGraphDestroy(null)", r.cudaGraphDestroy(nullptr));
    ask("cudaGraphDestroy", r.cudaGraphDestroy(graph));
    ask("cudaGraphDestroy", r.cudaGraphDestroy(other));
}

namespace {

void memset_nodes(const Graph &in) {
    cudaGraphNode_t node = nullptr, none = nullptr;
    cudaMemsetParams fill = filling(in.p), seen{};
    ask("cudaGraphAddMemsetNode", r.cudaGraphAddMemsetNode(&node, in.graph, nullptr, 0, &fill));
    ask("cudaGraphMemsetNodeGetParams", r.cudaGraphMemsetNodeGetParams(node, &seen));
    note("width", static_cast<long long>(seen.width));
    ask("cudaGraphMemsetNodeGetParams of an empty node",
        r.cudaGraphMemsetNodeGetParams(in.empty, &seen));
    fill.value = 9;
    ask("cudaGraphMemsetNodeSetParams", r.cudaGraphMemsetNodeSetParams(node, &fill));
    fill.elementSize = 3;
    ask("cudaGraphAddMemsetNode, element size 3",
        r.cudaGraphAddMemsetNode(&none, in.graph, nullptr, 0, &fill));
    ask("cudaGraphMemsetNodeSetParams, element size 3",
        r.cudaGraphMemsetNodeSetParams(node, &fill));
}

void copy_nodes(const Graph &in) {
    cudaGraphNode_t node = nullptr, row = nullptr, none = nullptr;
    cudaMemcpy3DParms block = copying(in.p, in.h), seen{};
    const auto to_device = cudaMemcpyHostToDevice, unknown = static_cast<cudaMemcpyKind>(99);
    ask("cudaGraphAddMemcpyNode", r.cudaGraphAddMemcpyNode(&node, in.graph, nullptr, 0, &block));
    ask("cudaGraphMemcpyNodeGetParams", r.cudaGraphMemcpyNodeGetParams(node, &seen));
    note("width", static_cast<long long>(seen.extent.width));
    note("kind", seen.kind);
    ask("cudaGraphMemcpyNodeGetParams of an empty node",
        r.cudaGraphMemcpyNodeGetParams(in.empty, &seen));
    ask("cudaGraphMemcpyNodeSetParams", r.cudaGraphMemcpyNodeSetParams(node, &block));
    block.kind = unknown;
    ask("cudaGraphMemcpyNodeSetParams, kind 99", r.cudaGraphMemcpyNodeSetParams(node, &block));
    ask("cudaGraphAddMemcpyNode, kind 99",
        r.cudaGraphAddMemcpyNode(&none, in.graph, nullptr, 0, &block));
    ask("cudaGraphAddMemcpyNode1D",
        r.cudaGraphAddMemcpyNode1D(&row, in.graph, nullptr, 0, in.p, in.h, 64, to_device));
    ask("cudaGraphAddMemcpyNode1D, kind 99",
        r.cudaGraphAddMemcpyNode1D(&none, in.graph, nullptr, 0, in.p, in.h, 64, unknown));
    ask("cudaGraphMemcpyNodeSetParams1D",
        r.cudaGraphMemcpyNodeSetParams1D(row, in.p, in.h, 32, to_device));
    ask("cudaGraphMemcpyNodeSetParams1D, kind 99",
        r.cudaGraphMemcpyNodeSetParams1D(row, in.p, in.h, 32, unknown));
}

void host_nodes(const Graph &in) {
    cudaGraphNode_t node = nullptr, none = nullptr;
    cudaHostNodeParams call{nothing, nullptr}, seen{};
    ask("cudaGraphAddHostNode", r.cudaGraphAddHostNode(&node, in.graph, nullptr, 0, &call));
    ask("cudaGraphHostNodeGetParams", r.cudaGraphHostNodeGetParams(node, &seen));
    note("the same function", seen.fn == nothing);
    ask("cudaGraphHostNodeGetParams of an empty node",
        r.cudaGraphHostNodeGetParams(in.empty, &seen));
    ask("cudaGraphHostNodeSetParams", r.cudaGraphHostNodeSetParams(node, &call));
    call.fn = nullptr;
    ask("cudaGraphAddHostNode without a function",
        r.cudaGraphAddHostNode(&none, in.graph, nullptr, 0, &call));
    ask("cudaGraphHostNodeSetParams without a function", r.cudaGraphHostNodeSetParams(node, &call));
}

void child_nodes(const Graph &in) {
    cudaGraphNode_t node = nullptr, none = nullptr;
    cudaGraph_t child = nullptr, seen = nullptr;
    r.cudaGraphCreate(&child, 0);
    r.cudaGraphAddEmptyNode(&none, child, nullptr, 0);
    ask("cudaGraphAddChildGraphNode",
        r.cudaGraphAddChildGraphNode(&node, in.graph, nullptr, 0, child));
    ask("cudaGraphAddChildGraphNode of null",
        r.cudaGraphAddChildGraphNode(&none, in.graph, nullptr, 0, nullptr));
    ask("cudaGraphChildGraphNodeGetGraph", r.cudaGraphChildGraphNodeGetGraph(node, &seen));
    note("a graph of its own", seen != nullptr && seen != child);
    ask("cudaGraphChildGraphNodeGetGraph of an empty node",
        r.cudaGraphChildGraphNodeGetGraph(in.empty, &seen));
    r.cudaGraphDestroy(child);
}

void event_nodes(const Graph &in) {
    cudaGraphNode_t recording = nullptr, waiting = nullptr, none = nullptr;
    cudaEvent_t event = nullptr, other = nullptr, seen = nullptr;
    r.cudaEventCreate(&event);
    r.cudaEventCreate(&other);
    ask("cudaGraphAddEventRecordNode",
        r.cudaGraphAddEventRecordNode(&recording, in.graph, nullptr, 0, event));
    ask("cudaGraphAddEventRecordNode of null",
        r.cudaGraphAddEventRecordNode(&none, in.graph, nullptr, 0, nullptr));
    ask("cudaGraphEventRecordNodeGetEvent", r.cudaGraphEventRecordNodeGetEvent(recording, &seen));
    note("the same event", seen == event);
    ask("cudaGraphEventRecordNodeGetEvent of an empty node",
        r.cudaGraphEventRecordNodeGetEvent(in.empty, &seen));
    ask("cudaGraphEventRecordNodeSetEvent", r.cudaGraphEventRecordNodeSetEvent(recording, other));
    ask("cudaGraphEventRecordNodeSetEvent of an empty node",
        r.cudaGraphEventRecordNodeSetEvent(in.empty, other));
    ask("cudaGraphAddEventWaitNode",
        r.cudaGraphAddEventWaitNode(&waiting, in.graph, nullptr, 0, event));
    ask("cudaGraphAddEventWaitNode of null",
        r.cudaGraphAddEventWaitNode(&none, in.graph, nullptr, 0, nullptr));
    ask("cudaGraphEventWaitNodeGetEvent", r.cudaGraphEventWaitNodeGetEvent(waiting, &seen));
    ask("cudaGraphEventWaitNodeGetEvent of an empty node",
        r.cudaGraphEventWaitNodeGetEvent(in.empty, &seen));
    ask("cudaGraphEventWaitNodeSetEvent", r.cudaGraphEventWaitNodeSetEvent(waiting, other));
    ask("cudaGraphEventWaitNodeSetEvent of an empty node",
        r.cudaGraphEventWaitNodeSetEvent(in.empty, other));
}

} // namespace

void graph_nodes() {
    if (!begin()) {
        return;
    }
    const Graph in;
    memset_nodes(in);
    copy_nodes(in);
    host_nodes(in);
    child_nodes(in);
    event_nodes(in);
}

// Memory nodes.
void graph_memory() {
    if (!begin()) {
        return;
    }
    const Graph in;
    cudaGraphNode_t node = nullptr, none = nullptr, freeing = nullptr;
    cudaMemAllocNodeParams wanted{}, seen{};
    wanted.poolProps.allocType = cudaMemAllocationTypePinned;
    wanted.poolProps.location.type = cudaMemLocationTypeDevice;
    ask("cudaGraphAddMemAllocNode of 0",
        r.cudaGraphAddMemAllocNode(&none, in.graph, nullptr, 0, &wanted));
    wanted.bytesize = 4096;
    ask("cudaGraphAddMemAllocNode",
        r.cudaGraphAddMemAllocNode(&node, in.graph, nullptr, 0, &wanted));
    ask("cudaGraphMemAllocNodeGetParams", r.cudaGraphMemAllocNodeGetParams(node, &seen));
    note("size", static_cast<long long>(seen.bytesize));
    note("the same address", seen.dptr == wanted.dptr);
    ask("cudaGraphMemAllocNodeGetParams of an empty node",
        r.cudaGraphMemAllocNodeGetParams(in.empty, &seen));
    ask("cudaGraphAddMemFreeNode",
        r.cudaGraphAddMemFreeNode(&freeing, in.graph, &node, 1, wanted.dptr));
    ask("cudaGraphAddMemFreeNode again",
        r.cudaGraphAddMemFreeNode(&none, in.graph, &node, 1, wanted.dptr));
    void *address = nullptr;
    ask("cudaGraphMemFreeNodeGetParams", r.cudaGraphMemFreeNodeGetParams(freeing, &address));
    note("the same address", address == wanted.dptr);
    ask("cudaGraphMemFreeNodeGetParams of an empty node",
        r.cudaGraphMemFreeNodeGetParams(in.empty, &address));
    cudaGraphExec_t exec = nullptr;
    ask("cudaGraphInstantiateWithFlags", r.cudaGraphInstantiateWithFlags(&exec, in.graph, 0));
    ask("cudaGraphLaunch", r.cudaGraphLaunch(exec, nullptr));
    ask("cudaDeviceSynchronize", r.cudaDeviceSynchronize());
    unsigned long long value = 77;
    const auto used = cudaGraphMemAttrUsedMemHigh, now = cudaGraphMemAttrUsedMemCurrent;
    const auto unknown = static_cast<cudaGraphMemAttributeType>(99);
    ask("cudaDeviceGetGraphMemAttribute(used now)",
        r.cudaDeviceGetGraphMemAttribute(0, now, &value));
    note("used", static_cast<long long>(value));
    ask("cudaDeviceGetGraphMemAttribute(99)", r.cudaDeviceGetGraphMemAttribute(0, unknown, &value));
    ask("cudaDeviceGetGraphMemAttribute(device 1000)",
        r.cudaDeviceGetGraphMemAttribute(1000, now, &value));
    value = 0;
    ask("cudaDeviceSetGraphMemAttribute(used high)",
        r.cudaDeviceSetGraphMemAttribute(0, used, &value));
    ask("cudaDeviceSetGraphMemAttribute(used now)",
        r.cudaDeviceSetGraphMemAttribute(0, now, &value));
    ask("cudaGraphExecDestroy", r.cudaGraphExecDestroy(exec));
    ask("cudaDeviceGraphMemTrim", r.cudaDeviceGraphMemTrim(0));
    ask("cudaDeviceGraphMemTrim(1000)", r.cudaDeviceGraphMemTrim(1000));
}

void user_objects() {
    if (!begin()) {
        return;
    }
    const Graph in;
    cudaUserObject_t object = nullptr;
    const auto async = cudaUserObjectNoDestructorSync;
    ask("cudaUserObjectCreate without a function",
        r.cudaUserObjectCreate(&object, nullptr, nullptr, 1, async));
    ask("cudaUserObjectCreate(flags 0)", r.cudaUserObjectCreate(&object, nullptr, nothing, 1, 0));
    ask("cudaUserObjectCreate(count 0)",
        r.cudaUserObjectCreate(&object, nullptr, nothing, 0, async));
    ask("cudaUserObjectCreate", r.cudaUserObjectCreate(&object, nullptr, nothing, 1, async));
    ask("cudaUserObjectRetain(0)", r.cudaUserObjectRetain(object, 0));
    ask("cudaUserObjectRetain(2)", r.cudaUserObjectRetain(object, 2));
    ask("cudaUserObjectRelease(0)", r.cudaUserObjectRelease(object, 0));
    ask("cudaUserObjectRelease(1)", r.cudaUserObjectRelease(object, 1));
    ask("cudaGraphRetainUserObject(flags 77)",
        r.cudaGraphRetainUserObject(in.graph, object, 1, 77));
    ask("cudaGraphRetainUserObject", r.cudaGraphRetainUserObject(in.graph, object, 1, 0));
    ask("cudaGraphRetainUserObject(move)",
        r.cudaGraphRetainUserObject(in.graph, object, 1, cudaGraphUserObjectMove));
    ask("cudaGraphReleaseUserObject(0)", r.cudaGraphReleaseUserObject(in.graph, object, 0));
    ask("cudaGraphReleaseUserObject(1)", r.cudaGraphReleaseUserObject(in.graph, object, 1));
    ask("cudaUserObjectRelease(1), the last", r.cudaUserObjectRelease(object, 1));
}

} // namespace record::QUESTIONS::runtime
