// Streams and events.
#pragma once

#include "engine/object.hpp"
#include "engine/priority_queue.hpp"
#include "engine/work.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>

namespace sim {
struct Capture;
inline bool is_older(const Operation &a, const Operation &b) noexcept {
    return a.number < b.number;
}
using OperationsByAge = PriorityQueue<Operation, &Operation::in_stream, is_older>;
class SharedEvent; // shared_state.hpp
struct StreamGroup;
struct Worker;
// What the adversarial mode keeps of a stream: adversarial_mode.cpp.
struct Turn {
    CUstream_st *stream;
    std::uint64_t last = 0; // turn in which it ran or began to wait
    std::size_t place = 0;  // in the queue of streams with ready operations
};
} // namespace sim

struct CUstream_st final : sim::Object {
    CUstream_st(CUctx_st &owner, unsigned int flags, int priority);
    ~CUstream_st() override;
    static constexpr sim::Kind own_kind = sim::Kind::stream;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    unsigned int flags;
    int priority;
    unsigned long long id;
    bool legacy = false;     // the legacy default stream
    bool per_thread = false; // a per-thread default stream
    // Synchronizes with the legacy stream of its context. Recorded for captures: streams of green
    // contexts do not.
    bool blocking() const noexcept { return blocks; }

    std::shared_ptr<sim::Capture> capture; // set while the stream captures
    CUlaunchAttributeValue attributes[32] = {};

    // State of the engine.
    // Unfinished operations in order of enqueueing, and finished ones that are not the first.
    std::deque<sim::Ticket> queue;
    sim::Ticket last;      // the newest ordered operation
    std::size_t loose = 0; // number of unfinished operations that are not ordered and not covered
    // Operations that are not running and whose predecessors are done: without and with
    // Work::ready.
    sim::OperationsByAge ready, polled;
    sim::StreamGroup *group;                 // streams of its context
    std::uint64_t thread = 0;                // per-thread stream: its thread
    std::uint64_t busy_since = 0;            // in the order in which streams became busy
    std::size_t in_busy = 0, in_polling = 0; // places in the queues of engine.hpp
    sim::Turn turn{this};
    bool blocks = false;
    bool ended = false;     // its handle is invalid; destroyed after its last work and user
    unsigned int users = 0; // InUse
    sim::ListPlace<CUstream_st> in_line; // see threads.hpp
    sim::Worker *served_by = nullptr;    // likewise
};

struct CUevent_st final : sim::Object {
    explicit CUevent_st(CUctx_st &owner, unsigned int flags);
    ~CUevent_st() override;
    static constexpr sim::Kind own_kind = sim::Kind::event;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    unsigned int flags;
    sim::Ticket recorded;                      // newest record; null: never recorded
    std::shared_ptr<sim::Capture> captured_in; // capture in which it was recorded
    CUgraphNode captured_node = nullptr;
    std::shared_ptr<sim::SharedEvent> shared; // IPC: state in shared memory
};

namespace sim {

using Stream = CUstream_st;
using Event = CUevent_st;

// The context that the stream belongs to. Its own member `context` is the owner of that.
CUctx_st &context_of(const Stream &stream) noexcept;
// Whether this is that context or its owner.
bool belongs_to(const Stream &stream, const CUctx_st &context) noexcept;

// The stream of a call inside a host function. Recorded: it must be a created stream. The default
// streams depend on the current context, which a host function must not use.
Stream &stream_of_caller(CUstream handle);

// Keeps a stream and its context alive for a call that enqueues more than once and may release the
// lock each time.
class InUse {
  public:
    explicit InUse(Stream &stream) noexcept;
    ~InUse();
    InUse(const InUse &) = delete;
    InUse &operator=(const InUse &) = delete;

  private:
    Stream &stream_;
};
// Destroys a stream whose handle is invalid once it has no work and no users.
void destroy_if_over(Stream &stream);

} // namespace sim
