// Streams and events.
#pragma once

#include "engine/object.hpp"
#include "engine/work.hpp"

#include <deque>

namespace sim {
struct Capture;
class SharedEvent; // shared_state.hpp
struct StreamGroup;
struct Worker;
} // namespace sim

struct CUstream_st final : sim::Object {
    CUstream_st(CUctx_st &owner, unsigned int flags, int priority);
    ~CUstream_st() override;
    static constexpr sim::Kind own_kind = sim::Kind::stream;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    unsigned int flags;
    int priority;
    unsigned long long id;
    bool legacy = false;     // a context's null stream
    bool per_thread = false; // a thread's own
    bool blocking() const noexcept { return (flags & CU_STREAM_NON_BLOCKING) == 0; }

    std::shared_ptr<sim::Capture> capture; // while it captures
    CUlaunchAttributeValue attributes[32] = {};

    // Of the engine.
    std::deque<sim::Ticket> queue; // not yet done, in order of enqueueing
    sim::Ticket last;              // the newest ordered one that was ever queued
    std::size_t loose = 0;         // how many in the queue are not ordered
    sim::StreamGroup *group;       // the streams of its context
    std::uint64_t thread = 0;      // of a thread's own stream: whose
    std::uint64_t turn = 0;        // adversarial mode: the last in which it ran, or began to wait
    bool ended = false;            // its handle is dead; it ends with its last work and user
    unsigned int users = 0;        // InUse
    std::shared_ptr<sim::Worker> worker; // threaded mode
};

struct CUevent_st final : sim::Object {
    explicit CUevent_st(CUctx_st &owner, unsigned int flags);
    ~CUevent_st() override;
    static constexpr sim::Kind own_kind = sim::Kind::event;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    unsigned int flags;
    sim::Ticket recorded;                      // the newest record; null: never recorded
    std::shared_ptr<sim::Capture> captured_in; // recorded while its stream captured
    CUgraphNode captured_node = nullptr;
    std::shared_ptr<sim::SharedEvent> shared; // IPC: state in memory that processes share
};

namespace sim {

using Stream = CUstream_st;
using Event = CUevent_st;

// The stream of a call that a host function may make. As measured, it has to name one that was
// created: the others are of the current context, of which a host function may not ask.
Stream &stream_of_caller(CUstream handle);

// Keeps a stream and its context for a call that queues more than once: each time it may give up
// the lock.
class InUse {
  public:
    explicit InUse(Stream &stream) noexcept;
    ~InUse();
    InUse(const InUse &) = delete;
    InUse &operator=(const InUse &) = delete;

  private:
    Stream &stream_;
};
// Destroys a stream whose handle is dead, where nothing needs it any more.
void destroy_if_over(Stream &stream);

} // namespace sim
