#include "stream_state.hpp"

#include <cushim/detail/loader.h>

#include "base/call.hpp"
#include "base/fork_guard.hpp"
#include "base/relaxed_capture.hpp"

namespace cushim::detail {
namespace {

// Held while a stream that may be given away is used.
constinit ForkLock giving_lock;

void report(const Error &error, CUstream stream) noexcept {
    report_teardown({error.status(), error.entry_point(),
                     reinterpret_cast<unsigned long long>(stream), error.api()});
}

// Whether an event that is recorded now would become part of a capture.
bool is_capturing(CUstream stream) noexcept {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const Result<void> asked = CUSHIM_DRIVER(cuStreamIsCapturing, stream, &status);
    if (!asked) {
        report(asked.error(), stream);
    }
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

Result<Event> recorded_in(const StreamState &state) noexcept {
    CUSHIM_TRY(Event event, Event::create(state.shared_context(), {.timing = false}));
    CUSHIM_TRY_VOID(event.record(Stream::borrow(state.stream)));
    return event;
}

} // namespace

Destroyed StreamState::destroy() noexcept {
    return CUSHIM_DESTROY(cuStreamDestroy, stream, stream);
}

void StreamState::given_away() noexcept {
    if (!has_later_end.load(std::memory_order_relaxed) || is_gone()) {
        return;
    }
    const LockGuard guard(giving_lock);
    Result<Event> event = recorded_in(*this);
    if (event) {
        end = std::move(*event);
    } else {
        report(event.error(), stream);
        (void)driver().cuStreamSynchronize(stream);
    }
    owned.store(false, std::memory_order_relaxed);
}

StreamEnd StreamEnd::share() const noexcept {
    StreamEnd other;
    other.stream_ = stream_.share();
    other.event_ = event_.share();
    return other;
}

// Whether a reset has ended the work.
bool StreamEnd::is_gone() const noexcept {
    const State *const state = stream_ ? Access::state(stream_) : Access::state(event_);
    return state->is_gone();
}

void StreamEnd::record() noexcept {
    if (stream_ && !is_gone()) {
        const RelaxedCapture no_capture_ends_by_the_calls;
        (void)record_now();
    }
}

bool StreamEnd::is_reached() noexcept {
    if ((!stream_ && !event_) || is_gone()) {
        return true;
    }
    if (cushim_exiting() != 0) {
        return false; // and never will be reached
    }
    const RelaxedCapture no_capture_ends_by_the_calls;
    if (stream_ && !record_now()) {
        return false;
    }
    if (!event_) {
        return true;
    }
    const Result<bool> through = event_.query();
    if (!through) {
        report(through.error(), nullptr);
    }
    return !through || *through;
}

// Replaces the stream by an event in it or, if that fails and the stream is idle, by nothing.
bool StreamEnd::record_now() noexcept {
    const auto &state = static_cast<const StreamState &>(*Access::state(stream_));
    const LockGuard guard(giving_lock);
    if (!state.owned.load(std::memory_order_relaxed)) {
        event_ = state.end.share();
        stream_.reset();
        return true;
    }
    // Other threads may begin a capture at any time. An event that became part of it is dropped.
    if (is_capturing(state.stream)) {
        return false;
    }
    if (!lacks_event_) {
        Result<Event> event = recorded_in(state);
        if (is_capturing(state.stream)) {
            return false;
        }
        if (event) {
            event_ = std::move(*event);
            stream_.reset();
            return true;
        }
        report(event.error(), state.stream);
        lacks_event_ = true;
    }
    if (driver().cuStreamQuery(state.stream) == CUDA_ERROR_NOT_READY) {
        return false;
    }
    stream_.reset();
    return true;
}

} // namespace cushim::detail
