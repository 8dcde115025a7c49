// Other node types: memset, host, child, empty, events, external semaphores, memory.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/graph/graph_parameters.hpp"

namespace sim::runtime {

// --- memset

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                   const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                   const cudaMemsetParams *pMemsetParams) {
    const CUDA_MEMSET_NODE_PARAMS node = memset_node(pMemsetParams);
    const CUcontext context = current_context();
    return CU(cuGraphAddMemsetNode)(pGraphNode, graph, pDependencies, numDependencies, &node,
                                    context);
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams *pNodeParams) {
    require(pNodeParams != nullptr);
    CUDA_MEMSET_NODE_PARAMS found{};
    demand(CU(cuGraphMemsetNodeGetParams)(node, &found));
    *pNodeParams = shown(found);
    return cudaSuccess;
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
                                         const cudaMemsetParams *pNodeParams) {
    const CUDA_MEMSET_NODE_PARAMS wanted = memset_node(pNodeParams);
    return CU(cuGraphMemsetNodeSetParams)(node, &wanted);
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const cudaMemsetParams *pNodeParams) {
    const CUDA_MEMSET_NODE_PARAMS wanted = memset_node(pNodeParams);
    const CUcontext context = current_context();
    return CU(cuGraphExecMemsetNodeSetParams)(hGraphExec, node, &wanted, context);
}

// --- host

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                 const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                 const cudaHostNodeParams *pNodeParams) {
    const CUDA_HOST_NODE_PARAMS node = host_node(pNodeParams);
    return CU(cuGraphAddHostNode)(pGraphNode, graph, pDependencies, numDependencies, &node);
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams *pNodeParams) {
    require(pNodeParams != nullptr);
    CUDA_HOST_NODE_PARAMS found{};
    demand(CU(cuGraphHostNodeGetParams)(node, &found));
    pNodeParams->fn = found.fn;
    pNodeParams->userData = found.userData;
    return cudaSuccess;
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node,
                                       const cudaHostNodeParams *pNodeParams) {
    const CUDA_HOST_NODE_PARAMS wanted = host_node(pNodeParams);
    return CU(cuGraphHostNodeSetParams)(node, &wanted);
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                           const cudaHostNodeParams *pNodeParams) {
    const CUDA_HOST_NODE_PARAMS wanted = host_node(pNodeParams);
    return CU(cuGraphExecHostNodeSetParams)(hGraphExec, node, &wanted);
}

// --- child, empty

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                       const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                       cudaGraph_t childGraph) {
    return CU(cuGraphAddChildGraphNode)(pGraphNode, graph, pDependencies, numDependencies,
                                        childGraph);
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *pGraph) {
    return CU(cuGraphChildGraphNodeGetGraph)(node, pGraph);
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                 cudaGraph_t childGraph) {
    return CU(cuGraphExecChildGraphNodeSetParams)(hGraphExec, node, childGraph);
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                  const cudaGraphNode_t *pDependencies, size_t numDependencies) {
    return CU(cuGraphAddEmptyNode)(pGraphNode, graph, pDependencies, numDependencies);
}

// --- events

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                        const cudaGraphNode_t *pDependencies,
                                        size_t numDependencies, cudaEvent_t event) {
    return CU(cuGraphAddEventRecordNode)(pGraphNode, graph, pDependencies, numDependencies, event);
}

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out) {
    return CU(cuGraphEventRecordNodeGetEvent)(node, event_out);
}

cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
    return CU(cuGraphEventRecordNodeSetEvent)(node, event);
}

cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                                 cudaEvent_t event) {
    return CU(cuGraphExecEventRecordNodeSetEvent)(hGraphExec, hNode, event);
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                      const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                      cudaEvent_t event) {
    return CU(cuGraphAddEventWaitNode)(pGraphNode, graph, pDependencies, numDependencies, event);
}

cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out) {
    return CU(cuGraphEventWaitNodeGetEvent)(node, event_out);
}

cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
    return CU(cuGraphEventWaitNodeSetEvent)(node, event);
}

cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                               cudaEvent_t event) {
    return CU(cuGraphExecEventWaitNodeSetEvent)(hGraphExec, hNode, event);
}

// --- external semaphores

cudaError_t cudaGraphAddExternalSemaphoresSignalNode(
    cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
    size_t numDependencies, const cudaExternalSemaphoreSignalNodeParams *nodeParams) {
    const SignalNode node(nodeParams);
    return CU(cuGraphAddExternalSemaphoresSignalNode)(pGraphNode, graph, pDependencies,
                                                      numDependencies, node.get());
}

cudaError_t
cudaGraphExternalSemaphoresSignalNodeGetParams(cudaGraphNode_t hNode,
                                               cudaExternalSemaphoreSignalNodeParams *params_out) {
    return CU(cuGraphExternalSemaphoresSignalNodeGetParams)(
        hNode, same_memory<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS>(params_out));
}

cudaError_t cudaGraphExternalSemaphoresSignalNodeSetParams(
    cudaGraphNode_t hNode, const cudaExternalSemaphoreSignalNodeParams *nodeParams) {
    const SignalNode node(nodeParams);
    return CU(cuGraphExternalSemaphoresSignalNodeSetParams)(hNode, node.get());
}

cudaError_t cudaGraphExecExternalSemaphoresSignalNodeSetParams(
    cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
    const cudaExternalSemaphoreSignalNodeParams *nodeParams) {
    const SignalNode node(nodeParams);
    return CU(cuGraphExecExternalSemaphoresSignalNodeSetParams)(hGraphExec, hNode, node.get());
}

cudaError_t
cudaGraphAddExternalSemaphoresWaitNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                       const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                       const cudaExternalSemaphoreWaitNodeParams *nodeParams) {
    const WaitNode node(nodeParams);
    return CU(cuGraphAddExternalSemaphoresWaitNode)(pGraphNode, graph, pDependencies,
                                                    numDependencies, node.get());
}

cudaError_t
cudaGraphExternalSemaphoresWaitNodeGetParams(cudaGraphNode_t hNode,
                                             cudaExternalSemaphoreWaitNodeParams *params_out) {
    return CU(cuGraphExternalSemaphoresWaitNodeGetParams)(
        hNode, same_memory<CUDA_EXT_SEM_WAIT_NODE_PARAMS>(params_out));
}

cudaError_t cudaGraphExternalSemaphoresWaitNodeSetParams(
    cudaGraphNode_t hNode, const cudaExternalSemaphoreWaitNodeParams *nodeParams) {
    const WaitNode node(nodeParams);
    return CU(cuGraphExternalSemaphoresWaitNodeSetParams)(hNode, node.get());
}

cudaError_t cudaGraphExecExternalSemaphoresWaitNodeSetParams(
    cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
    const cudaExternalSemaphoreWaitNodeParams *nodeParams) {
    const WaitNode node(nodeParams);
    return CU(cuGraphExecExternalSemaphoresWaitNodeSetParams)(hGraphExec, hNode, node.get());
}

// --- memory. The structures are equal, except that the runtime's has a pointer for the address.

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                     const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                     cudaMemAllocNodeParams *nodeParams) {
    return CU(cuGraphAddMemAllocNode)(pGraphNode, graph, pDependencies, numDependencies,
                                      same_memory<CUDA_MEM_ALLOC_NODE_PARAMS>(nodeParams));
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
                                           cudaMemAllocNodeParams *params_out) {
    return CU(cuGraphMemAllocNodeGetParams)(node,
                                            same_memory<CUDA_MEM_ALLOC_NODE_PARAMS>(params_out));
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                    const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                    void *dptr) {
    return CU(cuGraphAddMemFreeNode)(pGraphNode, graph, pDependencies, numDependencies,
                                     address(dptr));
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out) {
    return CU(cuGraphMemFreeNodeGetParams)(node, static_cast<CUdeviceptr *>(dptr_out));
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
    return CU(cuDeviceGraphMemTrim)(checked_device(device, "device"));
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attr,
                                           void *value) {
    return CU(cuDeviceGetGraphMemAttribute)(existing_device(device),
                                            same<CUgraphMem_attribute>(attr), value);
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attr,
                                           void *value) {
    return CU(cuDeviceSetGraphMemAttribute)(existing_device(device),
                                            same<CUgraphMem_attribute>(attr), value);
}

} // namespace sim::runtime
