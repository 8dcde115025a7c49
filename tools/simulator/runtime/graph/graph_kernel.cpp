// Kernel nodes.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/base/registration.hpp"
#include "runtime/graph/graph_parameters.hpp"

namespace sim::runtime {

// The versions of driver functions that accept kernels as well as functions.
#if CUDART_VERSION >= 12000
#define CU_KERNEL_NODE(name) CU(name##_v2)
#else
#define CU_KERNEL_NODE(name) CU(name)
#endif

namespace {

CUfunction function_of(const DriverKernelNode &node) {
    CUfunction function = node.func;
#if CUDART_VERSION >= 12000
    if (node.kern != nullptr) {
        demand(CU(cuKernelGetFunction)(&function, node.kern));
    }
#endif
    return function;
}

} // namespace

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                   const cudaGraphNode_t *pDependencies, size_t numDependencies,
                                   const cudaKernelNodeParams *pNodeParams) {
    const DriverKernelNode node = kernel_node(pNodeParams);
    return CU_KERNEL_NODE(cuGraphAddKernelNode)(pGraphNode, graph, pDependencies, numDependencies,
                                                &node);
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams *pNodeParams) {
    require(pNodeParams != nullptr);
    DriverKernelNode found{};
    demand(CU_KERNEL_NODE(cuGraphKernelNodeGetParams)(node, &found));
    cudaKernelNodeParams seen = shown(found);
    // Recorded with driver 580: kernels are identified by host functions, so a library kernel
    // fails.
    seen.func = const_cast<void *>(registered_host(function_of(found)));
    require(seen.func != nullptr, cudaErrorInvalidDeviceFunction);
    *pNodeParams = seen;
    return cudaSuccess;
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                         const cudaKernelNodeParams *pNodeParams) {
    const DriverKernelNode wanted = kernel_node(pNodeParams);
    return CU_KERNEL_NODE(cuGraphKernelNodeSetParams)(node, &wanted);
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams *pNodeParams) {
    const DriverKernelNode wanted = kernel_node(pNodeParams);
    return CU_KERNEL_NODE(cuGraphExecKernelNodeSetParams)(hGraphExec, node, &wanted);
}

// The destination comes first, as in the driver; headers before CUDA 13 swap the parameter names.
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t first, cudaGraphNode_t second) {
    return CU(cuGraphKernelNodeCopyAttributes)(first, second);
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode, cudaKernelNodeAttrID attr,
                                            cudaKernelNodeAttrValue *value_out) {
    return CU(cuGraphKernelNodeGetAttribute)(hNode, same<CUkernelNodeAttrID>(attr),
                                             same_memory<CUkernelNodeAttrValue>(value_out));
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode, cudaKernelNodeAttrID attr,
                                            const cudaKernelNodeAttrValue *value) {
    constexpr unsigned int most = 32; // recorded: the runtime rejects attributes far above it
    require(static_cast<unsigned int>(attr) <= most);
    return CU(cuGraphKernelNodeSetAttribute)(hNode, same<CUkernelNodeAttrID>(attr),
                                             same_memory<const CUkernelNodeAttrValue>(value));
}

} // namespace sim::runtime
