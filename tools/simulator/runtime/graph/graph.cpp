// Graph calls that do more than call a driver function: forward/forwarded.txt lists the others.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/graph/graph_parameters.hpp"

namespace sim::runtime {

#if CUDART_VERSION >= 12000
EXPORT cudaError_t cudaGraphInstantiateWithParams(OUT cudaGraphExec_t *pGraphExec,
                                                  cudaGraph_t graph,
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

#endif

#if CUDART_VERSION >= 12030
namespace {

cudaError_t make_condition(cudaGraphConditionalHandle *output, cudaGraph_t graph, CUcontext context,
                           unsigned int value, unsigned int flags) {
    return CU_ANY(cuGraphConditionalHandleCreate)(same_memory<CUgraphConditionalHandle>(output),
                                                  graph, context, value, flags);
}

} // namespace

EXPORT cudaError_t cudaGraphConditionalHandleCreate(OUT cudaGraphConditionalHandle *pHandle_out,
                                                    cudaGraph_t graph,
                                                    unsigned int defaultLaunchValue,
                                                    unsigned int flags) {
    CUcontext current = nullptr; // recorded: not created if there is none
    demand(CU_ANY(cuCtxGetCurrent)(&current));
    return make_condition(pHandle_out, graph, current, defaultLaunchValue, flags);
}
#endif

#if CUDART_VERSION >= 13010
EXPORT cudaError_t cudaGraphConditionalHandleCreate_v2(OUT cudaGraphConditionalHandle *pHandle_out,
                                                       cudaGraph_t graph,
                                                       cudaExecutionContext_t ctx,
                                                       unsigned int defaultLaunchValue,
                                                       unsigned int flags) {
    return make_condition(pHandle_out, graph, context_of(ctx), defaultLaunchValue, flags);
}
#endif

EXPORT cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode, cudaKernelNodeAttrID attr,
                                                   const cudaKernelNodeAttrValue *value) {
    constexpr unsigned int most = 32; // recorded: the runtime rejects attributes far above it
    require(static_cast<unsigned int>(attr) <= most);
    return CU(cuGraphKernelNodeSetAttribute)(hNode, same<CUkernelNodeAttrID>(attr),
                                             same_memory<const CUkernelNodeAttrValue>(value));
}

EXPORT cudaError_t cudaDeviceGraphMemTrim(int device) {
    return CU(cuDeviceGraphMemTrim)(checked_device(device, "device"));
}

EXPORT cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attr,
                                                  void *value) {
    return CU(cuDeviceGetGraphMemAttribute)(existing_device(device),
                                            same<CUgraphMem_attribute>(attr), value);
}

EXPORT cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attr,
                                                  void *value) {
    return CU(cuDeviceSetGraphMemAttribute)(existing_device(device),
                                            same<CUgraphMem_attribute>(attr), value);
}

} // namespace sim::runtime
