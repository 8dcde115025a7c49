// Work of a stream or a graph node, and how it is enqueued.
#pragma once

#include "base/cuda_headers.hpp"
#include "base/memory_use.hpp"

#include <any>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

struct CUstream_st;
struct CUctx_st;
struct CUevent_st;

namespace sim {

struct Operation;
using Ticket = std::shared_ptr<Operation>;

// The effect of an operation. Each topic builds its own (copy_work, kernel_work, …); streams,
// captures and graph nodes need nothing else.
struct Work {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    const char *what = ""; // entry point or node kind, for reports
    // The node's parameters as the API returns them, with deep copies of what they point to:
    // CUDA_MEMCPY3D_PEER, CUDA_MEMSET_NODE_PARAMS, KernelParameters, CUDA_HOST_NODE_PARAMS,
    // CUevent, …
    std::any parameters;
    // Runs the work, with the lock held and the stream's context current. Throws Fault for an
    // asynchronous error, Again after a part of the work. Calls client functions under Unlocked.
    // Null: no effect.
    std::function<void(CUstream_st &)> run;
    // Whether it can run now; null: always. Polled with the lock held; must not change state.
    std::function<bool()> ready;
    // Called instead of run() if the context has failed or a planned fault applies. Null: no
    // effect.
    std::function<void(CUstream_st &, CUresult)> otherwise;
    // Called each time it is put into a queue, before it can run. May add to Operation::after, keep
    // the ticket, and give the operation's work its own state.
    std::function<void(const Ticket &)> enqueued;
    // Called once it is certain to be enqueued, before it can run: the place for changes that a
    // failing submit() must not leave behind. Must not throw.
    std::function<void()> accepted;
    // Memory that it uses; freeing it earlier is a misuse.
    std::vector<Use> uses;
    // Its call is synchronous for the client: freeing its memory waits for it.
    bool synchronous = false;
    // The planned status of a captured call; the node fails with it in every launch.
    CUresult fault = CUDA_SUCCESS;
};

// Thrown by Work::run after a part of the work; it runs again once ready() returns true.
struct Again {};

// What the adversarial mode keeps of an operation: adversarial_mode.cpp. There may be many
// operations, so what it compares is in one or two cache lines.
struct Rank {
    Operation *operation;
    std::uint64_t needed_by = 0;                // rank of the highest stream that needs it
    std::uint64_t of_stream = 0, of_part = 0;   // while it is ready
    std::uint64_t needed_in = 0, target_in = 0; // numbers of waits: it is needed or named there
    std::size_t place = 0;                      // in the queue of ready operations
    unsigned int queries = 0;                   // calls that found it unfinished
    // Operation that is not ordered: the number of the first operation of its chain. Each operation
    // of a chain has one successor.
    bool continued = false;
    std::uint64_t chain = 0;
};

// Work in a stream's queue.
struct Operation : std::enable_shared_from_this<Operation> {
    Operation(CUstream_st &its_stream, Work &&its_work, bool is_ordered);

    Work work;
    CUstream_st *stream;           // null once it is done
    CUctx_st *context;             // context_of() its stream; may be destroyed once it is done
    std::vector<Ticket> after;     // must be done first; empty once all of them are
    std::vector<Ticket> followers; // wait for this one
    std::size_t waits_for = 0;     // number of unfinished operations in `after`
    bool ordered;                  // later work of its stream waits for it
    bool covered = false;          // not ordered, but precedes ordered work of its stream
    bool running = false, done = false;
    CUresult fault = CUDA_SUCCESS;  // planned status; it fails instead of running
    CUresult result = CUDA_SUCCESS; // its own, or that of a predecessor
    std::uint64_t begin_ns = 0;     // start on the virtual clock; grows as predecessors finish
    std::uint64_t time_ns = 0;      // end on the virtual clock
    std::uint64_t number = 0;       // in order of enqueueing
    std::size_t in_ready = 0, in_stream = 0; // places in the queues of engine.hpp and stream.hpp
    Rank rank{this};
};

// Makes an operation that is being enqueued wait for another, which may be done or null.
void come_after(Operation &operation, const Ticket &earlier);

// Enqueues work after its predecessors (the stream's own queue, legacy stream rules), or adds a
// node if the stream captures. Immediate mode: runs all runnable work. Returns null if it was
// captured.
Ticket submit(CUstream_st &stream, Work work);
// The same without capture, for graph launches. `after`: further predecessors. Unless `ordered`,
// the work waits for `after` only and no later work waits for it. End a launch with an ordered
// operation that waits for all its parts.
Ticket enqueue(CUstream_st &stream, Work work, std::vector<Ticket> after = {}, bool ordered = true);

// The functions below release the lock. Handles, contexts and streams that the caller does not keep
// alive may be destroyed meanwhile.
//
// Blocks until the operation is done; returns its result.
CUresult wait(Ticket ticket);
// Blocks until all work enqueued in the stream so far is done. Throws Refusal with the context's
// sticky error, or 709 if the context was destroyed meanwhile.
void wait_stream(CUstream_st &stream);
void wait_context(CUctx_st &context);
// Whether all work enqueued in the stream is done; takes a step if the mode requires it.
bool idle(CUstream_st &stream);
// Whether the operation is done; takes a step if the mode requires it. Null: yes.
bool finished(Ticket ticket);
// Blocks until the condition holds, for effects of other processes. Misuse and 702 on a deadlock.
void wait_until(const std::function<bool()> &condition, const char *what);
// Returns an error of work in that context that is not sticky, and clears it.
CUresult take_error(CUctx_st &context);
// Runs all runnable work; returns how many operations are still enqueued.
std::size_t drain();
// Before a reset: drops all queues, ends the workers. The caller holds the lock.
void stop_engine();

// All work that is later enqueued in the context waits for this operation.
void add_barrier(CUctx_st &context, const Ticket &ticket);
// The operations that work which waits for everything enqueued in the context would wait for.
std::vector<Ticket> all_queued(CUctx_st &context);

// The stream behind a handle. Null is the current context's legacy stream, or the per-thread stream
// for _ptsz entry points; CU_STREAM_LEGACY and CU_STREAM_PER_THREAD likewise. Fails for destroyed
// contexts.
CUstream_st &stream_of(CUstream handle);
// The legacy stream of a context, and the calling thread's own stream in it; created on first use.
CUstream_st &legacy_stream(CUctx_st &context);
CUstream_st &thread_stream(CUctx_st &context);
// Invalidates a stream's handle; the object lives until its enqueued work is done. `with_context`:
// later calls on it return 709.
void end_stream(CUstream_st &stream, bool with_context = false);

} // namespace sim
