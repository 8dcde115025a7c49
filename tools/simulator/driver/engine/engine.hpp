// The engine's own state and parts. What others use of it is declared in work.hpp.
//
// Everything is done with the lock held, except what Work::run gives it up for. What comes after
// what is in Operation::after alone; a queue keeps its stream's operations in order of enqueueing.
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
    std::vector<Stream *> streams; // all, the ended ones that still work, too
    std::vector<Ticket> barriers;  // all work that is queued from now on comes after these
    std::uint64_t barrier_ns = 0;  // and begins no sooner
    CUresult error = CUDA_SUCCESS; // of work, that does not make the context fail; not yet reported
};

struct Engine {
    std::vector<Stream *> busy; // those with a queue that is not empty
    std::unordered_map<const CUctx_st *, StreamGroup> groups;
    std::map<std::pair<std::uint64_t, const CUctx_st *>, Stream *> thread_streams;
    std::uint64_t next_number = 1; // of an operation
    std::uint64_t next_stream_id = 1;
    std::uint64_t progress = 0; // grows whenever an operation is queued, runs in part, or is done
    std::uint64_t host_ns = 0; // the virtual clock, as far as the host has seen: what it waited for
    std::uint64_t turns = 0;   // of the adversarial mode: steps, and questions that took none
    std::uint64_t ranked = 0; // of the adversarial mode: up to here operations have passed on ranks
    std::size_t running = 0;  // operations whose run() was begun
    std::size_t waiting = 0;  // threads that wait
    Mode mode = Mode::immediate;   // in which the last step was taken
    unsigned int epoch = 0;        // counts stop_engine()
    Random random;                 // of the adversarial mode
    std::uint64_t seeded_with = 0; // what was drawn from it, and the ranks
    bool seeded = false;
};
Engine &engine() noexcept;

// What every operation takes on the virtual clock. It begins when all that it comes after is done,
// as far as the host has seen when it is queued: streams work side by side, and always take the
// same time.
constexpr std::uint64_t operation_ns = 10000;

// --- engine_order.cpp: what comes after what
// Makes an operation that is queued in the stream now come after what the stream's own rules say.
void put_in_order(Operation &operation, Stream &stream);
// What is queued in the stream, or was the last, for those who wait for it: legacy stream rules
// included.
std::vector<Ticket> queued_in(Stream &stream);
// Whether all that it comes after is done. Forgets what is.
bool is_free(Operation &operation) noexcept;
// Whether it can run now.
bool is_runnable(Operation &operation);
// The first of a stream's queue that can run now, or null.
Ticket runnable_of(Stream &stream);
void append_runnable_of(Stream &stream, std::vector<Ticket> &found);

// --- engine.cpp: doing it
// Of one that is not done: "cuMemsetD8Async (operation 7) in stream …".
std::string describe(const Operation &operation);
// Runs an operation that is_runnable(), or a part of it. May give up the lock. A ticket of its own:
// the queue's goes.
void execute(Ticket operation);
// Ends one without running it.
void finish(const Ticket &operation, CUresult result);
// Whether a status makes the whole context fail.
bool is_sticky(CUresult status) noexcept;
// Whether the calling thread is inside execute().
bool &executing() noexcept;

// --- engine_immediate.cpp
// Runs what can run, in order of enqueueing, until nothing can.
void run_all();

// --- engine_adversarial.cpp Picks one operation that can run, mostly one that is needed for
// `targets`, and runs it. False where nothing can run. Empty targets: anything is needed.
bool adversarial_step(const std::vector<Ticket> &targets);
// Somebody asked for what is done already, as one does who waits for something else: work that was
// put off for long enough runs.
void adversarial_turn();
// Somebody asks whether it is done, and is told that it is not. The first who asks learns nothing
// else; only later does each question take a step towards it, for those who ask until it is.
void adversarial_question(const std::vector<Ticket> &targets);

// --- engine_threaded.cpp
// Sees to it that the stream has a worker.
void ensure_worker(Stream &stream);
// The worker of a stream that ends.
void release_worker(Stream &stream) noexcept;
// Sees to it that a thread takes the steps that nobody else takes: work whose condition came true,
// and in adversarial mode whatever is queued when the program itself does nothing any more, as it
// may when a host function is to wake it.
void ensure_runner();
// Waits until all workers have ended, with the lock given up meanwhile.
void end_workers();

// --- engine_wait.cpp
// Blocks until all of them are done.
void wait_for(std::vector<Ticket> targets);
// Whether all are done; takes a step towards them where the mode needs it.
bool poll(std::vector<Ticket> targets);

} // namespace sim
