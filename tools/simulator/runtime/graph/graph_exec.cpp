// Executable graphs: instantiation, update, launch.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

namespace sim::runtime {

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                          unsigned long long flags) {
    return CU(cuGraphInstantiateWithFlags)(pGraphExec, graph, flags);
}

#if CUDART_VERSION >= 12000
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                 unsigned long long flags) {
    return CU(cuGraphInstantiateWithFlags)(pGraphExec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams *instantiateParams) {
    require(instantiateParams != nullptr);
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
    parameters.flags = instantiateParams->flags;
    parameters.hUploadStream = stream_of(instantiateParams->uploadStream);
    const cudaError_t status = CU(cuGraphInstantiateWithParams)(pGraphExec, graph, &parameters);
    instantiateParams->errNode_out = parameters.hErrNode_out;
    instantiateParams->result_out = same<cudaGraphInstantiateResult>(parameters.result_out);
    return status;
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags) {
    return CU(cuGraphExecGetFlags)(graphExec, same_memory<cuuint64_t>(flags));
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                cudaGraphExecUpdateResultInfo *resultInfo) {
    return CU(cuGraphExecUpdate_v2)(hGraphExec, hGraph,
                                    same_memory<CUgraphExecUpdateResultInfo>(resultInfo));
}
#else
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                 cudaGraphNode_t *pErrorNode, char *pLogBuffer, size_t bufferSize) {
    return CU(cuGraphInstantiate_v2)(pGraphExec, graph, pErrorNode, pLogBuffer, bufferSize);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                cudaGraphNode_t *hErrorNode_out,
                                cudaGraphExecUpdateResult *updateResult_out) {
    return CU(cuGraphExecUpdate)(hGraphExec, hGraph, hErrorNode_out,
                                 same_memory<CUgraphExecUpdateResult>(updateResult_out));
}
#endif

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec) {
    return CU(cuGraphExecDestroy)(graphExec);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream) {
    return CU(cuGraphUpload)(graphExec, stream_of(stream));
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream) {
    return CU(cuGraphLaunch)(graphExec, stream_of(stream));
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                    unsigned int isEnabled) {
    return CU(cuGraphNodeSetEnabled)(hGraphExec, hNode, isEnabled);
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                    unsigned int *isEnabled) {
    return CU(cuGraphNodeGetEnabled)(hGraphExec, hNode, isEnabled);
}

} // namespace sim::runtime
