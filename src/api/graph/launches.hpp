// The end of the launches of an executable graph.
#pragma once

#include <cushim/event.hpp>
#include <cushim/stream.hpp>

#include "context/stream_state.hpp"

namespace cushim::detail {

/* Launches of one executable graph run one after the other, so the end of the last one ends all.
 * In a stream that Streams own, launches record nothing: the stream is kept alive until there is a
 * launch into another one. In other streams, each launch is followed by an event, since their
 * owners may destroy them, or no other thread can reach them. */
class Launches {
  public:
    explicit Launches(const InContext &exec) noexcept : exec_(exec) {}
    // After each launch into this stream. Not after launches that CUDA rejected.
    void note(const Stream &stream) noexcept {
        const State *const state = Access::state(stream);
        is_end_current_ = false;
        if (state == nullptr || state != in_ || !state->owned.load(std::memory_order_relaxed))
            [[unlikely]] {
            note_other(stream);
        }
    }

    // The same if CUDA may have rejected the launch.
    void note_doubtful(const Stream &stream) noexcept;

    // When all launches so far have ended.
    struct End {
        StreamEnd last;
        StreamEnd before; // of the launches before a doubtful one
    };
    // Affects no capture.
    End end() noexcept;
    // Whether launches may still run whose end is not known.
    bool is_end_unknown() const noexcept { return is_end_unknown_; }

  private:
    void note_other(const Stream &stream) noexcept;
    Result<void> record(const Stream &stream) noexcept;

    const InContext &exec_;
    const State *in_ = nullptr; // of the stream, if Streams own it and the launch is certain
    Stream stream_;             // that one; empty for other streams
    StreamEnd end_;
    bool is_end_current_ = true; // of the last launch, not of an earlier one
    bool is_end_unknown_ = false;
    bool is_event_shared_ = false; // with the end of earlier launches
    StreamEnd before_doubtful_;
    Event event_;                  // in the last of the other streams
    CUcontext event_in_ = nullptr; // context of the event
};

} // namespace cushim::detail
