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

EXPORT cudaError_t cudaDeviceGetDevResource(int device, OUT cudaDevResource *resource,
                                            cudaDevResourceType type) {
    return CU(cuDeviceGetDevResource)(existing_device(device), same_memory<CUdevResource>(resource),
                                      same<CUdevResourceType>(type));
}

EXPORT cudaError_t cudaGreenCtxCreate(OUT cudaExecutionContext_t *phCtx, cudaDevResourceDesc_t desc,
                                      int device, unsigned int flags) {
    return CU(cuGreenCtxCreate)(reinterpret_cast<CUgreenCtx *>(phCtx),
                                reinterpret_cast<CUdevResourceDesc>(desc), existing_device(device),
                                flags | CU_GREEN_CTX_DEFAULT_STREAM);
}

EXPORT cudaError_t cudaExecutionCtxSynchronize(cudaExecutionContext_t ctx) {
    CUcontext context = nullptr;
    demand(CU(cuCtxFromGreenCtx)(&context, green(ctx)));
    return CU(cuCtxSynchronize_v2)(context);
}

EXPORT cudaError_t cudaExecutionCtxGetDevice(OUT int *device, cudaExecutionContext_t ctx) {
    CUcontext context = nullptr;
    demand(CU(cuCtxFromGreenCtx)(&context, green(ctx)));
    return CU(cuCtxGetDevice_v2)(device, context);
}

#endif

} // namespace sim::runtime
