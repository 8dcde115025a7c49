/* CUDA events: marks in streams, to wait for and to measure time with. */
#ifndef CUSHIM_EVENT_HPP
#define CUSHIM_EVENT_HPP

#include <cushim/context.hpp>
#include <cushim/handle.hpp>

namespace cushim {

class Stream;

struct EventOptions {
    bool timing = true;         // may be given to elapsed_since(); without it an event is cheaper
    bool blocking_sync = false; // synchronize() sleeps instead of spinning
    bool interprocess = false;  // may be exported to another process; then without timing
};

/* An event: what it marks has happened when all work has that was before it in its stream.
 *
 * An event that was never recorded has happened. Recording again moves the mark; waits that were
 * queued before keep the old one.
 *
 * Threads: the rules of handle.hpp. Needs no current context and does not change it.
 * Errors: wrong_context where the stream is of another context, and what earlier work failed with.
 * Since CUDA 2.0 where nothing else is said. */
class Event : public detail::Shared<Event, CUevent> {
  public:
    Event() noexcept = default;

    // invalid_argument for one that is both for timing and interprocess, as CUDA has none.
    // cuEventCreate, cuEventDestroy_v2.
    CUSHIM_API static Result<Event> create(const Context &context,
                                           const EventOptions &options = {}) noexcept;

    // The options that an event for other processes must have: no timing. Streams of other contexts
    // cannot wait for it, Stream::wait_event(). Since CUDA 4.1.
    static Result<Event> interprocess(const Context &context) noexcept {
        return create(context, {.timing = false, .blocking_sync = false, .interprocess = true});
    }

    // Takes over an event of that context.
    CUSHIM_API static Result<Event> adopt(const Context &context, CUevent event) noexcept;
    // Does not own: the lender keeps it alive.
    CUSHIM_API static Event borrow(CUevent event) noexcept;

    // Marks what is in the stream by now. cuEventRecord.
    CUSHIM_API Result<void> record(const Stream &stream) const noexcept;

    // Whether it has happened. cuEventQuery.
    CUSHIM_API Result<bool> query() const noexcept;

    // Waits until it has happened. cuEventSynchronize.
    CUSHIM_API Result<void> synchronize() const noexcept;

    // From `earlier` to this one, in milliseconds, to about half a microsecond. Both with timing;
    // status 600 where one has not happened yet, wrong_context where they are of different devices.
    // cuEventElapsedTime.
    CUSHIM_API Result<float> elapsed_since(const Event &earlier) const noexcept;

  private:
    using Shared::Shared;
};

inline Text to_text(const Event &event) noexcept {
    return detail::text_of("Event", event);
}

} // namespace cushim

#endif
