// Host, empty and event nodes.
#include "driver_functions.hpp"
#include "engine/event_work.hpp"
#include "engine/host_function.hpp"
#include "engine/stream.hpp"
#include "graph/graph_nodes.hpp"

namespace sim {

NodeContent host_content(const CUDA_HOST_NODE_PARAMS &parameters) {
    require(parameters.fn != nullptr, "Host function cannot be NULL");
    NodeContent content;
    content.work = host_work(parameters.fn, parameters.userData, "host node");
    return content;
}

NodeContent empty_content() {
    NodeContent content;
    content.work.what = "empty node";
    return content;
}

NodeContent event_content(CUgraphNodeType type, CUevent handle) {
    require(handle != nullptr, "event cannot be NULL");
    Event &event = checked(handle, CUDA_ERROR_INVALID_VALUE);
    NodeContent content;
    content.work = type == CU_GRAPH_NODE_TYPE_EVENT_RECORD
                       ? event_record_work(event, "event record node")
                       : event_wait_work(event, "event wait node");
    content.work.type = type;
    content.work.parameters = handle;
    content.context = event.context;
    return content;
}

CUDA_HOST_NODE_PARAMS host_parameters(const NodeContent &content) {
    return std::any_cast<const CUDA_HOST_NODE_PARAMS &>(content.work.parameters);
}

namespace driver {
namespace {

CUevent event_of(CUgraphNode node, CUgraphNodeType type) {
    return std::any_cast<CUevent>(node_of(node, type).content.work.parameters);
}

} // namespace

CUresult cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                            const CUgraphNode *dependencies, size_t numDependencies,
                            const CUDA_HOST_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    new_node(phGraphNode, hGraph, dependencies, numDependencies, nullptr,
             [&](Graph &) { return host_content(*nodeParams); });
    return CUDA_SUCCESS;
}

CUresult cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    *nodeParams = host_parameters(node_of(hNode, CU_GRAPH_NODE_TYPE_HOST).content);
    return CUDA_SUCCESS;
}

CUresult cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    set_content(hNode, host_content(*nodeParams));
    return CUDA_SUCCESS;
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                      const CUDA_HOST_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    set_content(hGraphExec, hNode, host_content(*nodeParams));
    return CUDA_SUCCESS;
}

CUresult cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                             const CUgraphNode *dependencies, size_t numDependencies) {
    new_node(phGraphNode, hGraph, dependencies, numDependencies, nullptr,
             [](Graph &) { return empty_content(); });
    return CUDA_SUCCESS;
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                   const CUgraphNode *dependencies, size_t numDependencies,
                                   CUevent event) {
    new_node(phGraphNode, hGraph, dependencies, numDependencies, nullptr,
             [&](Graph &) { return event_content(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event); });
    return CUDA_SUCCESS;
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent *event_out) {
    require(event_out != nullptr);
    *event_out = event_of(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    return CUDA_SUCCESS;
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event) {
    set_content(hNode, event_content(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event));
    return CUDA_SUCCESS;
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            CUevent event) {
    set_content(hGraphExec, hNode, event_content(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event));
    return CUDA_SUCCESS;
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                 const CUgraphNode *dependencies, size_t numDependencies,
                                 CUevent event) {
    new_node(phGraphNode, hGraph, dependencies, numDependencies, nullptr,
             [&](Graph &) { return event_content(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event); });
    return CUDA_SUCCESS;
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent *event_out) {
    require(event_out != nullptr);
    *event_out = event_of(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    return CUDA_SUCCESS;
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event) {
    set_content(hNode, event_content(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event));
    return CUDA_SUCCESS;
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                          CUevent event) {
    set_content(hGraphExec, hNode, event_content(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event));
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
