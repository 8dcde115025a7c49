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

// A context of cuCtxCreate that no other thread is destroying.
Context &created_context(CUcontext handle) {
    Context &context = checked_context(handle, CUDA_ERROR_INVALID_CONTEXT);
    require(!context.primary && context.green == nullptr, CUDA_ERROR_INVALID_CONTEXT);
    require(!context.ending, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return context;
}

// Limits that the recorded device supports.
bool is_supported(CUlimit which) {
    return which >= 0 && which != CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH &&
           static_cast<std::size_t>(which) < known_limits;
}

void check_limit(const Context &context, CUlimit which) {
    require(which >= 0 && static_cast<std::size_t>(which) < context.limits.size());
    require(is_supported(which), CUDA_ERROR_UNSUPPORTED_LIMIT);
}

// Not the size of shared memory for graphics interop, and whether it is used.
bool is_settable(CUlimit which) {
    constexpr int shared_memory = 7, interop = 8; // old headers lack them
    return which != shared_memory && which != interop;
}

// Values are rounded up to a multiple of this.
std::size_t step_of(CUlimit which) {
    switch (static_cast<int>(which)) {
    case CU_LIMIT_STACK_SIZE:
        return 16;
    case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
        return 3932160; // as recorded
    default:
        return 1;
    }
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
    Context &context = created_context(ctx);
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
    Context &context = created_context(ctx);
    require(current_or_null() == &context, CUDA_ERROR_INVALID_CONTEXT);
    if (--context.attached > 0) {
        return CUDA_SUCCESS;
    }
    return driver::cuCtxDestroy_v2(ctx);
}

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext ctx) {
    require(ctx != nullptr);
    Context &context = checked_context(ctx, CUDA_ERROR_INVALID_CONTEXT);
    context_stack().push_back(&context);
    note_push(context, context_stack().size());
    return CUDA_SUCCESS;
}

// Recorded: the first ABI fails for the context that is current.
EXPORT CUresult cuCtxPushCurrent(CUcontext ctx) {
    require(ctx == nullptr || ctx != current_or_null(), CUDA_ERROR_INVALID_CONTEXT);
    return driver::cuCtxPushCurrent_v2(ctx);
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
    Context *next = ctx == nullptr ? nullptr : &checked_context(ctx, CUDA_ERROR_INVALID_CONTEXT);
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
    // Also returned for the context of a destroyed green context.
    const Context *const green = ctx != nullptr ? &checked_context(ctx) : nullptr;
    const bool known = green != nullptr && green->green != nullptr;
    *device = known ? green->device : context_or_current(ctx).device;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSynchronize_v2(CUcontext ctx) {
    Context &context = context_or_current(ctx);
    refuse_capturing(context);
    wait_context(context);
    return CUDA_SUCCESS;
}
#endif

EXPORT CUresult cuCtxGetFlags(OUT unsigned int *flags) {
    require(flags != nullptr);
    // Recorded: also returned if the current context is that of a destroyed green context.
    const Context *owner = living_current();
    const Context &context = owner != nullptr ? *owner : current_context();
    check_usable(context);
    *flags = context.flags;
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
    Context &context = current_exact_context();
    refuse_capturing(context);
    wait_context(context);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetLimit(CUlimit which, size_t value) {
    Context &context = current_context();
    check_limit(context, which);
    require(is_settable(which), CUDA_ERROR_NOT_PERMITTED);
    const std::size_t step = step_of(which);
    require(value <= ~std::size_t(0) - (step - 1));
    context.limits[which] = (value + step - 1) / step * step;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetLimit(OUT size_t *pvalue, CUlimit which) {
    require(pvalue != nullptr);
    const Context &context = current_context();
    check_limit(context, which);
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
    current_context();
    *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE; // the recorded device has no other
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
    require(config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE &&
            config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
    current_context();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetApiVersion(CUcontext ctx, OUT unsigned int *version) {
    require(version != nullptr);
    const Context *context =
        ctx != nullptr ? &checked_context(ctx, CUDA_ERROR_INVALID_CONTEXT) : nullptr;
    const bool ended_green = context != nullptr && context->green != nullptr && context->destroyed;
    require(!ended_green, CUDA_ERROR_INVALID_CONTEXT); // as recorded
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
