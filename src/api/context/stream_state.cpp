#include "stream_state.hpp"

#include <cushim/detail/loader.h>

#include "base/call.hpp"
#include "base/fork_guard.hpp"
#include "base/relaxed_capture.hpp"
#include "base/resets.hpp"
#include "base/unheard_errors.hpp"

namespace cushim::detail {
namespace {

// Held while an event is recorded in a stream that another thread may release. Not held while the
// teardown sink is called.
constinit ForkLock giving_lock = {};

// Whether an event that is recorded now would become part of a capture.
Result<bool> is_capturing(CUstream stream) noexcept {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUSHIM_TRY_VOID(call<entry::cuStreamIsCapturing>(stream, &status));
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// Empty while the stream is being captured. Other threads may begin a capture at any time; an event
// that may have become part of it is dropped.
Result<Event> recorded_in(const StreamState &state) noexcept {
    CUSHIM_TRY(const bool before, is_capturing(state.stream));
    if (before) {
        return Event();
    }
    CUSHIM_TRY(Event event, Event::create(state.shared_context(), {.timing = false}));
    CUSHIM_TRY_VOID(event.record(Stream::borrow(state.stream)));
    CUSHIM_TRY(const bool after, is_capturing(state.stream));
    return after ? Event() : std::move(event);
}

// Whether the context no longer exists. Its streams, its events and their work have then ended.
bool is_of_no_context(const Error &error) noexcept {
    return error.kind() == ErrorKind::wrong_context ||
           error.status() == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
           error.status() == CUDA_ERROR_INVALID_HANDLE;
}

bool is_destroyed(const Context &context) noexcept {
    const auto scope = context.enter();
    return !scope && is_of_no_context(scope.error());
}

void report(const Error &error) noexcept {
    report_teardown({error, 0});
}

} // namespace

Destroyed StreamState::destroy() noexcept {
    return {call<entry::cuStreamDestroy>(stream), stream};
}

bool notes_end(const Stream &stream) noexcept {
    auto *const state = static_cast<StreamState *>(Access::state(stream));
    if (state == nullptr) {
        return false;
    }
    const LockGuard guard(giving_lock);
    state->has_later_end.store(true, std::memory_order_relaxed);
    return state->owned.load(std::memory_order_relaxed);
}

void StreamState::given_away() noexcept {
    Result<Event> event = Event();
    {
        const LockGuard guard(giving_lock);
        // Before the event: another thread that still sees `owned` has launched before the event.
        const bool was_owned = owned.exchange(false, std::memory_order_relaxed);
        if (!was_owned || !has_later_end.load(std::memory_order_relaxed) || is_gone() ||
            cushim_may_call(generation) == 0) {
            return;
        }
        event = recorded_in(*this);
        if (event) {
            is_end_unknown = !*event; // being captured
            end = std::move(*event);
        } else {
            is_end_unknown = status_of<entry::cuStreamSynchronize>(stream) != CUDA_SUCCESS;
        }
    }
    if (!event) {
        report(event.error());
    }
}

StreamEnd StreamEnd::share() const noexcept {
    StreamEnd other;
    other.stream_ = stream_.share();
    other.event_ = event_.share();
    other.failures_ = failures_;
    return other;
}

// Whether a reset has ended the work.
bool StreamEnd::is_gone() const noexcept {
    const State *const state = stream_ ? Access::state(stream_) : Access::state(event_);
    return state->is_gone();
}

void StreamEnd::failed(const Error &error) noexcept {
    if (failures_++ == 0) {
        report(error);
    }
}

void StreamEnd::record() noexcept {
    const UnheardErrors unheard;
    const UncertainCalls calls;
    if (stream_ && !event_ && calls.permitted() && !is_gone()) {
        const RelaxedCapture no_capture_ends_by_the_calls;
        (void)record_now();
    }
}

bool StreamEnd::is_reached() noexcept {
    if (!stream_ && !event_) {
        return true;
    }
    const UnheardErrors unheard;
    const UncertainCalls calls;
    if (!calls.permitted() || cushim_exiting() != 0) {
        return false;
    }
    if (is_gone()) {
        return true;
    }
    if (is_lost()) {
        return false;
    }
    const RelaxedCapture no_capture_ends_by_the_calls;
    if (!event_ && !record_now()) {
        return false;
    }
    if (!event_) {
        return true;
    }
    const Result<bool> through = event_.query();
    if (!through && is_of_no_context(through.error())) {
        (void)event_.release(); // destroyed already
        return true;
    }
    if (!through) {
        failed(through.error());
        if (stream_) {
            event_.reset(); // may have become part of a capture; the next call records another
        }
        return false;
    }
    return *through;
}

// Records the event. If the work has ended already, returns true and records none.
bool StreamEnd::record_now() noexcept {
    const auto &state = static_cast<const StreamState &>(*Access::state(stream_));
    Result<Event> event = Event();
    {
        const LockGuard guard(giving_lock);
        if (!state.owned.load(std::memory_order_relaxed)) {
            event_ = state.end.share();
            failures_ = state.is_end_unknown ? most_failures : failures_;
            return !state.is_end_unknown;
        }
        event = recorded_in(state);
    }
    if (!event) {
        // The same error also occurs for a stream of another context, whose work continues.
        if (is_of_no_context(event.error()) && is_destroyed(state.shared_context())) {
            return true;
        }
        failed(event.error());
        return false;
    }
    event_ = std::move(*event);
    return bool(event_);
}

} // namespace cushim::detail
