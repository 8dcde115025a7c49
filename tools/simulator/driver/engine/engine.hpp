// State and parts of the engine. work.hpp declares the interface for other code.
//
// Everything runs under the lock, except where Work::run releases it. Operation::after alone
// defines the order of operations; a queue holds its stream's operations in the order of
// enqueueing. An operation whose predecessors are done is ready; if it has a Work::ready, it is
// polled instead. No step looks at operations that are neither.
#pragma once

#include "call/settings.hpp"
#include "engine/context.hpp"
#include "engine/stream.hpp"
#include "engine/work.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sim {

// The streams of one context.
struct StreamGroup {
    CUctx_st *context = nullptr;
    Stream *legacy = nullptr;
    std::size_t streams = 0;       // number of all, including ended streams that still have work
    std::vector<Ticket> barriers;  // all later work of the context waits for these
    Ticket latest;                 // of the finished operations, the one that ended last
    Ticket latest_blocking;        // the same of blocking streams
    std::uint64_t barrier_ns = 0;  // and begins no earlier than this
    CUresult error = CUDA_SUCCESS; // unreported error of work that is not sticky
};

inline bool became_busy_first(const Stream &a, const Stream &b) noexcept {
    return a.busy_since < b.busy_since;
}

// What a thread waits for, or a poll asks for.
struct Targets {
    explicit Targets(std::vector<Ticket> its_operations = {});
    std::vector<Ticket> operations; // finished ones at the end are removed
    std::uint64_t number;           // of this wait
};

// State that all modes share; mode.hpp declares the modes.
struct Engine {
    PriorityQueue<Stream, &Stream::in_busy, became_busy_first> busy; // with unfinished operations
    PriorityQueue<Stream, &Stream::in_polling, became_busy_first> polling; // with polled operations
    PriorityQueue<Operation, &Operation::in_ready, is_older> ready;        // of all streams
    std::size_t queued = 0;  // number of unfinished operations
    std::size_t running = 0; // operations whose run() was begun
    std::size_t waiting = 0; // waiting threads
    std::uint64_t progress =
        0;                     // incremented when an operation is enqueued, runs in part or is done
    std::uint64_t host_ns = 0; // virtual time of the latest work that the host waited for
    std::uint64_t times_busy = 0;  // how often a stream became busy
    std::uint64_t next_number = 1; // of the next operation
    std::uint64_t next_stream_id = 1;
    std::unordered_map<const CUctx_st *, StreamGroup> groups;
    std::map<std::pair<std::uint64_t, const CUctx_st *>, Stream *> thread_streams;
};
Engine &engine() noexcept;

// Calls function(group) for the groups of the streams that belong to the context.
template <class Function>
void for_each_group(const CUctx_st &context, const Function &function) {
    const auto visit = [&function](const CUctx_st *one) {
        const auto group = engine().groups.find(one);
        if (group != engine().groups.end()) {
            function(group->second);
        }
    };
    visit(&context);
    for (const CUctx_st *green : context.greens) {
        visit(green);
    }
}

// The duration of every operation on the virtual clock. It begins when all its predecessors are
// done, and no earlier than the virtual time of the host at its enqueueing. Streams run in
// parallel, and times are the same in every run.
constexpr std::uint64_t operation_ns = 10000;

// --- engine_order.cpp: dependencies between operations
// Adds the dependencies that the stream's rules imply for an operation that is enqueued now.
void put_in_order(Operation &operation, Stream &stream);
// The operations that a wait for the stream waits for, including legacy stream rules.
std::vector<Ticket> queued_in(Stream &stream);
// Makes room for an operation that is being enqueued, so that become_ready() need not allocate.
void reserve_ready(const Operation &operation);
// An operation that is not running has no unfinished predecessors; it can run, or must be polled.
void become_ready(Operation &operation) noexcept;
// The operation begins to run, or is dropped.
void end_ready(Operation &operation) noexcept;
// The operation is done: those that wait for it may become ready.
void release_followers(Operation &operation) noexcept;
// Marks the operations of the same stream that this ordered one waits for: a wait for the stream
// need not name them.
void cover_predecessors(const Operation &operation) noexcept;
// Whether the operation can run now.
bool is_runnable(const Operation &operation);
// The first operation in a stream that can run now, or null.
Ticket runnable_of(const Stream &stream);
// All polled operations that can run now.
std::vector<Operation *> runnable_polled();
// Drops the state of a context that has no streams.
void forget_streams(const CUctx_st &context) noexcept;

// --- engine.cpp: running operations
// Of an operation that is not done: "cuMemsetD8Async (operation 7) in stream …".
std::string describe(const Operation &operation);
// Runs an operation that is_runnable(), or a part of it. May release the lock. Takes a ticket by
// value, since the queue drops its own.
void execute(Ticket operation);
// Ends an operation without running it.
void finish(const Ticket &operation, CUresult result);
// Whether a status makes the whole context fail.
bool is_sticky(CUresult status) noexcept;
// Whether the calling thread is inside execute().
bool &executing() noexcept;

// --- engine_wait.cpp
// Blocks until all targets are done.
void wait_for(std::vector<Ticket> targets);
// Whether all targets are done. Takes a step towards them if the mode requires it.
bool poll(std::vector<Ticket> targets);

} // namespace sim
