// Graphs: creation, destruction, nodes, edges.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

namespace sim::runtime {

cudaError_t cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags) {
    return CU(cuGraphCreate)(pGraph, flags);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    return CU(cuGraphDestroy)(graph);
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
    return CU(cuGraphDestroyNode)(node);
}

cudaError_t cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph) {
    return CU(cuGraphClone)(pGraphClone, originalGraph);
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *pNode, cudaGraphNode_t originalNode,
                                     cudaGraph_t clonedGraph) {
    return CU(cuGraphNodeFindInClone)(pNode, originalNode, clonedGraph);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType *pType) {
    return CU(cuGraphNodeGetType)(node, same_memory<CUgraphNodeType>(pType));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes) {
    return CU(cuGraphGetNodes)(graph, nodes, numNodes);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes,
                                  size_t *pNumRootNodes) {
    return CU(cuGraphGetRootNodes)(graph, pRootNodes, pNumRootNodes);
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags) {
    return CU(cuGraphDebugDotPrint)(graph, path, flags);
}

// --- edges: with edge data since CUDA 12.3, under separate names until CUDA 13

#if CUDART_VERSION >= 12030
namespace {

cudaError_t get_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                      cudaGraphEdgeData *data, size_t *count) {
    return CU(cuGraphGetEdges_v2)(graph, from, to, same_memory<CUgraphEdgeData>(data), count);
}

cudaError_t get_dependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data,
                             size_t *count) {
    return CU(cuGraphNodeGetDependencies_v2)(node, nodes, same_memory<CUgraphEdgeData>(data),
                                             count);
}

cudaError_t get_dependents(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data,
                           size_t *count) {
    return CU(cuGraphNodeGetDependentNodes_v2)(node, nodes, same_memory<CUgraphEdgeData>(data),
                                               count);
}

cudaError_t add_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                             const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                             size_t count) {
    return CU(cuGraphAddDependencies_v2)(graph, from, to, same_memory<const CUgraphEdgeData>(data),
                                         count);
}

cudaError_t remove_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                                size_t count) {
    return CU(cuGraphRemoveDependencies_v2)(graph, from, to,
                                            same_memory<const CUgraphEdgeData>(data), count);
}

} // namespace
#endif

#if CUDART_VERSION >= 13000
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                              cudaGraphEdgeData *edgeData, size_t *numEdges) {
    return get_edges(graph, from, to, edgeData, numEdges);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
                                         cudaGraphEdgeData *edgeData, size_t *pNumDependencies) {
    return get_dependencies(node, pDependencies, edgeData, pNumDependencies);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes,
                                           cudaGraphEdgeData *edgeData,
                                           size_t *pNumDependentNodes) {
    return get_dependents(node, pDependentNodes, edgeData, pNumDependentNodes);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                     const cudaGraphNode_t *to, const cudaGraphEdgeData *edgeData,
                                     size_t numDependencies) {
    return add_dependencies(graph, from, to, edgeData, numDependencies);
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                        const cudaGraphNode_t *to,
                                        const cudaGraphEdgeData *edgeData, size_t numDependencies) {
    return remove_dependencies(graph, from, to, edgeData, numDependencies);
}
#else
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                              size_t *numEdges) {
    return CU(cuGraphGetEdges)(graph, from, to, numEdges);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
                                         size_t *pNumDependencies) {
    return CU(cuGraphNodeGetDependencies)(node, pDependencies, pNumDependencies);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes,
                                           size_t *pNumDependentNodes) {
    return CU(cuGraphNodeGetDependentNodes)(node, pDependentNodes, pNumDependentNodes);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                     const cudaGraphNode_t *to, size_t numDependencies) {
    return CU(cuGraphAddDependencies)(graph, from, to, numDependencies);
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                        const cudaGraphNode_t *to, size_t numDependencies) {
    return CU(cuGraphRemoveDependencies)(graph, from, to, numDependencies);
}
#if CUDART_VERSION >= 12030
cudaError_t cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                 cudaGraphEdgeData *edgeData, size_t *numEdges) {
    return get_edges(graph, from, to, edgeData, numEdges);
}

cudaError_t cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
                                            cudaGraphEdgeData *edgeData, size_t *pNumDependencies) {
    return get_dependencies(node, pDependencies, edgeData, pNumDependencies);
}

cudaError_t cudaGraphNodeGetDependentNodes_v2(cudaGraphNode_t node,
                                              cudaGraphNode_t *pDependentNodes,
                                              cudaGraphEdgeData *edgeData,
                                              size_t *pNumDependentNodes) {
    return get_dependents(node, pDependentNodes, edgeData, pNumDependentNodes);
}

cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from,
                                        const cudaGraphNode_t *to,
                                        const cudaGraphEdgeData *edgeData, size_t numDependencies) {
    return add_dependencies(graph, from, to, edgeData, numDependencies);
}

cudaError_t cudaGraphRemoveDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from,
                                           const cudaGraphNode_t *to,
                                           const cudaGraphEdgeData *edgeData,
                                           size_t numDependencies) {
    return remove_dependencies(graph, from, to, edgeData, numDependencies);
}
#endif
#endif

} // namespace sim::runtime
