// The state of a Stream that owns its stream, and the end of the work in a stream.
#pragma once

#include <cushim/event.hpp>
#include <cushim/stream.hpp>

#include <atomic>

#include "in_context.hpp"

namespace cushim::detail {

struct StreamState final : InContext {
    explicit StreamState(const Context &in) noexcept : InContext(in, InCapture::safe) {}
    Destroyed destroy() noexcept override;
    // Other code may destroy the stream after this call, which records the end of its work.
    void given_away() noexcept override;

    CUstream stream = nullptr;
    std::atomic<bool> has_later_end{false}; // a StreamEnd refers to the stream
    Event end;                              // after given_away()
};

// Null for a stream that is borrowed or was given away, or a default stream.
inline StreamState *owned_stream(const Stream &stream) noexcept {
    State *const state = Access::state(stream);
    return state != nullptr && state->owned.load(std::memory_order_relaxed)
               ? static_cast<StreamState *>(state)
               : nullptr;
}

/* The end of work that was enqueued earlier. For a stream that Streams own, it is not recorded
 * before record() or is_reached() is called, and then covers all work in the stream at that time.
 */
class StreamEnd {
  public:
    // Reached at once.
    StreamEnd() noexcept = default;
    // The end of the work in a stream that Streams own, whose `has_later_end` is set. The stream is
    // kept alive until the end is recorded.
    explicit StreamEnd(Stream &&stream) noexcept : stream_(std::move(stream)) {}
    // A recorded event.
    explicit StreamEnd(Event &&event) noexcept : event_(std::move(event)) {}
    // The same end once more.
    StreamEnd share() const noexcept;

    // Neither blocks nor affects a capture. Does nothing yet while the stream is being captured.
    void record() noexcept;
    // Like record(). Also true if the work cannot be waited for, because a reset or a failure has
    // ended it. Failures go to the teardown sink.
    bool is_reached() noexcept;

  private:
    bool is_gone() const noexcept;
    bool record_now() noexcept;

    Stream stream_;
    Event event_;
    bool lacks_event_ = false; // recording failed
};

} // namespace cushim::detail
