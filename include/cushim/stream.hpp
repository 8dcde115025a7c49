/* CUDA streams: queues of work on a device. */
#ifndef CUSHIM_STREAM_HPP
#define CUSHIM_STREAM_HPP

#include <cushim/context.hpp>
#include <cushim/event.hpp>
#include <cushim/handle.hpp>

#include <new>
#include <type_traits>

namespace cushim {

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

    // What is queued from now on waits for the event; the event may be of another context or device.
    // cuStreamWaitEvent, since CUDA 3.2.
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
     * the same. It must not throw: an exception ends the program. Not while the stream is captured:
     * kind not_permitted, and the capture stays valid.
     * cuStreamIsCapturing (CUDA 10.0), cuStreamAddCallback (CUDA 5.0). */
    template <class Function>
    requires std::is_invocable_v < std::decay_t<Function>
    & > Result<void> launch_host_function(Function &&function) const noexcept {
        using Closure = std::decay_t<Function>;
        Closure *const closure = new (std::nothrow) Closure(static_cast<Function &&>(function));
        return launch_closure(
            {closure, [](void *object) noexcept { (*static_cast<Closure *>(object))(); },
             [](void *object) noexcept { delete static_cast<Closure *>(object); }});
    }

  private:
    using Shared::Shared;

    struct Closure {
        void *object; // null where there was no memory for it
        void (*call)(void *object) noexcept;
        void (*destroy)(void *object) noexcept;
    };
    CUSHIM_API Result<void> launch_closure(Closure closure) const noexcept;
};

/* Waits until closures of launch_host_function() that were done with before this call are destroyed.
 * Not from such a closure's destructor. Threads: any. */
CUSHIM_API void wait_for_released_closures() noexcept;

} // namespace cushim

#endif
