/* CUDA events: markers in streams, for ordering and timing. */
#ifndef CUSHIM_EVENT_HPP
#define CUSHIM_EVENT_HPP

#include <cushim/context.hpp>
#include <cushim/handle.hpp>

namespace cushim {

class Stream;

// The properties of a new event.
struct EventOptions {
    bool timing = true;         // elapsed_since() requires it; events without timing are cheaper
    bool blocking_sync = false; // synchronize() sleeps instead of spinning
    bool interprocess = false;  // can be exported to another process; requires timing = false
};

/* A CUDA event. It completes once all work that preceded it in its stream has completed.
 *
 * For query() and synchronize(), an event that was never recorded is complete. A second record()
 * replaces the first; waits enqueued between the two still wait for the first.
 *
 * Context: see handle.hpp, except record() in Stream::legacy() and Stream::per_thread(), which uses
 * the current context.
 * Errors: wrong_context from record() if the stream belongs to another context; the status of the
 * CUDA call, which may report a failure of earlier asynchronous work. */
class Event : public detail::Shared<Event, CUevent> {
  public:
    Event() noexcept = default;

    // A new event of this context. invalid_argument if both `timing` and `interprocess` are set.
    // cuEventCreate, cuEventDestroy_v2.
    CUSHIM_API static Result<Event> create(const Context &context,
                                           const EventOptions &options = {}) noexcept;

    // A new event that export_event() (ipc.hpp) can export, without timing. Streams of other
    // contexts cannot wait for it: see Stream::wait_event().
    static Result<Event> interprocess(const Context &context) noexcept {
        return detail::named(
            "Event::interprocess",
            create(context, {.timing = false, .blocking_sync = false, .interprocess = true}));
    }

    // Owns an event of that context. cuEventDestroy_v2.
    CUSHIM_API static Result<Event> adopt(const Context &context, CUevent event) noexcept;
    // Does not own; the lender must keep the event alive.
    static Event borrow(CUevent event) noexcept { return {event, nullptr}; }

    // Records the event: it completes once the work enqueued in the stream before this call has
    // completed. cuEventRecord.
    CUSHIM_API Result<void> record(const Stream &stream) const noexcept;

    // Whether the event is complete; does not wait. cuEventQuery.
    CUSHIM_API Result<bool> query() const noexcept;

    // Waits until the event is complete. cuEventSynchronize.
    CUSHIM_API Result<void> synchronize() const noexcept;

    // The time from `earlier` to this event, in milliseconds, with a resolution of about half a
    // microsecond. Fails with CUDA_ERROR_INVALID_HANDLE (400) if an event was not recorded or was
    // created without `timing`; with CUDA_ERROR_NOT_READY (600) if one is not complete; with
    // wrong_context if they belong to different devices. cuEventElapsedTime.
    CUSHIM_API Result<float> elapsed_since(const Event &earlier) const noexcept;

  private:
    using Shared::Shared;
};

inline Text to_text(const Event &event) noexcept {
    return detail::text_of("Event", event);
}

} // namespace cushim

#endif
