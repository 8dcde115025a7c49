// The context of a stream.
#pragma once

#include <cushim/stream.hpp>

#include "in_context.hpp"

namespace cushim::detail {

// Whether it is legacy() or per_thread(), which depend on the current context.
inline bool is_default(CUstream stream) noexcept {
    return stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

// Another owner for the stream's context, or a borrowed context for a borrowed stream.
inline Result<Context> context_of(const Stream &stream) noexcept {
    if (State *const state = Access::state(stream)) {
        return static_cast<InContext *>(state)->shared_context();
    }
    return stream.context();
}

// in_context_of() for a stream without a state.
template <class Call>
[[gnu::cold, gnu::noinline]] Result<void> in_context_of_borrowed(const Stream &stream,
                                                                 Call call) noexcept {
    if (is_default(stream.native())) {
        return call();
    }
    CUSHIM_TRY(const Context context, stream.context());
    return call_in(context.native(), call);
}

// Runs a call that enqueues into the stream, with the stream's context current. CUDA checks copies
// against the device of the current context. Default streams use the current context.
template <class Call>
[[gnu::always_inline]] inline Result<void> in_context_of(const Stream &stream, Call call) noexcept {
    if (const State *const state = Access::state(stream)) [[likely]] {
        return call_in(static_cast<const InContext *>(state)->context, call);
    }
    return in_context_of_borrowed(stream, call);
}

} // namespace cushim::detail
