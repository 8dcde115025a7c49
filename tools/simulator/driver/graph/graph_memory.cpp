// Nodes that allocate and free memory, and attributes of that memory.
#include "engine/graph_memory.hpp"
#include "base/poison.hpp"
#include "driver_functions.hpp"
#include "engine/device.hpp"
#include "graph/graph_nodes.hpp"

namespace sim {

void AllocationNode::show(Node &node, Parameters &out) {
    out = node.content.allocation->parameters;
}

void FreeNode::show(Node &node, Parameters &out) {
    out = node.content.allocation->address;
}

namespace driver {

EXPORT CUresult cuGraphAddMemAllocNode(OUT CUgraphNode *phGraphNode, CUgraph hGraph,
                                       const CUgraphNode *dependencies, size_t numDependencies,
                                       CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    poison(&nodeParams->dptr);
    const Node &node = new_node(phGraphNode, hGraph, dependencies, numDependencies, nullptr,
                                [&](Graph &graph) { return allocation_node(graph, *nodeParams); });
    nodeParams->dptr = node.content.allocation->address;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphAddMemFreeNode(OUT CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      CUdeviceptr dptr) {
    new_node(phGraphNode, hGraph, dependencies, numDependencies, nullptr,
             [&](Graph &graph) { return free_node(graph, dptr); });
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr,
                                             void *value) {
    const int ordinal = sim::device(device).ordinal;
    require(value != nullptr);
    *static_cast<cuuint64_t *>(value) = graph_memory_attribute(ordinal, attr);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr,
                                             void *value) {
    const int ordinal = sim::device(device).ordinal;
    require(value != nullptr && *static_cast<const cuuint64_t *>(value) == 0);
    restart_graph_memory_mark(ordinal, attr);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGraphMemTrim(CUdevice device) {
    trim_graph_memory(sim::device(device, "device").ordinal);
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
