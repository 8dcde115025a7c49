// Memcpy nodes: three-dimensional, of a row of bytes, of a symbol.
#include "runtime/base/driver_api.hpp"
#include "runtime/graph/graph_parameters.hpp"
#include "runtime/memory/copy_parameters.hpp"

namespace sim::runtime {
namespace {

cudaError_t add(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                size_t count, const CUDA_MEMCPY3D &copy) {
    const CUcontext context = current_context();
    return CU(cuGraphAddMemcpyNode)(node, graph, dependencies, count, &copy, context);
}

cudaError_t set(cudaGraphNode_t node, const CUDA_MEMCPY3D &copy) {
    return CU(cuGraphMemcpyNodeSetParams)(node, &copy);
}

cudaError_t set(cudaGraphExec_t executable, cudaGraphNode_t node, const CUDA_MEMCPY3D &copy) {
    const CUcontext context = current_context();
    return CU(cuGraphExecMemcpyNodeSetParams)(executable, node, &copy, context);
}

} // namespace

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                   const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                   const cudaMemcpy3DParms *pCopyParams) {
    return add(pGraphNode, graph, pDependencies, numDependencies, copy_of(pCopyParams));
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                     const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                     void *dst, const void *src, size_t count,
                                     cudaMemcpyKind kind) {
    return add(pGraphNode, graph, pDependencies, numDependencies,
               row_of_bytes(dst, src, count, kind));
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                           const cudaGraphNode_t *pDependencies,
                                           size_t numDependencies, const void *symbol,
                                           const void *src, size_t count, size_t offset,
                                           cudaMemcpyKind kind) {
    return add(pGraphNode, graph, pDependencies, numDependencies,
               to_symbol(symbol, src, count, offset, kind));
}

cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                             const cudaGraphNode_t *pDependencies,
                                             size_t numDependencies, void *dst, const void *symbol,
                                             size_t count, size_t offset, cudaMemcpyKind kind) {
    return add(pGraphNode, graph, pDependencies, numDependencies,
               from_symbol(dst, symbol, count, offset, kind));
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms *pNodeParams) {
    require(pNodeParams != nullptr);
    CUDA_MEMCPY3D copy{};
    demand(CU(cuGraphMemcpyNodeGetParams)(node, &copy));
    *pNodeParams = parameters_of(copy);
    return cudaSuccess;
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                         const cudaMemcpy3DParms *pNodeParams) {
    return set(node, copy_of(pNodeParams));
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src,
                                           size_t count, cudaMemcpyKind kind) {
    return set(node, row_of_bytes(dst, src, count, kind));
}

cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol,
                                                 const void *src, size_t count, size_t offset,
                                                 cudaMemcpyKind kind) {
    return set(node, to_symbol(symbol, src, count, offset, kind));
}

cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst,
                                                   const void *symbol, size_t count, size_t offset,
                                                   cudaMemcpyKind kind) {
    return set(node, from_symbol(dst, symbol, count, offset, kind));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms *pNodeParams) {
    return set(hGraphExec, node, copy_of(pNodeParams));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                               void *dst, const void *src, size_t count,
                                               cudaMemcpyKind kind) {
    return set(hGraphExec, node, row_of_bytes(dst, src, count, kind));
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec,
                                                     cudaGraphNode_t node, const void *symbol,
                                                     const void *src, size_t count, size_t offset,
                                                     cudaMemcpyKind kind) {
    return set(hGraphExec, node, to_symbol(symbol, src, count, offset, kind));
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec,
                                                       cudaGraphNode_t node, void *dst,
                                                       const void *symbol, size_t count,
                                                       size_t offset, cudaMemcpyKind kind) {
    return set(hGraphExec, node, from_symbol(dst, symbol, count, offset, kind));
}

} // namespace sim::runtime
