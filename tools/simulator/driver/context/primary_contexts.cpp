#include "context/primary_contexts.hpp"
#include "driver_functions.hpp"
#include "engine/device.hpp"
#include "engine/open_calls.hpp"
#include "memory/stream_ordered.hpp"

namespace sim {

Context &retain_primary(Device &on) {
    await_end_of(on);
    Context &context = primary_context(on);
    ++on.primary_count;
    return context;
}

void release_primary(Device &on) {
    await_end_of(on);
    require(on.primary_count > 0, CUDA_ERROR_INVALID_CONTEXT);
    if (--on.primary_count == 0 && !on.primary->destroyed) {
        tear_down(*on.primary);
    }
}

} // namespace sim

namespace sim::driver {

EXPORT CUresult cuDevicePrimaryCtxRetain(OUT CUcontext *pctx, CUdevice dev) {
    Device &on = device(dev, "dev");
    require(pctx != nullptr);
    *pctx = &retain_primary(on);
    note_retain(dev);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
    Device &on = device(dev);
    note_release(dev);
    release_primary(on);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
    Device &on = device(dev, "dev");
    await_end_of(on);
    if (on.primary != nullptr && !on.primary->destroyed) {
        require(on.primary->greens.empty(), CUDA_ERROR_NOT_PERMITTED);
        const bool failed = on.primary->sticky != CUDA_SUCCESS;
        tear_down(*on.primary);
        // Recorded: stream-ordered memory outlives the context. After a fault, no context can use
        // it any more.
        if (failed && !has_created_context(dev)) {
            end_pool_memory_of(dev);
        }
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags) {
    Device &on = device(dev);
    check_context_flags(flags);
    require((flags & CU_CTX_MAP_HOST) == 0);
    on.primary_flags = flags;
    if (on.primary != nullptr && !on.primary->destroyed) {
        change_flags(*on.primary, flags);
    }
    return CUDA_SUCCESS;
}

// The version of CUDA 7.0, which did not change an active context.
EXPORT CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
    const Device &on = device(dev, "dev");
    check_context_flags(flags);
    require(on.primary == nullptr || on.primary->destroyed, CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE);
    return driver::cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice dev, OUT unsigned int *flags, OUT int *active) {
    Device &on = device(dev);
    require(flags != nullptr && active != nullptr);
    *flags = on.primary_flags;
    *active = on.primary != nullptr && !on.primary->destroyed ? 1 : 0;
    return CUDA_SUCCESS;
}

} // namespace sim::driver
