#include <cushim/stream.hpp>

#include "adopting.hpp"
#include "base/call.hpp"
#include "base/missing_entries.hpp"
#include "event_state.hpp"
#include "in_context.hpp"
#include "stream_context.hpp"
#include "stream_state.hpp"
#include "wrong_context.hpp"

namespace cushim {

using namespace detail;

namespace {

constexpr const char *empty = "the Stream is empty";

bool is_interprocess(const Event &event) noexcept {
    const EventState *const state = state_of(event);
    return state != nullptr && state->is_interprocess;
}

// Driver 580 crashes the process if a stream of another context waits. Graph nodes may wait.
[[gnu::cold, gnu::noinline]] Result<void> check_interprocess(const Event &event,
                                                             const Stream &stream) noexcept {
    const EventState *const state = state_of(event);
    CUSHIM_TRY(const Context context, stream.context());
    if (context.native() == state->context) {
        return {};
    }
    const CUcontext own = context.native(), of_event = state->context;
    return wrong_context("the stream belongs to context %s, the interprocess event to "
                         "context %s; if another process "
                         "created the event, open it in context %s, too, with "
                         "open_event(); if this process did, use "
                         "an event without interprocess",
                         context_text(own, ordinal_of(stream)).c_str(),
                         context_text(of_event, state->device_ordinal).c_str(),
                         context_text(own).c_str());
}

} // namespace

Result<Stream> Stream::create(const Context &context, const StreamOptions &options) noexcept {
    return named("Stream::create", [&]() -> Result<Stream> {
        CUSHIM_TRY(auto state, make_state<StreamState>(context));
        const unsigned int flags =
            options.non_blocking ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
        CUSHIM_TRY_VOID(
            call_in(state->context, [stream = &state->stream, flags, priority = options.priority] {
                return call<entry::cuStreamCreateWithPriority>(stream, flags, priority);
            }));
        return Stream(state->stream, state.take());
    });
}

Result<Stream> Stream::adopt(const Context &context, CUstream stream) noexcept {
    return named("Stream::adopt", [&]() -> Result<Stream> {
        CUSHIM_TRY_VOID(require_handle_in(context, stream));
        CUSHIM_TRY(auto state, make_state<StreamState>(context));
        state->stream = stream;
        return Stream(stream, state.take());
    });
}

Result<void> Stream::synchronize() const noexcept {
    return named("Stream::synchronize", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty));
        return call<entry::cuStreamSynchronize>(native());
    });
}

Result<bool> Stream::query() const noexcept {
    return named("Stream::query", [&]() -> Result<bool> {
        CUSHIM_TRY_VOID(require(*this, empty));
        const CUresult status = status_of<entry::cuStreamQuery>(native());
        if (status == CUDA_ERROR_NOT_READY) {
            return false;
        }
        CUSHIM_TRY_VOID(checked<entry::cuStreamQuery>(status));
        return true;
    });
}

Result<void> Stream::wait_event(const Event &event) const noexcept {
    return named("Stream::wait_event", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty));
        CUSHIM_TRY_VOID(require(event, "the Event is empty"));
        if (is_interprocess(event)) [[unlikely]] {
            CUSHIM_TRY_VOID(check_interprocess(event, *this));
        }
        return call<entry::cuStreamWaitEvent>(native(), event.native(), 0);
    });
}

Result<void> Stream::wait(const Stream &other) const noexcept {
    return named("Stream::wait", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty));
        CUSHIM_TRY_VOID(require(other, "the other Stream is empty"));
        CUSHIM_TRY(const Event end, other.record_event({.timing = false}));
        return call<entry::cuStreamWaitEvent>(native(), end.native(), 0);
    });
}

Result<Event> Stream::record_event(const EventOptions &options) const noexcept {
    return named("Stream::record_event", [&]() -> Result<Event> {
        CUSHIM_TRY_VOID(require(*this, empty));
        CUSHIM_TRY(const Context context, context_of(*this));
        CUSHIM_TRY(Event event, Event::create(context, options));
        CUSHIM_TRY_VOID(event.record(*this));
        return event;
    });
}

Result<int> Stream::priority() const noexcept {
    return named("Stream::priority", [&]() -> Result<int> {
        CUSHIM_TRY_VOID(require(*this, empty));
        int priority = 0;
        CUSHIM_TRY_VOID(call<entry::cuStreamGetPriority>(native(), &priority));
        return priority;
    });
}

Result<unsigned int> Stream::flags() const noexcept {
    return named("Stream::flags", [&]() -> Result<unsigned int> {
        CUSHIM_TRY_VOID(require(*this, empty));
        unsigned int flags = 0;
        CUSHIM_TRY_VOID(call<entry::cuStreamGetFlags>(native(), &flags));
        return flags;
    });
}

Result<Context> Stream::context() const noexcept {
    return named("Stream::context", [&]() -> Result<Context> {
        CUSHIM_TRY_VOID(require(*this, empty));
        CUcontext context = nullptr;
        CUSHIM_TRY_VOID(call<entry::cuStreamGetCtx_v1>(native(), &context));
        return Context::borrow(context);
    });
}

Result<unsigned long long> Stream::id() const noexcept {
    return named("Stream::id", [&]() -> Result<unsigned long long> {
        CUSHIM_TRY_VOID(require(*this, empty));
        unsigned long long id = 0;
        CUSHIM_TRY_VOID(call<entry::cuStreamGetId>(native(), &id));
        return id;
    });
}

} // namespace cushim
