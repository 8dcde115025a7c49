// State and parts of the engine. work.hpp declares the interface for other code.
//
// Everything runs under the lock, except where Work::run releases it. Operation::after alone
// defines the order of operations; a queue holds its stream's operations in the order of
// enqueueing. An operation whose predecessors are done is ready; if it has a Work::ready, it is
// polled instead. No step looks at operations that are neither.
#pragma once

#include "base/random.hpp"
#include "call/settings.hpp"
#include "engine/stream.hpp"
#include "engine/work.hpp"

#include <chrono>
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
// Whether the stream was passed over for longer.
inline bool waits_longer(const Stream &a, const Stream &b) noexcept {
    return a.turn != b.turn ? a.turn < b.turn : became_busy_first(a, b);
}
// The highest rank first; the oldest of equal ones. Predecessors of a high-ranked stream's work
// rank as high. Otherwise a stream that waits for a low one would follow all streams between them,
// whatever its own rank.
inline bool ranks_higher(const Operation &a, const Operation &b) noexcept {
    return a.needed_by != b.needed_by       ? a.needed_by > b.needed_by
           : a.stream_rank != b.stream_rank ? a.stream_rank > b.stream_rank
           : a.part_rank != b.part_rank     ? a.part_rank > b.part_rank
                                            : is_older(a, b);
}

// What a thread waits for, or a poll asks for.
struct Targets {
    explicit Targets(std::vector<Ticket> its_operations = {});
    std::vector<Ticket> operations; // finished ones at the end are removed
    std::uint64_t number;           // of this wait
};

// State of the adversarial mode. It is in use from the first adversarial step on.
struct Adversary {
    bool in_use = false;
    // Ready operations: those that `goal` needs, and the others.
    PriorityQueue<Operation, &Operation::in_ranked, ranks_higher> needed, others;
    PriorityQueue<Stream, &Stream::in_passed, waits_longer> passed; // streams with ready operations
    std::uint64_t goal = 1; // number of the wait in Operation::needed_in
    std::uint64_t wait = 0; // Targets::number of that wait
};

struct Engine {
    PriorityQueue<Stream, &Stream::in_busy, became_busy_first> busy; // with unfinished operations
    PriorityQueue<Stream, &Stream::in_polling, became_busy_first> polling; // with polled operations
    PriorityQueue<Operation, &Operation::in_ready, is_older> ready;        // of all streams
    Adversary adversary;
    std::size_t queued = 0;       // number of unfinished operations
    std::uint64_t times_busy = 0; // how often a stream became busy
    std::uint64_t waits = 0;      // number of Targets
    std::unordered_map<const CUctx_st *, StreamGroup> groups;
    std::map<std::pair<std::uint64_t, const CUctx_st *>, Stream *> thread_streams;
    std::uint64_t next_number = 1; // of the next operation
    std::uint64_t next_stream_id = 1;
    std::uint64_t progress =
        0;                     // incremented when an operation is enqueued, runs in part or is done
    std::uint64_t host_ns = 0; // virtual time of the latest work that the host waited for
    std::uint64_t turns = 0;   // adversarial mode: steps, and queries without a step
    std::uint64_t ranked = 0;  // adversarial mode: operations up to this number have ranks
    std::size_t running = 0;   // operations whose run() was begun
    std::size_t waiting = 0;   // waiting threads
    Mode mode = Mode::immediate;   // mode of the last step
    Random random;                 // adversarial mode
    std::uint64_t seeded_with = 0; // seed of `random` and of the ranks
    bool seeded = false;
};
Engine &engine() noexcept;

// The duration of every operation on the virtual clock. It begins when all its predecessors are
// done, and no earlier than the virtual time of the host at its enqueueing. Streams run in
// parallel, and times are the same in every run.
constexpr std::uint64_t operation_ns = 10000;

// --- engine_order.cpp: dependencies between operations
// Adds the dependencies that the stream's rules imply for an operation that is enqueued now.
void put_in_order(Operation &operation, Stream &stream);
// The operations that a wait for the stream waits for, including legacy stream rules.
std::vector<Ticket> queued_in(Stream &stream);
// Makes room for an operation that is being enqueued, so that nothing allocates when it becomes
// ready.
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

// --- engine_immediate.cpp
// Runs operations in the order of enqueueing until none can run.
void run_all();

// --- engine_adversarial.cpp
// Of become_ready() and end_ready().
void adversary_adds(Operation &operation) noexcept;
void adversary_removes(Operation &operation) noexcept;
void restart_adversary() noexcept;
// Picks one operation that can run and runs it, mostly one that `targets` need. False if none can
// run. With empty targets, any operation counts as needed.
bool adversarial_step(const Targets &targets);
// A call queried work that is done, as a polling loop does. Work that was delayed for long enough
// runs.
void adversarial_turn();
// A call queries work that is not done. The first queries only return that; later ones each take a
// step towards the work, so that polling loops end.
void adversarial_question(const Targets &targets);

// --- engine_threaded.cpp
// Ensures that the stream has a worker, and so has every stream with work since the mode became
// threaded.
void ensure_worker(Stream &stream);
void ensure_workers();
// The stream has an operation that is ready or polled.
void wake_worker(const Stream &stream) noexcept;
// Releases the worker of a stream that ends.
void release_worker(Stream &stream) noexcept;
// Ensures that the runner thread exists. It runs work whose condition has become true and, in
// adversarial mode, enqueued work once the program makes no calls, since the program may be waiting
// for a host function.
void ensure_runner();
// Releases the lock and waits until all workers have ended.
void end_workers();

// --- engine_wait.cpp
// Blocks until all targets are done.
void wait_for(std::vector<Ticket> targets);
// Whether all targets are done. Takes a step towards them if the mode requires it.
bool poll(std::vector<Ticket> targets);

} // namespace sim
