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
 * Threads: see handle.hpp, but any number of threads may enqueue work at the same time.
 * Context: see handle.hpp, except with legacy() and per_thread(), which use the current context.
 * Errors: the status of the CUDA call, which may report a failure of earlier asynchronous work. */
class Stream : public detail::Shared<Stream, CUstream> {
  public:
    Stream() noexcept = default;

    // A new stream of this context. Its destruction does not wait; work already enqueued still
    // runs. cuStreamCreateWithPriority, cuStreamDestroy_v2.
    CUSHIM_API static Result<Stream> create(const Context &context,
                                            const StreamOptions &options = {}) noexcept;

    // The legacy default stream, which synchronizes with all blocking streams of its
    // context. CU_STREAM_LEGACY.
    static Stream legacy() noexcept { return {CU_STREAM_LEGACY, nullptr}; }
    // The per-thread default stream: in each call, that of the thread that makes the call.
    // CU_STREAM_PER_THREAD.
    static Stream per_thread() noexcept { return {CU_STREAM_PER_THREAD, nullptr}; }

    // Owns a stream of that context. cuStreamDestroy_v2.
    CUSHIM_API static Result<Stream> adopt(const Context &context, CUstream stream) noexcept;
    // Does not own; the lender must keep the stream alive. A null handle gives an empty Stream.
    static Stream borrow(CUstream stream) noexcept { return {stream, nullptr}; }

    // Waits for all enqueued work. cuStreamSynchronize.
    CUSHIM_API Result<void> synchronize() const noexcept;

    // Whether all enqueued work has completed. cuStreamQuery.
    CUSHIM_API Result<bool> query() const noexcept;

    // Work enqueued after this call waits for the event. The event may belong to another context or
    // device; an interprocess event must belong to the context of this stream. cuStreamWaitEvent.
    CUSHIM_API Result<void> wait_event(const Event &event) const noexcept;

    /* Work enqueued after this call waits for all work that is enqueued in the other stream now.
     * The streams may belong to different contexts or devices. Creates an event, and destroys it:
     * Event::create(), Event::record(), wait_event(). */
    CUSHIM_API Result<void> wait(const Stream &other) const noexcept;
    /* A new event in the context of this stream, recorded in this stream. Event::create(),
     * Event::record().
     *
     *     CUSHIM_TRY(const auto uploaded, uploads.record_event({.timing = false}));
     *     CUSHIM_TRY_VOID(work.wait_event(uploaded)); */
    CUSHIM_API Result<Event> record_event(const EventOptions &options = {}) const noexcept;

    // The priority. cuStreamGetPriority.
    CUSHIM_API Result<int> priority() const noexcept;
    // The flags: 0 or CU_STREAM_NON_BLOCKING. cuStreamGetFlags.
    CUSHIM_API Result<unsigned int> flags() const noexcept;

    // Borrows the stream's context. cuStreamGetCtx.
    CUSHIM_API Result<Context> context() const noexcept;

    // A number that no other stream of the process has or had. cuStreamGetId, since CUDA 12.0.
    CUSHIM_API Result<unsigned long long> id() const noexcept;

    /* Enqueues a call of `function`. After all earlier work in the stream has completed, a driver
     * thread calls the function. A cushim thread destroys it afterwards, so it may own CUDA
     * objects.
     *
     * The function must not call CUDA, must not wait for CUDA work, and must not throw
     * (std::terminate). If earlier work fails, the function is destroyed without being called. In a
     * capture, the function becomes part of the graph: each launch calls it, and the graph, its
     * clones and its executable graphs keep it alive. cuStreamIsCapturing, cuStreamAddCallback. In
     * a capture: cuLaunchHostFunc, cuStreamGetCaptureInfo_v2 and cuUserObjectCreate (CUDA 11.3). */
    template <detail::HostFunction Function>
    Result<void> launch_host_function(Function &&function) const noexcept {
        return launch_closure(detail::make_closure(static_cast<Function &&>(function)));
    }

    /* Work enqueued after this call becomes part of a graph: see capture.hpp. Fails with
     * CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900) for the legacy stream, and with
     * CUDA_ERROR_ILLEGAL_STATE (401) if the stream is already being captured.
     * cuStreamBeginCapture_v2. */
    CUSHIM_API Result<void>
    begin_capture(CaptureMode mode = CaptureMode::per_thread) const noexcept;
    // Ends the capture, even if the call fails. Must be called on the thread of begin_capture(),
    // unless the mode is relaxed. cuStreamEndCapture.
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
    begin_capture_to(Graph &graph, const GraphDependencies &dependencies,
                     CaptureMode mode = CaptureMode::per_thread) const noexcept;
    // Ends the capture that begin_capture_to() began. The capture ends in every case.
    // invalid_argument if `graph` is empty, or is not the graph of the capture.
    // cuStreamEndCapture.
    CUSHIM_API Result<void> end_capture_to(const Graph &graph) const noexcept;
    // Captures into `graph` the work that f() enqueues, as capture() does. Requires capture.hpp.
    template <class F>
    Result<void> capture_to(Graph &graph, const GraphDependencies &dependencies, CaptureMode mode,
                            F &&f) const;

    // Whether the stream is being captured. cuStreamIsCapturing.
    CUSHIM_API Result<CaptureStatus> capture_status() const noexcept;
    // Whether enqueued work becomes part of a graph; false if the capture is invalidated.
    Result<bool> is_capturing() const noexcept {
        CUSHIM_DETAIL_TRY(cushim_tried, const CaptureStatus status,
                          detail::named("Stream::is_capturing", capture_status()));
        return status == CaptureStatus::active;
    }

  private:
    using Shared::Shared;

    CUSHIM_API Result<void> launch_closure(detail::Closure closure) const noexcept;
};

CUSHIM_API Text to_text(const Stream &stream) noexcept;

/* A function passed to launch_host_function() is due once all earlier work in its stream has
 * completed. This call waits until every function that is due has been destroyed. It does not wait
 * for functions that are queued behind other work, or that a graph keeps. The destructor of such a
 * function must not call wait_for_released_closures(). Process exit waits likewise, but at most two
 * seconds (teardown.hpp). Threads: any. */
CUSHIM_API void wait_for_released_closures() noexcept;

} // namespace cushim

/* Corner cases. A capture that fails ends without a graph, and its stream can be used as before.
 *
 * | what happens if                        |                                                      |
 * |----------------------------------------|------------------------------------------------------|
 * | wait_event() gets an interprocess      | It fails with wrong_context, because drivers crash   |
 * | event (Event::interprocess(),          | on such a wait. Open an event of another process in  |
 * | open_event()) of another context       | each context that waits for it. Adopted and borrowed |
 * |                                        | events are not checked.                              |
 * | an error invalidated the capture       | end_capture() fails with                             |
 * |                                        | CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901).         |
 * | a stream that was forked into the      | end_capture() fails with                             |
 * | capture was not joined                 | CUDA_ERROR_STREAM_CAPTURE_UNJOINED (904).            |
 * | end_capture() is called on another     | It fails with CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD |
 * | thread                                 | (908), and the capture is over for the right thread, |
 * |                                        | too.                                                 |
 */

#endif
