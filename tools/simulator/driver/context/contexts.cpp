// Contexts of cuCtxCreate, and the calling thread's context stack.
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/open_calls.hpp"
#include "engine/work.hpp"

#include <algorithm>

namespace sim::driver {
namespace {

constexpr std::size_t known_limits = 9; // of driver 580

void pop() {
    context_stack().pop_back();
    note_pops(context_stack().size());
}

// Null means the current context.
Context &context_or_current(CUcontext handle) {
    if (handle == nullptr) {
        return current_context();
    }
    Context &context = checked_context(handle);
    check_usable(context);
    return context;
}

// Limits that the recorded device supports.
bool is_supported(CUlimit which) {
    return which >= 0 && which != CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH &&
           static_cast<std::size_t>(which) < known_limits;
}

} // namespace

EXPORT CUresult cuCtxCreate_v2(OUT CUcontext *pctx, unsigned int flags, CUdevice dev) {
    require(pctx != nullptr);
    check_context_flags(flags);
    device(dev, "dev");
    Context &context = create_context(dev, flags);
    context_stack().push_back(&context);
    *pctx = &context;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxCreate_v3(OUT CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
                               unsigned int flags, CUdevice dev) {
    require((paramsArray == nullptr) == (numParams == 0));
    // Affinity needs a multi-process server.
    require(numParams == 0, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    return driver::cuCtxCreate_v2(pctx, flags, dev);
}

#if CUDA_VERSION >= 12050
EXPORT CUresult cuCtxCreate_v4(OUT CUcontext *pctx, CUctxCreateParams *ctxCreateParams,
                               unsigned int flags, CUdevice dev) {
    if (ctxCreateParams != nullptr) {
        require(ctxCreateParams->numExecAffinityParams == 0, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
        require(ctxCreateParams->cigParams == nullptr, CUDA_ERROR_NOT_SUPPORTED);
    }
    return driver::cuCtxCreate_v2(pctx, flags, dev);
}
#endif

EXPORT CUresult cuCtxDestroy_v2(CUcontext ctx) {
    require(ctx != nullptr);
    Context &context = checked_context(ctx);
    require(!context.primary, CUDA_ERROR_INVALID_CONTEXT);
    require(!context.ending, CUDA_ERROR_CONTEXT_IS_DESTROYED); // another thread destroys it
    if (current_or_null() == &context) {
        pop();
    }
    tear_down(context);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxAttach(OUT CUcontext *pctx, unsigned int flags) {
    require(pctx != nullptr && flags == 0);
    Context &context = current_context();
    ++context.attached;
    *pctx = &context;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxDetach(CUcontext ctx) {
    Context &context = checked_context(ctx);
    require(!context.primary, CUDA_ERROR_INVALID_CONTEXT);
    require(!context.ending, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    if (--context.attached > 0) {
        return CUDA_SUCCESS;
    }
    return driver::cuCtxDestroy_v2(ctx);
}

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext ctx) {
    require(ctx != nullptr);
    Context &context = checked_context(ctx);
    context_stack().push_back(&context);
    note_push(context, context_stack().size());
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPopCurrent_v2(OUT CUcontext *pctx) {
    Context *top = current_or_null();
    require(top != nullptr, CUDA_ERROR_INVALID_CONTEXT, no_context);
    pop();
    if (pctx != nullptr) {
        *pctx = top;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext ctx) {
    auto &stack = context_stack();
    Context *next = ctx == nullptr ? nullptr : &checked_context(ctx);
    if (next == nullptr && !stack.empty()) {
        pop();
    } else if (next != nullptr && !stack.empty()) {
        stack.back() = next; // the entry still counts as pushed and must be popped
    } else if (next != nullptr) {
        stack.push_back(next);
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetCurrent(OUT CUcontext *pctx) {
    require(pctx != nullptr);
    *pctx = current_or_null();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetDevice(OUT CUdevice *device) {
    require(device != nullptr, "device cannot be NULL");
    // Also returned for a context that was reset.
    const Context *context = current_or_null();
    require(context != nullptr, CUDA_ERROR_INVALID_CONTEXT, no_context);
    require(Registry::get().find(context) != nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    *device = context->device;
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13000
EXPORT CUresult cuCtxGetDevice_v2(OUT CUdevice *device, CUcontext ctx) {
    require(device != nullptr);
    *device = context_or_current(ctx).device;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSynchronize_v2(CUcontext ctx) {
    Context &context = context_or_current(ctx);
    refuse_capturing(context);
    potentially_unsafe_call();
    wait_context(context);
    return CUDA_SUCCESS;
}
#endif

EXPORT CUresult cuCtxGetFlags(OUT unsigned int *flags) {
    require(flags != nullptr);
    *flags = current_context().flags;
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12010
EXPORT CUresult cuCtxSetFlags(unsigned int flags) {
    check_context_flags(flags);
    Context &context = current_context();
    change_flags(context, flags);
    if (context.primary) {
        unsigned int &reported = device(context.device).primary_flags;
        reported =
            (reported & ~synchronous_memory_operations) | (flags & synchronous_memory_operations);
    }
    return CUDA_SUCCESS;
}
#endif

#if CUDA_VERSION >= 12000
EXPORT CUresult cuCtxGetId(CUcontext ctx, OUT unsigned long long *ctxId) {
    require(ctxId != nullptr);
    *ctxId = context_or_current(ctx).id;
    return CUDA_SUCCESS;
}
#endif

// Recorded: a fault is reported without a reason.
EXPORT CUresult cuCtxSynchronize(void) {
    if (const Context *current = living_current()) {
        require(current->destroyed || current->sticky == CUDA_SUCCESS, current->sticky);
    }
    Context &context = current_context();
    refuse_capturing(context);
    potentially_unsafe_call();
    wait_context(context);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetLimit(CUlimit which, size_t value) {
    Context &context = current_context();
    require(which >= 0 && static_cast<std::size_t>(which) < context.limits.size());
    require(is_supported(which), CUDA_ERROR_UNSUPPORTED_LIMIT);
    // Stack sizes are rounded up to 16 bytes.
    context.limits[which] = which == CU_LIMIT_STACK_SIZE ? (value + 15) / 16 * 16 : value;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetLimit(OUT size_t *pvalue, CUlimit which) {
    require(pvalue != nullptr);
    const Context &context = current_context();
    require(is_supported(which), CUDA_ERROR_UNSUPPORTED_LIMIT);
    *pvalue = context.limits[which];
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetCacheConfig(OUT CUfunc_cache *pconfig) {
    require(pconfig != nullptr);
    *pconfig = static_cast<CUfunc_cache>(current_context().cache_config);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
    require(config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL);
    current_context().cache_config = config;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetSharedMemConfig(OUT CUsharedconfig *pConfig) {
    require(pConfig != nullptr);
    *pConfig = static_cast<CUsharedconfig>(current_context().shared_config);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
    require(config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE &&
            config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
    current_context().shared_config = config;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetApiVersion(CUcontext ctx, OUT unsigned int *version) {
    require(version != nullptr);
    context_or_current(ctx);
    *version = 3020;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetStreamPriorityRange(OUT int *leastPriority, OUT int *greatestPriority) {
    current_context();
    if (leastPriority != nullptr) {
        *leastPriority = 0;
    }
    if (greatestPriority != nullptr) {
        *greatestPriority = -5;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxResetPersistingL2Cache(void) {
    current_context();
    return CUDA_SUCCESS;
}

} // namespace sim::driver
