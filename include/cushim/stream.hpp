/* CUDA streams: queues of work on a device. */
#ifndef CUSHIM_STREAM_HPP
#define CUSHIM_STREAM_HPP

#include <cushim/capture_mode.hpp>
#include <cushim/closure.hpp>
#include <cushim/context.hpp>
#include <cushim/event.hpp>
#include <cushim/handle.hpp>

namespace cushim {

class Graph;
class GraphDependencies;

struct StreamOptions {
    // Does not wait for the legacy stream, nor that for it.
    bool non_blocking = false;
    // Numerically lower is more urgent; out of Context::stream_priorities() it is clamped.
    int priority = 0;
};

/* A stream: work that is queued in it runs in order.
 *
 * Streams are always named: an empty Stream is refused where one is needed, and never means CUDA's
 * default stream. legacy() and per_thread() are that stream's two forms.
 *
 * Threads: the rules of handle.hpp; several threads may queue work at once. Needs no current context and
 * does not change it, except that legacy() and per_thread() are streams of whatever context is
 * current.
 * Errors: what the calls answer, which includes failures of earlier work of the context.
 * Since CUDA 2.0 where nothing else is said. */
class Stream : public detail::Shared<Stream, CUstream> {
  public:
    Stream() noexcept = default;

    // cuStreamCreateWithPriority (CUDA 5.5), cuStreamDestroy_v2. Destroying does not wait: work that
    // is queued still runs.
    CUSHIM_API static Result<Stream> create(const Context &context,
                                            const StreamOptions &options = {}) noexcept;

    // The stream that waits for all other blocking ones, and they for it. CU_STREAM_LEGACY.
    CUSHIM_API static Stream legacy() noexcept;
    // The default stream of the calling thread. CU_STREAM_PER_THREAD, since CUDA 7.0.
    CUSHIM_API static Stream per_thread() noexcept;

    // Takes over a stream of that context.
    CUSHIM_API static Result<Stream> adopt(const Context &context, CUstream stream) noexcept;
    // Does not own: the lender keeps it alive. A null handle gives an empty Stream.
    CUSHIM_API static Stream borrow(CUstream stream) noexcept;

    // Waits for all work that is queued. cuStreamSynchronize.
    CUSHIM_API Result<void> synchronize() const noexcept;

    // Whether all work that is queued is done. cuStreamQuery.
    CUSHIM_API Result<bool> query() const noexcept;

    /* What is queued from now on waits for the event; the event may be of another context or device.
     * One for several processes, Event::interprocess() or open_event(), is waited for in the context that
     * it was made or opened in: kind wrong_context elsewhere, since drivers end the process then. Another
     * process's can be opened in several. adopt() and borrow() do not know which events are such.
     * cuStreamWaitEvent, since CUDA 3.2. */
    CUSHIM_API Result<void> wait_event(const Event &event) const noexcept;

    // cuStreamGetPriority, cuStreamGetFlags (CU_STREAM_NON_BLOCKING), since CUDA 5.5.
    CUSHIM_API Result<int> priority() const noexcept;
    CUSHIM_API Result<unsigned int> flags() const noexcept;

    // Borrows the context that it is of. cuStreamGetCtx, since CUDA 9.2.
    CUSHIM_API Result<Context> context() const noexcept;

    // A number that no other stream of the process has or had. cuStreamGetId, since CUDA 12.0.
    CUSHIM_API Result<unsigned long long> id() const noexcept;

    /* Calls `function` on a thread of the driver's when the stream gets there, then destroys it, on a
     * thread of cushim's: there it may own and destroy CUDA objects. The function itself must not call
     * CUDA, nor wait for work that is. Where work before it failed it is not called, and destroyed all
     * the same. It must not throw: an exception ends the program. Captured, it is called in each launch of
     * the graph, and lives as long as any graph that may run it.
     * cuStreamIsCapturing (CUDA 10.0), cuStreamAddCallback (CUDA 5.0); captured, cuLaunchHostFunc
     * (CUDA 10.0), cuStreamGetCaptureInfo_v2 and cuUserObjectCreate (CUDA 11.3). */
    template <detail::HostFunction Function>
    Result<void> launch_host_function(Function &&function) const noexcept {
        return launch_closure(detail::make_closure(static_cast<Function &&>(function)));
    }

    /* What is queued from now on becomes part of a graph: capture.hpp. Not for the legacy stream (900), and not
     * where it is captured already (401). cuStreamBeginCapture_v2, since CUDA 10.1. */
    CUSHIM_API Result<void>
    begin_capture(CaptureMode mode = CaptureMode::per_thread) const noexcept;
    /* Ends what begin_capture() began, on the same thread unless the mode was relaxed. Kind
     * capture_invalidated where an error ruined it, status 904 where streams that were taken in are not waited
     * for: then there is no graph, and the stream works as before.
     * cuStreamEndCapture, since CUDA 10.0. */
    CUSHIM_API Result<Graph> end_capture() const noexcept;

    /* Captures what `f` queues; f() is void, or returns a Result. The capture ends however f() does: the first
     * error is the answer, and an exception goes on its way. #include <cushim/capture.hpp> */
    template <class F>
    Result<Graph> capture(CaptureMode mode, F &&f) const;
    template <class F>
    Result<Graph> capture(F &&f) const;

    /* The same into a graph that is there, after nodes of it; it stays there if f() fails, with what was
     * captured by then. cuStreamBeginCaptureToGraph, since CUDA 12.3. */
    CUSHIM_API Result<void>
    begin_capture_to(const Graph &graph, const GraphDependencies &dependencies,
                     CaptureMode mode = CaptureMode::per_thread) const noexcept;
    // The capture ends also where the graph is empty or another.
    CUSHIM_API Result<void> end_capture_to(const Graph &graph) const noexcept;
    template <class F>
    Result<void> capture_to(const Graph &graph, const GraphDependencies &dependencies,
                            CaptureMode mode, F &&f) const;

    // cuStreamIsCapturing, since CUDA 10.0.
    CUSHIM_API Result<CaptureStatus> capture_status() const noexcept;
    // Whether work that is queued is captured: not where the capture is ruined.
    Result<bool> is_capturing() const noexcept {
        CUSHIM_TRY(const CaptureStatus status, capture_status());
        return status == CaptureStatus::active;
    }

  private:
    using Shared::Shared;

    CUSHIM_API Result<void> launch_closure(detail::Closure closure) const noexcept;
};

CUSHIM_API Text to_text(const Stream &stream) noexcept;

/* Waits until closures of launch_host_function() that were done with before this call are destroyed.
 * Not from such a closure's destructor. The exit of the process does the same (teardown.hpp). Threads: any. */
CUSHIM_API void wait_for_released_closures() noexcept;

} // namespace cushim

#endif
