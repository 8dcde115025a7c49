// Objects in a context: the state that keeps it alive, and calls with the context current.
#pragma once

#include <cushim/context.hpp>

#include "base/call.hpp"
#include "base/resets.hpp"
#include "base/state.hpp"

namespace cushim::detail {

struct InContext : State {
    explicit InContext(const Context &in, InCapture call = InCapture::unsafe) noexcept
        : State(call, ordinal_of(in)), keep_context(in), context(in.native()),
          resets_before(resets_of(in.native())) {}
    // In the context of another object.
    InContext(const InContext &other, InCapture call) noexcept
        : State(call, other.device_ordinal), keep_context(other.keep_context.share()),
          context(other.context), resets_before(resets_of(other.context)) {}

    bool is_gone() const noexcept override { return resets_of(context) != resets_before; }
    Result<ContextScope> enter() const noexcept { return ContextScope::enter(context); }
    // For objects created in the same context.
    Context shared_context() const noexcept {
        Context shared;
        keep_context.share(shared, context);
        return shared;
    }

    const KeepAlive keep_context;
    const CUcontext context;
    const unsigned int resets_before;
};

inline Destroyed not_entered(const Error &error, CUcontext context) noexcept {
    return {error, context};
}

// A destroy() that should run in the object's context although drivers do not require it. If the
// context cannot be entered, the call is made nevertheless, and the failure is reported to the
// teardown sink.
template <class Destroy>
Destroyed destroy_in(CUcontext context, Destroy destroy) noexcept {
    const auto scope = ContextScope::enter(context);
    if (scope) {
        return destroy();
    }
    Destroyed outside = not_entered(scope.error(), context);
    if (nothing_left(outside.status())) {
        return outside;
    }
    report_teardown(outside);
    return destroy();
}

// The same for a call that requires the object's own context: fails if it cannot be entered.
template <class Destroy>
Destroyed destroy_only_in(CUcontext context, Destroy destroy) noexcept {
    const auto scope = ContextScope::enter(context);
    return scope ? destroy() : not_entered(scope.error(), context);
}

// Rejects an empty owner, whose null handle CUDA would take for the default stream or current
// context.
template <class Value>
[[gnu::always_inline]] inline Result<void> require(const Owner<Value> &owner,
                                                   const char *empty) noexcept {
    if (!owner) [[unlikely]] {
        return Error::invalid_argument(empty);
    }
    return {};
}

// The result of run(call) in the context. `asked`: the status of the cuCtxGetCurrent() that did not
// return the context.
[[gnu::cold]] Result<void> call_after_entering(CUcontext context, CUresult asked,
                                               Result<void> (*run)(const void *call) noexcept,
                                               const void *call) noexcept;

// The result of call() with the context current if it is needed, or the failure to enter it: as
// with ContextScope, for calls that programs repeat. If the context is current already, this costs
// one driver call and a few instructions.
template <class Call>
[[gnu::always_inline]] inline Result<void> call_in(CUcontext context, const Call &call,
                                                   bool is_needed = true) noexcept {
    CUcontext current = nullptr;
    CUresult asked = CUDA_SUCCESS;
    if (is_needed && context != nullptr) {
        asked = status_of<entry::cuCtxGetCurrent>(&current);
    }
    if (!is_needed || (context != nullptr && current == context && asked == CUDA_SUCCESS))
        [[likely]] {
        return call();
    }
    return call_after_entering(
        context, asked, [](const void *of) noexcept { return (*static_cast<const Call *>(of))(); },
        &call);
}

} // namespace cushim::detail
