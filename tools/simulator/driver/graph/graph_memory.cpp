// Nodes that allocate and free memory, and attributes of that memory.
#include "engine/graph_memory.hpp"
#include "base/poison.hpp"
#include "driver_functions.hpp"
#include "engine/device.hpp"
#include "graph/graph_nodes.hpp"

namespace sim {

CUDA_MEM_ALLOC_NODE_PARAMS allocation_parameters(const NodeContent &content) {
    return content.allocation->parameters;
}

namespace driver {

CUresult cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                const CUgraphNode *dependencies, size_t numDependencies,
                                CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams) {
    require(nodeParams != nullptr);
    poison(&nodeParams->dptr);
    const Node &node = new_node(phGraphNode, hGraph, dependencies, numDependencies, nullptr,
                                [&](Graph &graph) { return allocation_node(graph, *nodeParams); });
    nodeParams->dptr = node.content.allocation->address;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                               const CUgraphNode *dependencies, size_t numDependencies,
                               CUdeviceptr dptr) {
    new_node(phGraphNode, hGraph, dependencies, numDependencies, nullptr,
             [&](Graph &graph) { return free_node(graph, dptr); });
    return CUDA_SUCCESS;
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out) {
    require(params_out != nullptr);
    *params_out = allocation_parameters(node_of(hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC).content);
    return CUDA_SUCCESS;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr *dptr_out) {
    require(dptr_out != nullptr);
    *dptr_out = node_of(hNode, CU_GRAPH_NODE_TYPE_MEM_FREE).content.allocation->address;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value) {
    const int ordinal = sim::device(device).ordinal;
    require(value != nullptr);
    *static_cast<cuuint64_t *>(value) = graph_memory_attribute(ordinal, attr);
    return CUDA_SUCCESS;
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value) {
    const int ordinal = sim::device(device).ordinal;
    require(value != nullptr && *static_cast<const cuuint64_t *>(value) == 0);
    restart_graph_memory_mark(ordinal, attr);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
    trim_graph_memory(sim::device(device, "device").ordinal);
    return CUDA_SUCCESS;
}

} // namespace driver
} // namespace sim
