/* CUDA streams: queues of work on a device. */
#ifndef CUSHIM_STREAM_HPP
#define CUSHIM_STREAM_HPP

#include <cushim/capture_mode.hpp>
#include <cushim/context.hpp>
#include <cushim/detail/closure.hpp>
#include <cushim/event.hpp>
#include <cushim/handle.hpp>

namespace cushim {

class Graph;
class GraphDependencies;

// The properties of a new stream.
struct StreamOptions {
    // Does not synchronize with the legacy default stream.
    bool non_blocking = false;
    // Lower numbers are more urgent; clamped to Context::stream_priorities().
    int priority = 0;
};

/* A CUDA stream: a queue whose work runs in order.
 *
 * An empty Stream is never the default stream; functions that need a stream reject it with
 * invalid_argument. The default stream has two explicit forms, legacy() and per_thread().
 *
 * Threads: see handle.hpp. Any number of threads may enqueue work at the same time.
 * Context: none required, except with legacy() and per_thread(), which use the current context;
 * none changed.
 * Errors: the status of the CUDA call, which may report a failure of earlier asynchronous work.
 * Requires CUDA 2.0 unless stated otherwise. */
class Stream : public detail::Shared<Stream, CUstream> {
  public:
    Stream() noexcept = default;

    // A new stream of this context. Its destruction does not wait; work already enqueued still
    // runs. cuStreamCreateWithPriority (CUDA 5.5), cuStreamDestroy_v2.
    CUSHIM_API static Result<Stream> create(const Context &context,
                                            const StreamOptions &options = {}) noexcept;

    // The legacy default stream, which synchronizes with all blocking streams. CU_STREAM_LEGACY.
    CUSHIM_API static Stream legacy() noexcept;
    // The default stream of the calling thread. CU_STREAM_PER_THREAD, since CUDA 7.0.
    CUSHIM_API static Stream per_thread() noexcept;

    // Owns a stream of that context. cuStreamDestroy_v2.
    CUSHIM_API static Result<Stream> adopt(const Context &context, CUstream stream) noexcept;
    // Does not own; the lender must keep the stream alive. A null handle gives an empty Stream.
    CUSHIM_API static Stream borrow(CUstream stream) noexcept;

    // Waits for all enqueued work. cuStreamSynchronize.
    CUSHIM_API Result<void> synchronize() const noexcept;

    // Whether all enqueued work has completed. cuStreamQuery.
    CUSHIM_API Result<bool> query() const noexcept;

    /* Work enqueued after this call waits for the event, which may belong to another context or
     * device. An interprocess event (Event::interprocess(), open_event()) must belong to the
     * context of this stream, or the call fails with wrong_context: drivers end the process
     * otherwise. An event of another process can be opened in several contexts. Adopted and
     * borrowed events are not checked. cuStreamWaitEvent, since CUDA 3.2. */
    CUSHIM_API Result<void> wait_event(const Event &event) const noexcept;

    // The priority. cuStreamGetPriority, since CUDA 5.5.
    CUSHIM_API Result<int> priority() const noexcept;
    // The flags: 0 or CU_STREAM_NON_BLOCKING. cuStreamGetFlags, since CUDA 5.5.
    CUSHIM_API Result<unsigned int> flags() const noexcept;

    // Borrows the stream's context. cuStreamGetCtx, since CUDA 9.2.
    CUSHIM_API Result<Context> context() const noexcept;

    // A number that no other stream of the process has or had. cuStreamGetId, since CUDA 12.0.
    CUSHIM_API Result<unsigned long long> id() const noexcept;

    /* Enqueues a call of `function`. A driver thread calls it once all earlier work in the stream
     * has completed; a cushim thread destroys it afterwards, so it may own CUDA objects.
     *
     * The function must not call CUDA, must not wait for CUDA work, and must not throw
     * (std::terminate). If earlier work fails, it is destroyed without being called. If the
     * stream is being captured, each launch of the graph calls it, and every graph that can run
     * it keeps it alive. cuStreamIsCapturing (CUDA 10.0), cuStreamAddCallback (CUDA 5.0). If
     * captured: cuLaunchHostFunc (CUDA 10.0), cuStreamGetCaptureInfo_v2 and cuUserObjectCreate
     * (CUDA 11.3). */
    template <detail::HostFunction Function>
    Result<void> launch_host_function(Function &&function) const noexcept {
        return launch_closure(detail::make_closure(static_cast<Function &&>(function)));
    }

    /* Work enqueued after this call becomes part of a graph: see capture.hpp. Fails with
     * not_permitted (900) for the legacy stream, and with status 401 if the stream is already being
     * captured.
     * cuStreamBeginCapture_v2, since CUDA 10.1. */
    CUSHIM_API Result<void>
    begin_capture(CaptureMode mode = CaptureMode::per_thread) const noexcept;
    /* Ends the capture. Must be called on the thread of begin_capture(), unless the mode is
     * relaxed. Fails with capture_invalidated (901) if an error invalidated the capture, with
     * status 904 if streams that joined it were not waited for, and with status 908 on another
     * thread. In these cases there is no graph, and the stream works as before the capture.
     * cuStreamEndCapture, since CUDA 10.0. */
    CUSHIM_API Result<Graph> end_capture() const noexcept;

    /* Captures the work that f() enqueues; f() returns void or a Result. The mode is per_thread by
     * default. The capture ends on every path: the first error is returned, and an exception leaves
     * this function. Requires capture.hpp. */
    template <class F>
    Result<Graph> capture(CaptureMode mode, F &&f) const;
    template <class F>
    Result<Graph> capture(F &&f) const;

    /* Captures into an existing graph, after `dependencies`. If the capture fails, the graph keeps
     * the nodes captured so far. cuStreamBeginCaptureToGraph, since CUDA 12.3. */
    CUSHIM_API Result<void>
    begin_capture_to(const Graph &graph, const GraphDependencies &dependencies,
                     CaptureMode mode = CaptureMode::per_thread) const noexcept;
    // Ends the capture that begin_capture_to() began. The capture ends in every case.
    // invalid_argument if `graph` is empty or not the graph of the capture. cuStreamEndCapture.
    CUSHIM_API Result<void> end_capture_to(const Graph &graph) const noexcept;
    // Captures the work that f() enqueues into `graph`, as capture() does. Requires capture.hpp.
    template <class F>
    Result<void> capture_to(const Graph &graph, const GraphDependencies &dependencies,
                            CaptureMode mode, F &&f) const;

    // Whether the stream is being captured. cuStreamIsCapturing, since CUDA 10.0.
    CUSHIM_API Result<CaptureStatus> capture_status() const noexcept;
    // Whether enqueued work becomes part of a graph; false if the capture is invalidated.
    Result<bool> is_capturing() const noexcept {
        CUSHIM_TRY(const CaptureStatus status, capture_status());
        return status == CaptureStatus::active;
    }

  private:
    using Shared::Shared;

    CUSHIM_API Result<void> launch_closure(detail::Closure closure) const noexcept;
};

CUSHIM_API Text to_text(const Stream &stream) noexcept;

/* Waits until closures of launch_host_function() that were finished before this call are destroyed.
 * Must not be called by the destructor of such a closure. Process exit waits in the same
 * way (teardown.hpp). Threads: any. */
CUSHIM_API void wait_for_released_closures() noexcept;

} // namespace cushim

#endif
