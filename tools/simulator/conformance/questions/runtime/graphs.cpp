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
    ASK(cudaGraphGetNodes, ", the number", graph, nullptr, &count).note("nodes", count);
    ASK(cudaGraphGetNodes, "(null)", nullptr, nullptr, &count);
    count = 4;
    ASK(cudaGraphGetNodes, "(4)", graph, nodes, &count).note("count", count);
    ASK(cudaGraphGetRootNodes, ", the number", graph, nullptr, &count).note("roots", count);
    ASK(cudaGraphGetRootNodes, "(null)", nullptr, nullptr, &count);
    ask("cudaGraphGetEdges, the number", edges(graph, &count)).note("edges", count);
    ask("cudaGraphGetEdges(null)", edges(nullptr, &count));
    ask("cudaGraphNodeGetDependencies, the number", dependencies_of(b, &count));
    note("dependencies", count);
    ask("cudaGraphNodeGetDependencies(null)", dependencies_of(nullptr, &count));
    ask("cudaGraphNodeGetDependentNodes, the number", dependents_of(a, &count));
    note("dependents", count);
    ask("cudaGraphNodeGetDependentNodes(null)", dependents_of(nullptr, &count));
    cudaGraphNodeType type{};
    ASK(cudaGraphNodeGetType, "", a, &type).note("type", type);
    ASK(cudaGraphNodeGetType, "(null)", nullptr, &type);
}

void clones(cudaGraph_t graph, cudaGraphNode_t a, cudaGraphNode_t foreign) {
    cudaGraph_t clone = nullptr;
    cudaGraphNode_t found = nullptr;
    ASK(cudaGraphClone, "(null)", &clone, nullptr);
    ASK(cudaGraphClone, "", &clone, graph);
    ASK(cudaGraphNodeFindInClone, "", &found, a, clone);
    ASK(cudaGraphNodeFindInClone, " of another graph", &found, foreign, clone);
    ASK(cudaGraphDestroy, " of the clone", clone);
    ASK(cudaGraphDebugDotPrint, "", graph, "/dev/null", 0);
    ASK(cudaGraphDebugDotPrint, " into no folder", graph, "/nonexistent/graph.dot", 0);
}

} // namespace

SECTION_ONCE("graphs", begin) {
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t a = nullptr;
    ASK(cudaGraphCreate, "(flags 1)", &graph, 1);
    ASK(cudaGraphCreate, "(null)", nullptr, 0);
    ASK(cudaGraphCreate, "", &graph, 0);
    cudaGraph_t other = MAKE(cudaGraphCreate, 0);
    ASK(cudaGraphAddEmptyNode, "", &a, graph, nullptr, 0);
    cudaGraphNode_t b = MAKE(cudaGraphAddEmptyNode, graph, nullptr, 0);
    cudaGraphNode_t foreign = MAKE(cudaGraphAddEmptyNode, other, nullptr, 0);
    cudaGraphNode_t none = nullptr;
    ASK(cudaGraphAddEmptyNode, " after another graph's node", &none, graph, &foreign, 1);
    structure(graph, a, b, foreign);
    clones(graph, a, foreign);
    ASK(cudaGraphDestroyNode, "(null)", nullptr);
    ASK(cudaGraphDestroyNode, "", b);
    ASK(cudaGraphDestroy, "(null)", nullptr);
    ASK(cudaGraphDestroy, "", graph);
    ASK(cudaGraphDestroy, "", other);
}

namespace {

void memset_nodes(const Graph &in) {
    cudaGraphNode_t node = nullptr, none = nullptr;
    cudaMemsetParams fill = filling(in.p), seen{};
    ASK(cudaGraphAddMemsetNode, "", &node, in.graph, nullptr, 0, &fill);
    ASK(cudaGraphMemsetNodeGetParams, "", node, &seen).note("width", seen.width);
    ASK(cudaGraphMemsetNodeGetParams, " of an empty node", in.empty, &seen);
    fill.value = 9;
    ASK(cudaGraphMemsetNodeSetParams, "", node, &fill);
    fill.elementSize = 3;
    ASK(cudaGraphAddMemsetNode, ", element size 3", &none, in.graph, nullptr, 0, &fill);
    ASK(cudaGraphMemsetNodeSetParams, ", element size 3", node, &fill);
}

void copy_nodes(const Graph &in) {
    cudaGraphNode_t node = nullptr, row = nullptr, none = nullptr;
    cudaMemcpy3DParms block = copying(in.p, in.h), seen{};
    const auto to_device = cudaMemcpyHostToDevice, unknown = static_cast<cudaMemcpyKind>(99);
    ASK(cudaGraphAddMemcpyNode, "", &node, in.graph, nullptr, 0, &block);
    ASK(cudaGraphMemcpyNodeGetParams, "", node, &seen).note("width", seen.extent.width);
    note("kind", seen.kind);
    ASK(cudaGraphMemcpyNodeGetParams, " of an empty node", in.empty, &seen);
    ASK(cudaGraphMemcpyNodeSetParams, "", node, &block);
    block.kind = unknown;
    ASK(cudaGraphMemcpyNodeSetParams, ", kind 99", node, &block);
    ASK(cudaGraphAddMemcpyNode, ", kind 99", &none, in.graph, nullptr, 0, &block);
    ASK(cudaGraphAddMemcpyNode1D, "", &row, in.graph, nullptr, 0, in.p, in.h, 64, to_device);
    ASK(cudaGraphAddMemcpyNode1D, ", kind 99", &none, in.graph, nullptr, 0, in.p, in.h, 64,
        unknown);
    ASK(cudaGraphMemcpyNodeSetParams1D, "", row, in.p, in.h, 32, to_device);
    ASK(cudaGraphMemcpyNodeSetParams1D, ", kind 99", row, in.p, in.h, 32, unknown);
}

void host_nodes(const Graph &in) {
    cudaGraphNode_t node = nullptr, none = nullptr;
    cudaHostNodeParams call{nothing, nullptr}, seen{};
    ASK(cudaGraphAddHostNode, "", &node, in.graph, nullptr, 0, &call);
    ASK(cudaGraphHostNodeGetParams, "", node, &seen).note("the same function", seen.fn == nothing);
    ASK(cudaGraphHostNodeGetParams, " of an empty node", in.empty, &seen);
    ASK(cudaGraphHostNodeSetParams, "", node, &call);
    call.fn = nullptr;
    ASK(cudaGraphAddHostNode, " without a function", &none, in.graph, nullptr, 0, &call);
    ASK(cudaGraphHostNodeSetParams, " without a function", node, &call);
}

void child_nodes(const Graph &in) {
    cudaGraphNode_t node = nullptr;
    cudaGraph_t seen = nullptr;
    cudaGraph_t child = MAKE(cudaGraphCreate, 0);
    cudaGraphNode_t none = MAKE(cudaGraphAddEmptyNode, child, nullptr, 0);
    ASK(cudaGraphAddChildGraphNode, "", &node, in.graph, nullptr, 0, child);
    ASK(cudaGraphAddChildGraphNode, " of null", &none, in.graph, nullptr, 0, nullptr);
    ASK(cudaGraphChildGraphNodeGetGraph, "", node, &seen);
    note("a graph of its own", seen != nullptr && seen != child);
    ASK(cudaGraphChildGraphNodeGetGraph, " of an empty node", in.empty, &seen);
    r.cudaGraphDestroy(child);
}

void event_nodes(const Graph &in) {
    cudaGraphNode_t recording = nullptr, waiting = nullptr, none = nullptr;
    cudaEvent_t seen = nullptr;
    cudaEvent_t event = MAKE(cudaEventCreate);
    cudaEvent_t other = MAKE(cudaEventCreate);
    ASK(cudaGraphAddEventRecordNode, "", &recording, in.graph, nullptr, 0, event);
    ASK(cudaGraphAddEventRecordNode, " of null", &none, in.graph, nullptr, 0, nullptr);
    ASK(cudaGraphEventRecordNodeGetEvent, "", recording, &seen);
    note("the same event", seen == event);
    ASK(cudaGraphEventRecordNodeGetEvent, " of an empty node", in.empty, &seen);
    ASK(cudaGraphEventRecordNodeSetEvent, "", recording, other);
    ASK(cudaGraphEventRecordNodeSetEvent, " of an empty node", in.empty, other);
    ASK(cudaGraphAddEventWaitNode, "", &waiting, in.graph, nullptr, 0, event);
    ASK(cudaGraphAddEventWaitNode, " of null", &none, in.graph, nullptr, 0, nullptr);
    ASK(cudaGraphEventWaitNodeGetEvent, "", waiting, &seen);
    ASK(cudaGraphEventWaitNodeGetEvent, " of an empty node", in.empty, &seen);
    ASK(cudaGraphEventWaitNodeSetEvent, "", waiting, other);
    ASK(cudaGraphEventWaitNodeSetEvent, " of an empty node", in.empty, other);
}

} // namespace

SECTION_ONCE("graph_nodes", begin) {
    const Graph in;
    memset_nodes(in);
    copy_nodes(in);
    host_nodes(in);
    child_nodes(in);
    event_nodes(in);
}

// Memory nodes.
SECTION_ONCE("graph_memory", begin) {
    const Graph in;
    cudaGraphNode_t node = nullptr, none = nullptr, freeing = nullptr;
    cudaMemAllocNodeParams wanted{}, seen{};
    wanted.poolProps.allocType = cudaMemAllocationTypePinned;
    wanted.poolProps.location.type = cudaMemLocationTypeDevice;
    ASK(cudaGraphAddMemAllocNode, " of 0", &none, in.graph, nullptr, 0, &wanted);
    wanted.bytesize = 4096;
    ASK(cudaGraphAddMemAllocNode, "", &node, in.graph, nullptr, 0, &wanted);
    ASK(cudaGraphMemAllocNodeGetParams, "", node, &seen).note("size", seen.bytesize);
    note("the same address", seen.dptr == wanted.dptr);
    ASK(cudaGraphMemAllocNodeGetParams, " of an empty node", in.empty, &seen);
    ASK(cudaGraphAddMemFreeNode, "", &freeing, in.graph, &node, 1, wanted.dptr);
    ASK(cudaGraphAddMemFreeNode, " again", &none, in.graph, &node, 1, wanted.dptr);
    void *address = nullptr;
    ASK(cudaGraphMemFreeNodeGetParams, "", freeing, &address);
    note("the same address", address == wanted.dptr);
    ASK(cudaGraphMemFreeNodeGetParams, " of an empty node", in.empty, &address);
    cudaGraphExec_t exec = nullptr;
    ASK(cudaGraphInstantiateWithFlags, "", &exec, in.graph, 0);
    ASK(cudaGraphLaunch, "", exec, nullptr);
    ASK(cudaDeviceSynchronize, "");
    unsigned long long value = 77;
    const auto used = cudaGraphMemAttrUsedMemHigh, now = cudaGraphMemAttrUsedMemCurrent;
    const auto unknown = static_cast<cudaGraphMemAttributeType>(99);
    ASK(cudaDeviceGetGraphMemAttribute, "(used now)", 0, now, &value).note("used", value);
    ASK(cudaDeviceGetGraphMemAttribute, "(99)", 0, unknown, &value);
    ASK(cudaDeviceGetGraphMemAttribute, "(device 1000)", 1000, now, &value);
    value = 0;
    ASK(cudaDeviceSetGraphMemAttribute, "(used high)", 0, used, &value);
    ASK(cudaDeviceSetGraphMemAttribute, "(used now)", 0, now, &value);
    ASK(cudaGraphExecDestroy, "", exec);
    ASK(cudaDeviceGraphMemTrim, "", 0);
    ASK(cudaDeviceGraphMemTrim, "(1000)", 1000);
}

SECTION_ONCE("user_objects", begin) {
    const Graph in;
    cudaUserObject_t object = nullptr;
    const auto async = cudaUserObjectNoDestructorSync;
    ASK(cudaUserObjectCreate, " without a function", &object, nullptr, nullptr, 1, async);
    ASK(cudaUserObjectCreate, "(flags 0)", &object, nullptr, nothing, 1, 0);
    ASK(cudaUserObjectCreate, "(count 0)", &object, nullptr, nothing, 0, async);
    ASK(cudaUserObjectCreate, "", &object, nullptr, nothing, 1, async);
    ASK(cudaUserObjectRetain, "(0)", object, 0);
    ASK(cudaUserObjectRetain, "(2)", object, 2);
    ASK(cudaUserObjectRelease, "(0)", object, 0);
    ASK(cudaUserObjectRelease, "(1)", object, 1);
    ASK(cudaGraphRetainUserObject, "(flags 77)", in.graph, object, 1, 77);
    ASK(cudaGraphRetainUserObject, "", in.graph, object, 1, 0);
    ASK(cudaGraphRetainUserObject, "(move)", in.graph, object, 1, cudaGraphUserObjectMove);
    ASK(cudaGraphReleaseUserObject, "(0)", in.graph, object, 0);
    ASK(cudaGraphReleaseUserObject, "(1)", in.graph, object, 1);
    ASK(cudaUserObjectRelease, "(1), the last", object, 1);
}

} // namespace record::QUESTIONS::runtime
