// State and parts of the engine. work.hpp declares the interface for other code.
//
// Everything runs under the lock, except where Work::run releases it. Operation::after alone
// defines the order of operations; a queue holds its stream's operations in the order of
// enqueueing.
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
    std::vector<Stream *> streams; // all, including ended streams that still have work
    std::vector<Ticket> barriers;  // all later work of the context waits for these
    std::uint64_t barrier_ns = 0;  // and begins no earlier than this
    CUresult error = CUDA_SUCCESS; // unreported error of work that is not sticky
};

struct Engine {
    std::vector<Stream *> busy; // streams with a non-empty queue
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
    unsigned int epoch = 0;        // number of stop_engine() calls
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
// Whether all predecessors are done. Removes those that are.
bool is_free(Operation &operation) noexcept;
// Whether the operation can run now.
bool is_runnable(Operation &operation);
// The first operation in a stream that can run now, or null.
Ticket runnable_of(Stream &stream);
void append_runnable_of(Stream &stream, std::vector<Ticket> &found);

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

// --- engine_adversarial.cpp Picks one operation that can run and runs it, mostly one that
// `targets` need. False if none can run. With empty targets, any operation counts as needed.
bool adversarial_step(const std::vector<Ticket> &targets);
// A call queried work that is done, as a polling loop does. Work that was delayed for long enough
// runs.
void adversarial_turn();
// A call queries work that is not done. The first queries only return that; later ones each take a
// step towards the work, so that polling loops end.
void adversarial_question(const std::vector<Ticket> &targets);

// --- engine_threaded.cpp
// Ensures that the stream has a worker.
void ensure_worker(Stream &stream);
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
