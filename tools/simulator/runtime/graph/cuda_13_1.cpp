// Additions of CUDA 13.1 and later without a topic of their own: ids of graphs and nodes, host
// functions with a mode, locations of memory.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/kernel/symbol.hpp"

namespace sim::runtime {

#if CUDART_VERSION >= 13010
cudaError_t cudaGraphGetId(cudaGraph_t hGraph, unsigned int *graphID) {
    return CU(cuGraphGetId)(hGraph, graphID);
}

cudaError_t cudaGraphExecGetId(cudaGraphExec_t hGraphExec, unsigned int *graphID) {
    return CU(cuGraphExecGetId)(hGraphExec, graphID);
}

cudaError_t cudaGraphNodeGetContainingGraph(cudaGraphNode_t hNode, cudaGraph_t *phGraph) {
    return CU(cuGraphNodeGetContainingGraph)(hNode, phGraph);
}

cudaError_t cudaGraphNodeGetLocalId(cudaGraphNode_t hNode, unsigned int *nodeId) {
    return CU(cuGraphNodeGetLocalId)(hNode, nodeId);
}

cudaError_t cudaGraphNodeGetToolsId(cudaGraphNode_t hNode, unsigned long long *toolsNodeId) {
    return CU(cuGraphNodeGetToolsId)(hNode, toolsNodeId);
}
#endif

#if CUDART_VERSION >= 13020
cudaError_t cudaFuncGetParamCount(const void *func, size_t *paramCount) {
    return CU(cuKernelGetParamCount)(kernel_of(func), paramCount);
}

cudaError_t cudaLaunchHostFunc_v2(cudaStream_t stream, cudaHostFn_t fn, void *userData,
                                  unsigned int syncMode) {
    return CU(cuLaunchHostFunc_v2)(stream_of(stream), fn, userData, syncMode);
}
#endif

#if CUDART_VERSION >= 13040
cudaError_t cudaMemGetLocationInfo(void *devPtr, size_t size, size_t summaryGranularity,
                                   size_t samplingGranularity, cudaMemLocation *location_out) {
    return CU(cuMemGetLocationInfo)(address(devPtr), size, summaryGranularity, samplingGranularity,
                                    same_memory<CUmemLocation>(location_out));
}
#endif

} // namespace sim::runtime
