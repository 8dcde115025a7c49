// Execution contexts (CUDA 13.1): the driver's green contexts under another name.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

namespace sim::runtime {

#if CUDART_VERSION >= 13010

namespace {

CUgreenCtx green(cudaExecutionContext_t context) noexcept {
    return reinterpret_cast<CUgreenCtx>(context);
}

} // namespace

cudaError_t cudaDeviceGetDevResource(int device, cudaDevResource *resource,
                                     cudaDevResourceType type) {
    return CU(cuDeviceGetDevResource)(existing_device(device), same_memory<CUdevResource>(resource),
                                      same<CUdevResourceType>(type));
}

cudaError_t cudaDevSmResourceSplitByCount(cudaDevResource *result, unsigned int *nbGroups,
                                          const cudaDevResource *input, cudaDevResource *remaining,
                                          unsigned int flags, unsigned int minCount) {
    return CU(cuDevSmResourceSplitByCount)(same_memory<CUdevResource>(result), nbGroups,
                                           same_memory<const CUdevResource>(input),
                                           same_memory<CUdevResource>(remaining), flags, minCount);
}

cudaError_t cudaDevSmResourceSplit(cudaDevResource *result, unsigned int nbGroups,
                                   const cudaDevResource *input, cudaDevResource *remainder,
                                   unsigned int flags, cudaDevSmResourceGroupParams *groupParams) {
    return CU(cuDevSmResourceSplit)(same_memory<CUdevResource>(result), nbGroups,
                                    same_memory<const CUdevResource>(input),
                                    same_memory<CUdevResource>(remainder), flags,
                                    same_memory<CU_DEV_SM_RESOURCE_GROUP_PARAMS>(groupParams));
}

cudaError_t cudaDevResourceGenerateDesc(cudaDevResourceDesc_t *phDesc, cudaDevResource *resources,
                                        unsigned int nbResources) {
    return CU(cuDevResourceGenerateDesc)(reinterpret_cast<CUdevResourceDesc *>(phDesc),
                                         same_memory<CUdevResource>(resources), nbResources);
}

cudaError_t cudaGreenCtxCreate(cudaExecutionContext_t *phCtx, cudaDevResourceDesc_t desc,
                               int device, unsigned int flags) {
    return CU(cuGreenCtxCreate)(reinterpret_cast<CUgreenCtx *>(phCtx),
                                reinterpret_cast<CUdevResourceDesc>(desc), existing_device(device),
                                flags | CU_GREEN_CTX_DEFAULT_STREAM);
}

cudaError_t cudaExecutionCtxDestroy(cudaExecutionContext_t ctx) {
    return CU(cuGreenCtxDestroy)(green(ctx));
}

cudaError_t cudaExecutionCtxGetDevResource(cudaExecutionContext_t ctx, cudaDevResource *resource,
                                           cudaDevResourceType type) {
    return CU(cuGreenCtxGetDevResource)(green(ctx), same_memory<CUdevResource>(resource),
                                        same<CUdevResourceType>(type));
}

cudaError_t cudaExecutionCtxGetId(cudaExecutionContext_t ctx, unsigned long long *ctxId) {
    return CU(cuGreenCtxGetId)(green(ctx), ctxId);
}

cudaError_t cudaExecutionCtxStreamCreate(cudaStream_t *phStream, cudaExecutionContext_t ctx,
                                         unsigned int flags, int priority) {
    return CU(cuGreenCtxStreamCreate)(phStream, green(ctx), flags, priority);
}

cudaError_t cudaExecutionCtxRecordEvent(cudaExecutionContext_t ctx, cudaEvent_t event) {
    return CU(cuGreenCtxRecordEvent)(green(ctx), event);
}

cudaError_t cudaExecutionCtxWaitEvent(cudaExecutionContext_t ctx, cudaEvent_t event) {
    return CU(cuGreenCtxWaitEvent)(green(ctx), event);
}

cudaError_t cudaExecutionCtxSynchronize(cudaExecutionContext_t ctx) {
    CUcontext context = nullptr;
    demand(CU(cuCtxFromGreenCtx)(&context, green(ctx)));
    return CU(cuCtxSynchronize_v2)(context);
}

cudaError_t cudaExecutionCtxGetDevice(int *device, cudaExecutionContext_t ctx) {
    CUcontext context = nullptr;
    demand(CU(cuCtxFromGreenCtx)(&context, green(ctx)));
    return CU(cuCtxGetDevice_v2)(device, context);
}

cudaError_t cudaStreamGetDevResource(cudaStream_t hStream, cudaDevResource *resource,
                                     cudaDevResourceType type) {
    return CU(cuStreamGetDevResource)(stream_of(hStream), same_memory<CUdevResource>(resource),
                                      same<CUdevResourceType>(type));
}

#endif

} // namespace sim::runtime
