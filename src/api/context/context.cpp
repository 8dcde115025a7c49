#include <cushim/context.hpp>

#include <bit>
#include <iterator>

#include <cushim/init.hpp>

#include "adopting.hpp"
#include "base/call.hpp"
#include "base/ranges.hpp"
#include "base/resets.hpp"
#include "base/state.hpp"
#include "in_context.hpp"
#include "on_device.hpp"

namespace cushim {

using namespace detail;

namespace {

struct PrimaryContextState final : State {
    explicit PrimaryContextState(Device of) noexcept : device(of) { device_ordinal = of.native(); }
    Destroyed destroy() noexcept override {
        return {call<entry::cuDevicePrimaryCtxRelease>(device.native()), device.native()};
    }
    const Device device;
};

struct CreatedContextState final : State {
    Destroyed destroy() noexcept override { return {call<entry::cuCtxDestroy>(context), context}; }
    CUcontext context = nullptr;
};

void pop_if_current(CUcontext context) noexcept {
    CUcontext current = nullptr;
    if (status_of<entry::cuCtxGetCurrent>(&current) == CUDA_SUCCESS && current == context) {
        (void)status_of<entry::cuCtxPopCurrent>(&current);
    }
}

// After a failed creation: CUDA may have created the context nevertheless and made it current.
// Otherwise the handle has no meaning.
void destroy_if_current(CUcontext context) noexcept {
    CUcontext current = nullptr;
    if (context != nullptr && status_of<entry::cuCtxGetCurrent>(&current) == CUDA_SUCCESS &&
        current == context) {
        (void)status_of<entry::cuCtxDestroy>(context); // also pops it
    }
}

// --- what a refused call was asked for

Error not_created(const Error &error, Device device, unsigned int flags) noexcept {
    if (error.status() != CUDA_ERROR_INVALID_VALUE) {
        return refused_device(error, device.native());
    }
    constexpr unsigned int all = CU_CTX_FLAGS_MASK, scheduling = CU_CTX_SCHED_MASK;
    if ((flags & ~all) != 0) {
        return explained(error, "flags 0x%x contain unknown bits 0x%x", flags, flags & ~all);
    }
    return std::popcount(flags & scheduling) > 1
               ? explained(error,
                           "flags 0x%x contain several CU_CTX_SCHED_... flags; pass "
                           "one of them",
                           flags)
               : explained(error, "the driver does not support flags 0x%x", flags);
}

const char *name_of(CUlimit limit) noexcept {
    constexpr const char *names[] = {"CU_LIMIT_STACK_SIZE",
                                     "CU_LIMIT_PRINTF_FIFO_SIZE",
                                     "CU_LIMIT_MALLOC_HEAP_SIZE",
                                     "CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH",
                                     "CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT",
                                     "CU_LIMIT_MAX_L2_FETCH_GRANULARITY",
                                     "CU_LIMIT_PERSISTING_L2_CACHE_SIZE"};
    const auto index = static_cast<unsigned int>(limit);
    return index < std::size(names) ? names[index] : nullptr;
}

// `value` is null for a query. The context is current.
Error refused_limit(const Error &error, CUlimit limit,
                    const std::size_t *value = nullptr) noexcept {
    if (error.status() != CUDA_ERROR_INVALID_VALUE &&
        error.status() != CUDA_ERROR_UNSUPPORTED_LIMIT) {
        return error;
    }
    const char *const name = name_of(limit);
    std::size_t ignored = 0;
    if (value != nullptr && status_of<entry::cuCtxGetLimit>(&ignored, limit) == CUDA_SUCCESS) {
        return explained(error, "%s (%u) cannot be set to %zu", name != nullptr ? name : "CUlimit",
                         limit, *value);
    }
    return name != nullptr ? explained(error, "the device does not support %s (%u)", name, limit)
                           : explained(error, "the driver has no CUlimit %u", limit);
}

Error refused_peer(const Error &error, const Context &context, const Context &peer) noexcept {
    const auto own = context.device(), other = peer.device();
    if (!own || !other) {
        return error;
    }
    const int from = own->native(), to = other->native();
    switch (error.status()) {
    case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
        return explained(error,
                         "device %d cannot access device %d; check with Device::can_access() first",
                         from, to);
    case CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED:
        return explained(error, "access from device %d to device %d is already enabled", from, to);
    case CUDA_ERROR_PEER_ACCESS_NOT_ENABLED:
        return explained(error, "access from device %d to device %d is not enabled", from, to);
    default:
        return error;
    }
}

} // namespace

// --- scope

ContextScope::ContextScope(unsigned int pushed, State *state) noexcept
    : pushed_(pushed), kept_(state) {
    if (kept_ != nullptr) {
        add_owner(kept_);
    }
}

Result<ContextScope> ContextScope::enter(CUcontext context, State *state) noexcept {
    return named("Context::enter", [&]() -> Result<ContextScope> {
        if (context == nullptr) [[unlikely]] {
            return Error::invalid_argument("the Context is empty");
        }
        CUcontext current = nullptr;
        CUSHIM_TRY_VOID(call<entry::cuCtxGetCurrent>(&current));
        if (current == context) {
            return ContextScope(0, state);
        }
        if (const Result<void> pushed = call<entry::cuCtxPushCurrent>(context); !pushed) {
            pop_if_current(context); // a failed call may have taken effect
            return pushed.error();
        }
        return ContextScope(cushim_fork_generation() + 1, state);
    });
}

// Not in the child of a fork, for a context that the parent pushed.
void ContextScope::leave(unsigned int pushed) noexcept {
    if (cushim_may_call(pushed - 1) == 0) {
        return;
    }
    CUcontext popped = nullptr;
    report_teardown({call<entry::cuCtxPopCurrent>(&popped), popped});
}

Result<void> detail::call_after_entering(CUcontext context, CUresult asked,
                                         Result<void> (*run)(const void *) noexcept,
                                         const void *call) noexcept {
    CUSHIM_TRY_VOID(checked<entry::cuCtxGetCurrent>(asked));
    CUSHIM_TRY(const ContextScope scope, ContextScope::enter(context));
    return run(call);
}

// --- creation

Result<Context> Context::primary(Device device) noexcept {
    return named("Context::primary", [&]() -> Result<Context> {
        CUSHIM_TRY_VOID(init());
        CUSHIM_TRY(auto state, make_state<PrimaryContextState>(device));
        CUcontext context = nullptr;
        CUSHIM_TRY_VOID(
            on_device(device, call<entry::cuDevicePrimaryCtxRetain>(&context, device.native())));
        forget_failure_of_context();
        return Context(context, state.take());
    });
}

Result<Context> Context::create(Device device, unsigned int flags) noexcept {
    return named("Context::create", [&]() -> Result<Context> {
        CUSHIM_TRY_VOID(init());
        CUSHIM_TRY(auto state, make_state<CreatedContextState>());
        state->device_ordinal = device.native();
        if (const auto made = call<entry::cuCtxCreate_v2>(&state->context, flags, device.native());
            !made) {
            destroy_if_current(state->context);
            return not_created(made.error(), device, flags);
        }
        forget_failure_of_context();
        Context created(state->context, state.take());
        // CUDA has made it current.
        CUcontext popped = nullptr;
        CUSHIM_TRY_VOID(call<entry::cuCtxPopCurrent>(&popped));
        return created;
    });
}

Result<Context> Context::adopt(CUcontext context) noexcept {
    return named("Context::adopt", [&]() -> Result<Context> {
        CUSHIM_TRY_VOID(require_handle(context));
        CUSHIM_TRY(auto state, make_state<CreatedContextState>());
        state->context = context;
        return Context(context, state.take());
    });
}

Result<Context> Context::current() noexcept {
    return named("Context::current", [&]() -> Result<Context> {
        CUSHIM_TRY_VOID(init());
        CUcontext context = nullptr;
        CUSHIM_TRY_VOID(call<entry::cuCtxGetCurrent>(&context));
        return Context(context, nullptr);
    });
}

Result<void> Context::reset_primary(Device device) noexcept {
    return named("Context::reset_primary", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(init());
        unsigned int flags = 0;
        int is_active = 0;
        CUSHIM_TRY_VOID(on_device(
            device, call<entry::cuDevicePrimaryCtxGetState>(device.native(), &flags, &is_active)));
        if (is_active == 0) {
            return call<entry::cuDevicePrimaryCtxReset>(device.native()); // it contains no objects
        }
        CUcontext context = nullptr;
        {
            CUSHIM_TRY(const Context active, primary(device)); // provides the handle
            context = active.native();
        }
        const ResetInProgress no_uncertain_calls;
        CUSHIM_TRY_VOID(call<entry::cuDevicePrimaryCtxReset>(device.native()));
        note_reset(device.native(), context);
        return {};
    });
}

// --- queries

Result<void> Context::make_current() const noexcept {
    return named("Context::make_current", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, "the Context is empty"));
        return call<entry::cuCtxSetCurrent>(native());
    });
}

Result<Device> Context::device() const noexcept {
    return named("Context::device", [&]() -> Result<Device> {
        CUSHIM_TRY(const ContextScope scope, enter());
        CUdevice device = 0;
        CUSHIM_TRY_VOID(call<entry::cuCtxGetDevice>(&device));
        return Device::from_native(device);
    });
}

Result<void> Context::synchronize() const noexcept {
    return named("Context::synchronize", [&]() -> Result<void> {
        CUSHIM_TRY(const ContextScope scope, enter());
        return call<entry::cuCtxSynchronize>();
    });
}

Result<std::size_t> Context::limit(CUlimit limit) const noexcept {
    return named("Context::limit", [&]() -> Result<std::size_t> {
        CUSHIM_TRY(const ContextScope scope, enter());
        std::size_t value = 0;
        if (const auto asked = call<entry::cuCtxGetLimit>(&value, limit); !asked) {
            return refused_limit(asked.error(), limit);
        }
        return value;
    });
}

Result<void> Context::set_limit(CUlimit limit, std::size_t value) const noexcept {
    return named("Context::set_limit", [&]() -> Result<void> {
        CUSHIM_TRY(const ContextScope scope, enter());
        const Result<void> set = call<entry::cuCtxSetLimit>(limit, value);
        return set ? set : refused_limit(set.error(), limit, &value);
    });
}

Result<unsigned int> Context::flags() const noexcept {
    return named("Context::flags", [&]() -> Result<unsigned int> {
        CUSHIM_TRY(const ContextScope scope, enter());
        unsigned int flags = 0;
        CUSHIM_TRY_VOID(call<entry::cuCtxGetFlags>(&flags));
        return flags;
    });
}

Result<MemoryInfo> Context::memory_info() const noexcept {
    return named("Context::memory_info", [&]() -> Result<MemoryInfo> {
        CUSHIM_TRY(const ContextScope scope, enter());
        MemoryInfo info;
        CUSHIM_TRY_VOID(call<entry::cuMemGetInfo>(&info.free, &info.total));
        return info;
    });
}

Result<StreamPriorities> Context::stream_priorities() const noexcept {
    return named("Context::stream_priorities", [&]() -> Result<StreamPriorities> {
        CUSHIM_TRY(const ContextScope scope, enter());
        StreamPriorities range;
        CUSHIM_TRY_VOID(call<entry::cuCtxGetStreamPriorityRange>(&range.least, &range.greatest));
        return range;
    });
}

Result<void> Context::enable_peer_access(const Context &peer) const noexcept {
    return named("Context::enable_peer_access", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(peer, "the peer's Context is empty"));
        CUSHIM_TRY(const ContextScope scope, enter());
        const Result<void> enabled = call<entry::cuCtxEnablePeerAccess>(peer.native(), 0);
        return enabled ? enabled : refused_peer(enabled.error(), *this, peer);
    });
}

Result<void> Context::disable_peer_access(const Context &peer) const noexcept {
    return named("Context::disable_peer_access", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(peer, "the peer's Context is empty"));
        CUSHIM_TRY(const ContextScope scope, enter());
        const Result<void> disabled = call<entry::cuCtxDisablePeerAccess>(peer.native());
        return disabled ? disabled : refused_peer(disabled.error(), *this, peer);
    });
}

} // namespace cushim
