#include <cushim/context.hpp>

#include <cushim/init.hpp>

#include "adopting.hpp"
#include "base/call.hpp"
#include "base/resets.hpp"
#include "base/state.hpp"
#include "in_context.hpp"

namespace cushim {
namespace {

using detail::Destroyed;

struct PrimaryContextState final : detail::State {
    explicit PrimaryContextState(Device of) noexcept : device(of) { device_ordinal = of.native(); }
    Destroyed destroy() noexcept override {
        return CUSHIM_DESTROY(cuDevicePrimaryCtxRelease, device.native(), device.native());
    }
    const Device device;
};

struct CreatedContextState final : detail::State {
    Destroyed destroy() noexcept override { return CUSHIM_DESTROY(cuCtxDestroy, context, context); }
    CUcontext context = nullptr;
};

void pop_if_current(CUcontext context) noexcept {
    CUcontext current = nullptr;
    if (driver().cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context) {
        (void)driver().cuCtxPopCurrent(&current);
    }
}

// After a failed creation: CUDA may have created the context nevertheless and made it current.
// Otherwise the handle has no meaning.
void destroy_if_current(CUcontext context) noexcept {
    CUcontext current = nullptr;
    if (context != nullptr && driver().cuCtxGetCurrent(&current) == CUDA_SUCCESS &&
        current == context) {
        (void)driver().cuCtxDestroy(context); // also pops it
    }
}

} // namespace

// --- scope

ContextScope::ContextScope(unsigned int pushed, detail::State *state) noexcept
    : pushed_(pushed), kept_(state) {
    if (kept_ != nullptr) {
        detail::add_owner(kept_);
    }
}

Result<ContextScope> ContextScope::enter(CUcontext context, detail::State *state) noexcept {
    if (context == nullptr) [[unlikely]] {
        return Error::invalid_argument("the context is empty");
    }
    CUcontext current = nullptr;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuCtxGetCurrent, &current));
    if (current == context) {
        return ContextScope(0, state);
    }
    if (const Result<void> pushed = CUSHIM_DRIVER(cuCtxPushCurrent, context); !pushed) {
        pop_if_current(context); // a failed call may have taken effect
        return pushed.error();
    }
    return ContextScope(cushim_fork_generation() + 1, state);
}

void ContextScope::leave(unsigned int pushed) noexcept {
    if (cushim_may_call(pushed - 1) == 0) {
        return;
    }
    CUcontext popped = nullptr;
    const CUresult status = driver().cuCtxPopCurrent(&popped);
    detail::report_teardown(
        {status, entry::cuCtxPopCurrent::name, reinterpret_cast<unsigned long long>(popped)});
}

// --- creation

Result<Context> Context::primary(Device device) noexcept {
    CUSHIM_TRY_VOID(init());
    CUSHIM_TRY(auto state, detail::make_state<PrimaryContextState>(device));
    CUcontext context = nullptr;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuDevicePrimaryCtxRetain, &context, device.native()));
    return Context(context, state.take());
}

Result<Context> Context::create(Device device, unsigned int flags) noexcept {
    CUSHIM_TRY_VOID(init());
    CUSHIM_TRY(auto state, detail::make_state<CreatedContextState>());
    state->device_ordinal = device.native();
    if (const auto made = CUSHIM_DRIVER(cuCtxCreate_v2, &state->context, flags, device.native());
        !made) {
        destroy_if_current(state->context);
        return made.error();
    }
    Context created(state->context, state.take());
    // CUDA has made it current.
    CUcontext popped = nullptr;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuCtxPopCurrent, &popped));
    return created;
}

Result<Context> Context::adopt(CUcontext context) noexcept {
    CUSHIM_TRY_VOID(detail::require_handle(context));
    CUSHIM_TRY(auto state, detail::make_state<CreatedContextState>());
    state->context = context;
    return Context(context, state.take());
}

Context Context::borrow(CUcontext context) noexcept {
    return Context(context, nullptr);
}

Result<Context> Context::current() noexcept {
    CUSHIM_TRY_VOID(init());
    CUcontext context = nullptr;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuCtxGetCurrent, &context));
    return Context(context, nullptr);
}

Result<void> Context::reset_primary(Device device) noexcept {
    CUSHIM_TRY_VOID(init());
    unsigned int flags = 0;
    int is_active = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuDevicePrimaryCtxGetState, device.native(), &flags, &is_active));
    if (is_active == 0) {
        return CUSHIM_DRIVER(cuDevicePrimaryCtxReset, device.native()); // it contains no objects
    }
    CUcontext context = nullptr;
    {
        CUSHIM_TRY(const Context active, primary(device)); // provides the handle
        context = active.native();
    }
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuDevicePrimaryCtxReset, device.native()));
    detail::note_reset(device.native(), context);
    return {};
}

// --- queries

Result<void> Context::make_current() const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, "the context is empty"));
    return CUSHIM_DRIVER(cuCtxSetCurrent, native());
}

Result<Device> Context::device() const noexcept {
    CUSHIM_TRY(const ContextScope scope, enter());
    CUdevice device = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuCtxGetDevice, &device));
    return Device::from_native(device);
}

Result<void> Context::synchronize() const noexcept {
    CUSHIM_TRY(const ContextScope scope, enter());
    return CUSHIM_DRIVER(cuCtxSynchronize);
}

Result<std::size_t> Context::limit(CUlimit limit) const noexcept {
    CUSHIM_TRY(const ContextScope scope, enter());
    std::size_t value = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuCtxGetLimit, &value, limit));
    return value;
}

Result<void> Context::set_limit(CUlimit limit, std::size_t value) const noexcept {
    CUSHIM_TRY(const ContextScope scope, enter());
    return CUSHIM_DRIVER(cuCtxSetLimit, limit, value);
}

Result<unsigned int> Context::flags() const noexcept {
    CUSHIM_TRY(const ContextScope scope, enter());
    unsigned int flags = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuCtxGetFlags, &flags));
    return flags;
}

Result<MemoryInfo> Context::memory_info() const noexcept {
    CUSHIM_TRY(const ContextScope scope, enter());
    MemoryInfo info;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMemGetInfo, &info.free, &info.total));
    return info;
}

Result<StreamPriorities> Context::stream_priorities() const noexcept {
    CUSHIM_TRY(const ContextScope scope, enter());
    StreamPriorities range;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuCtxGetStreamPriorityRange, &range.least, &range.greatest));
    return range;
}

Result<void> Context::enable_peer_access(const Context &peer) const noexcept {
    CUSHIM_TRY_VOID(detail::require(peer, "the peer's context is empty"));
    CUSHIM_TRY(const ContextScope scope, enter());
    return CUSHIM_DRIVER(cuCtxEnablePeerAccess, peer.native(), 0);
}

Result<void> Context::disable_peer_access(const Context &peer) const noexcept {
    CUSHIM_TRY_VOID(detail::require(peer, "the peer's context is empty"));
    CUSHIM_TRY(const ContextScope scope, enter());
    return CUSHIM_DRIVER(cuCtxDisablePeerAccess, peer.native());
}

} // namespace cushim
