// Work that a stream or a graph node does, and how it is given to a stream.
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

// What happens when its turn comes. Built by the topic that knows (copy_work, kernel_work, …), so
// that a stream, a capture and a graph node need nothing but this.
struct Work {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    const char *what = ""; // entry point or node kind, for reports
    // The node's parameters as the API shows them, with their own copies of what they point at:
    // CUDA_MEMCPY3D_PEER, CUDA_MEMSET_NODE_PARAMS, KernelParameters, CUDA_HOST_NODE_PARAMS,
    // CUevent, …
    std::any parameters;
    // Does it, with the lock held and the stream's context current. Throws Fault for an
    // asynchronous error, Again where it has done a part. Calls the client's functions under
    // Unlocked. Null: nothing to do.
    std::function<void(CUstream_st &)> run;
    // Whether it can run now; null: always. Asked again and again, with the lock held; changes
    // nothing.
    std::function<bool()> ready;
    // Called in place of run() where the context has failed, or where it is planned to fail. Null:
    // nothing to do.
    std::function<void(CUstream_st &, CUresult)> otherwise;
    // Called once for every time that it is put into a queue, before it can run: may add to
    // Operation::after, keep the ticket, and give the operation's work a state of its own.
    std::function<void(const Ticket &)> enqueued;
    // Memory that it uses: freeing it before is a misuse.
    std::vector<Use> uses;
    // Of a call that its client takes for done when it has returned: freeing waits for it.
    bool synchronous = false;
    // Planned for the call that a capture made a node of: what it fails with whenever it runs.
    CUresult fault = CUDA_SUCCESS;
};

// Thrown by Work::run: not done yet; to be run again once ready() says so.
struct Again {};

// Work in a stream's queue.
struct Operation {
    Work work;
    CUstream_st *stream = nullptr; // while it is not done
    CUctx_st *context = nullptr;   // its stream's; may be gone when it is done
    std::vector<Ticket> after;     // must be done first
    bool ordered = true;           // whether later work of its stream comes after it
    bool running = false, done = false;
    CUresult fault = CUDA_SUCCESS;  // planned: what it fails with instead of running
    CUresult result = CUDA_SUCCESS; // or of what it came after
    std::uint64_t number = 0;       // in order of enqueueing
    std::uint64_t begin_ns = 0;     // on the virtual clock; grows while what it comes after is done
    std::uint64_t time_ns = 0;      // on the virtual clock, when it was done
    // Adversarial mode: how often somebody asked whether it is done, and the rank of the highest
    // stream that needs it.
    unsigned int asked = 0;
    std::uint64_t needed_by = 0;
    // Of what is not ordered: the number of the first of its chain, each of which has one that goes
    // on with it.
    std::uint64_t chain = 0;
    bool continued = false;
};

// Makes an operation that is not running come after another, which may be done, or null.
void come_after(Operation &operation, const Ticket &earlier);

// Puts work into a stream after all that is ordered before it (its own queue, legacy stream rules),
// or adds a node where the stream captures. Immediate mode: runs what can run. Null where it was
// captured.
Ticket submit(CUstream_st &stream, Work work);
// The same without capture: for graph launches. `after`: what has to be done first, beside the
// stream's order where `ordered`. Work that is not ordered comes after `after` only, and no later
// work comes after it: end a launch with ordered work that comes after all of its parts.
Ticket enqueue(CUstream_st &stream, Work work, std::vector<Ticket> after = {}, bool ordered = true);

// What gives up the lock: whatever is not kept alive may be gone afterwards, handles, contexts,
// streams.
//
// Blocks until it is done; returns its result.
CUresult wait(Ticket ticket);
// Blocks until all that is queued there now is done. Throws Refusal with the context's sticky
// error, or 709 where it has ended meanwhile.
void wait_stream(CUstream_st &stream);
void wait_context(CUctx_st &context);
// Whether all that is queued there is done; takes a step where the mode needs it.
bool idle(CUstream_st &stream);
// Whether it is done; takes a step where the mode needs it. Null: yes.
bool finished(Ticket ticket);
// Blocks until it holds: for what other processes do. Misuse and 702 where it never comes to that.
void wait_until(const std::function<bool()> &condition, const char *what);
// Reports, once, an error of work in that context that does not make the context fail.
CUresult take_error(CUctx_st &context);
// Runs what can run; returns how many operations are still queued.
std::size_t drain();
// Before a reset, with the lock held: drops all queues, ends the workers.
void stop_engine();

// All work that is queued in the context from now on comes after this one.
void add_barrier(CUctx_st &context, const Ticket &ticket);
// What work that came after everything queued in the context now would have to wait for.
std::vector<Ticket> all_queued(CUctx_st &context);

// The stream behind a handle: null is the current context's legacy stream, or the calling thread's
// own for _ptsz entry points; CU_STREAM_LEGACY, CU_STREAM_PER_THREAD; else the object. Refuses dead
// contexts.
CUstream_st &stream_of(CUstream handle);
// The null stream of a context, and the calling thread's own in it; made when they are first used.
CUstream_st &legacy_stream(CUctx_st &context);
CUstream_st &thread_stream(CUctx_st &context);
// Ends a stream's handle; the object lives until its queued work is done.
void end_stream(CUstream_st &stream);

// Calls that may not be made while a capture forbids them answer 900 and invalidate it (see
// cuStreamBeginCapture); to be called first by those that the real driver lists as unsafe.
void potentially_unsafe_call();

} // namespace sim
