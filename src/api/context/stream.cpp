#include <cushim/stream.hpp>

#include "adopting.hpp"
#include "base/call.hpp"
#include "current_call.hpp"
#include "event_state.hpp"
#include "stream_state.hpp"
#include "wrong_context.hpp"

namespace cushim {
namespace {

using detail::StreamState;

constexpr const char *empty = "the Stream holds no stream";

bool is_interprocess(const Event &event) noexcept {
    const detail::EventState *const state = detail::state_of(event);
    return state != nullptr && state->is_interprocess;
}

// Driver 580 crashes the process if a stream of another context waits. Graph nodes may wait.
[[gnu::cold, gnu::noinline]] Result<void> check_interprocess(const Event &event,
                                                             const Stream &stream) noexcept {
    const detail::EventState *const state = detail::state_of(event);
    CUSHIM_TRY(const Context context, stream.context());
    if (context.native() == state->context) {
        return {};
    }
    const CUcontext own = context.native(), of_event = state->context;
    return detail::wrong_context({},
                                 "the stream belongs to context %s, the interprocess event to "
                                 "context %s; if another process "
                                 "created the event, open it in context %s, too, with "
                                 "open_event(); if this process did, use "
                                 "an event without interprocess",
                                 detail::context_text(own, detail::ordinal_of(stream)).c_str(),
                                 detail::context_text(of_event, state->device_ordinal).c_str(),
                                 detail::context_text(own).c_str());
}

} // namespace

Result<Stream> Stream::create(const Context &context, const StreamOptions &options) noexcept {
    CUSHIM_TRY(auto state, detail::make_state<StreamState>(context));
    const unsigned int flags = options.non_blocking ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
    CUSHIM_TRY_VOID(detail::call_in(
        state->context, nullptr, [stream = &state->stream, flags, priority = options.priority] {
            return CUSHIM_DRIVER(cuStreamCreateWithPriority, stream, flags, priority);
        }));
    return Stream(state->stream, state.take());
}

Stream Stream::legacy() noexcept {
    return Stream(CU_STREAM_LEGACY, nullptr);
}

Stream Stream::per_thread() noexcept {
    return Stream(CU_STREAM_PER_THREAD, nullptr);
}

Result<Stream> Stream::adopt(const Context &context, CUstream stream) noexcept {
    CUSHIM_TRY_VOID(detail::require_handle_in(context, stream));
    CUSHIM_TRY(auto state, detail::make_state<StreamState>(context));
    state->stream = stream;
    return Stream(stream, state.take());
}

Stream Stream::borrow(CUstream stream) noexcept {
    return Stream(stream, nullptr);
}

Result<void> Stream::synchronize() const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    return CUSHIM_DRIVER(cuStreamSynchronize, native());
}

Result<bool> Stream::query() const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    const CUresult status = driver().cuStreamQuery(native());
    if (status == CUDA_ERROR_NOT_READY) {
        return false;
    }
    CUSHIM_TRY_VOID(detail::checked(status, entry::cuStreamQuery::name));
    return true;
}

Result<void> Stream::wait_event(const Event &event) const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    CUSHIM_TRY_VOID(detail::require(event, "the Event holds no event"));
    if (is_interprocess(event)) [[unlikely]] {
        CUSHIM_TRY_VOID(check_interprocess(event, *this));
    }
    return CUSHIM_DRIVER(cuStreamWaitEvent, native(), event.native(), 0);
}

Result<int> Stream::priority() const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    int priority = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuStreamGetPriority, native(), &priority));
    return priority;
}

Result<unsigned int> Stream::flags() const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    unsigned int flags = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuStreamGetFlags, native(), &flags));
    return flags;
}

Result<Context> Stream::context() const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    CUcontext context = nullptr;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuStreamGetCtx_v1, native(), &context));
    return Context::borrow(context);
}

Result<unsigned long long> Stream::id() const noexcept {
#if CUDA_VERSION >= 12000
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    unsigned long long id = 0;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuStreamGetId, native(), &id));
    return id;
#else
    return CUSHIM_NAMED(Error::requires_newer_headers("cuStreamGetId", Version::of(12, 0)));
#endif
}

} // namespace cushim
