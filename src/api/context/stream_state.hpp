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
    std::atomic<bool> has_later_end{false}; // notes_end() was called
    bool is_end_unknown = false;            // after given_away()
    Event end;                              // after given_away(): of the work before
};

// Whether Streams own it, so that a StreamEnd can refer to it.
bool notes_end(const Stream &stream) noexcept;

/* The end of work that was enqueued earlier. For a stream that Streams own, it is not recorded
 * before record() or is_reached() is called, and then covers all work in the stream at that time.
 */
class StreamEnd {
  public:
    // Reached at once.
    StreamEnd() noexcept = default;
    // The end of the work in a stream after notes_end(), which is kept alive.
    explicit StreamEnd(Stream &&stream) noexcept : stream_(std::move(stream)) {}
    // A recorded event.
    explicit StreamEnd(Event &&event) noexcept : event_(std::move(event)) {}
    // The same end once more.
    StreamEnd share() const noexcept;
    // Whether there is work to wait for.
    explicit operator bool() const noexcept { return stream_ || event_; }

    // Neither blocks nor affects a capture. Does nothing yet while the stream is being captured, or
    // a context is being reset.
    void record() noexcept;
    // Like record(). Also true if a reset or the end of the context has ended the work. The first
    // failure goes to the teardown sink.
    bool is_reached() noexcept;
    // Whether calls have failed too often, as after a failure of the context: a host function may
    // still run.
    bool is_lost() const noexcept { return failures_ >= most_failures; }

  private:
    static constexpr unsigned int most_failures = 8;

    bool is_gone() const noexcept;
    bool record_now() noexcept;
    void failed(const Error &error) noexcept;

    Stream stream_;
    Event event_;
    unsigned int failures_ = 0;
};

} // namespace cushim::detail
