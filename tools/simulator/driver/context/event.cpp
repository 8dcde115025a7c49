// Events: records, queries, waits, and elapsed times.
#include "base/shared_state.hpp"
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/engine.hpp"
#include "engine/event_work.hpp"
#include "engine/pool.hpp"
#include "engine/stream.hpp"

namespace sim::driver {
namespace {

// Whether the newest record is done; takes a step if the mode requires it.
bool event_done(const Event &event) {
    const auto shared = event.shared; // the event may be destroyed meanwhile
    return finished(event.recorded) && (!shared || shared->reached(shared->newest()));
}

constexpr unsigned int create_flags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

constexpr char null_event[] = "Event handle is NULL";

Event &usable_event(CUevent handle) {
    require(handle != nullptr, CUDA_ERROR_INVALID_HANDLE, null_event);
    Event &event = checked(handle);
    check_usable(*event.context);
    if (event.shared && event.shared->exporter_destroyed()) {
        misuse("use of an event that its exporter has destroyed, " + event.describe());
    }
    return event;
}

// Recorded: only graph nodes may wait for an interprocess event in any context.
void check_waits(const Context &context, const Event &event) {
    if (event.shared && event.context != &context) {
        refuse_fatal("wait for an interprocess event, " + event.describe() +
                         ", in a context that neither created nor opened it",
                     CUDA_ERROR_INVALID_HANDLE);
    }
}

CUresult record(CUevent handle, CUstream stream_handle, unsigned int flags) {
    require((flags & ~static_cast<unsigned int>(CU_EVENT_RECORD_EXTERNAL)) == 0,
            "Invalid event recording flags");
    Stream &stream = stream_of_caller(stream_handle);
    Event &event = usable_event(handle);
    const bool external = (flags & CU_EVENT_RECORD_EXTERNAL) != 0;
    require(!external || stream.capture != nullptr, CUDA_ERROR_ILLEGAL_STATE,
            "CU_EVENT_RECORD_EXTERNAL flag is set but stream is not capturing");
    if (!external && event.context != stream.context) { // graph nodes may do this
        misuse("record of an event in a stream of another context: " + event.describe() + ", " +
               stream.describe());
        refuse(CUDA_ERROR_INVALID_HANDLE, "CU_EVENT_RECORD_EXTERNAL flag is not set and event did "
                                          "not come from expected device context");
    }
    if (!external && capture_event_record(stream, event)) {
        return CUDA_SUCCESS;
    }
    submit(stream, event_record_work(&event, Call::current()->base()));
    return CUDA_SUCCESS;
}

// The status of an event whose newest record is done: the error of that record, even if it was
// reported before; otherwise an unreported error of other work.
CUresult outcome(const Ticket &record, Context &context) {
    check_still_usable(&context);
    const CUresult own = wait(record);
    return own != CUDA_SUCCESS ? own : take_error(context);
}

// The newest record of an event that measures time.
Ticket timed_record(Event &event) {
    require((event.flags & CU_EVENT_DISABLE_TIMING) == 0, CUDA_ERROR_INVALID_HANDLE);
    refuse_captured(event);
    require(event.recorded != nullptr, CUDA_ERROR_INVALID_HANDLE);
    return event.recorded;
}

} // namespace

EXPORT CUresult cuEventCreate(OUT CUevent *phEvent, unsigned int Flags) {
    Context &context = current_context();
    require(phEvent != nullptr && (Flags & ~create_flags) == 0);
    const bool interprocess = (Flags & CU_EVENT_INTERPROCESS) != 0;
    require(!interprocess || (Flags & CU_EVENT_DISABLE_TIMING) != 0);
    std::shared_ptr<SharedEvent> shared;
    if (interprocess) {
        shared = SharedEvent::create();
        require(shared != nullptr, CUDA_ERROR_OPERATING_SYSTEM);
    }
    Event *event = Registry::get().make<Event>(context, Flags);
    event->shared = std::move(shared);
    *phEvent = event;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventDestroy_v2(CUevent hEvent) {
    require(hEvent != nullptr, CUDA_ERROR_INVALID_HANDLE, null_event);
    Event &event = checked(hEvent);
    const CUresult failed = fault_of(event.context);
    Registry::get().destroy(&event);
    return failed; // the event is destroyed nevertheless
}

EXPORT CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
    return record(hEvent, hStream, CU_EVENT_RECORD_DEFAULT);
}

EXPORT CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags) {
    return record(hEvent, hStream, flags);
}

EXPORT CUresult cuEventQuery(CUevent hEvent) {
    Event &event = usable_event(hEvent);
    refuse_captured(event);
    potentially_unsafe_call();
    Context &context = *event.context;
    const Ticket record = event.recorded;
    if (!event_done(event)) {
        return CUDA_ERROR_NOT_READY;
    }
    return outcome(record, context);
}

EXPORT CUresult cuEventSynchronize(CUevent hEvent) {
    Event &event = usable_event(hEvent);
    refuse_captured(event);
    potentially_unsafe_call();
    Context &context = *event.context;
    const auto shared = event.shared; // the event may be destroyed meanwhile
    const Ticket record = event.recorded;
    const std::uint64_t newest = shared ? shared->newest() : 0;
    wait(record);
    if (shared) {
        wait_until([&] { return shared->reached(newest); }, "cuEventSynchronize");
    }
    release_unused_pool_memory();
    return outcome(record, context);
}

EXPORT CUresult cuEventElapsedTime(OUT float *milliseconds, CUevent start_handle,
                                   CUevent end_handle) {
    // As recorded, without a reason.
    require(milliseconds != nullptr && start_handle != nullptr && end_handle != nullptr,
            CUDA_ERROR_INVALID_HANDLE);
    Event &start = usable_event(start_handle), &end = usable_event(end_handle);
    require(start.context->device == end.context->device, CUDA_ERROR_INVALID_HANDLE);
    const Ticket first = timed_record(start), last = timed_record(end);
    const bool started = finished(first), ended = finished(last);
    if (!started || !ended) {
        return CUDA_ERROR_NOT_READY;
    }
    const auto difference = static_cast<std::int64_t>(last->time_ns - first->time_ns);
    *milliseconds = static_cast<float>(static_cast<double>(difference) / 1e6);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
    require((Flags & ~static_cast<unsigned int>(CU_EVENT_WAIT_EXTERNAL)) == 0);
    Stream &stream = stream_of(hStream);
    Event &event = usable_event(hEvent);
    const bool external = (Flags & CU_EVENT_WAIT_EXTERNAL) != 0;
    require(!external || stream.capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
    if (!external) {
        check_waits(*stream.context, event);
    }
    if (!external && capture_event_wait(stream, event)) {
        return CUDA_SUCCESS;
    }
    submit(stream, event_wait_work(&event, "cuStreamWaitEvent"));
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12050
EXPORT CUresult cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent) {
    Context &context = checked_context(hCtx);
    check_usable(context);
    record_all(context, usable_event(hEvent), "cuCtxRecordEvent");
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent) {
    Context &context = checked_context(hCtx);
    check_usable(context);
    Event &event = usable_event(hEvent);
    check_waits(owner_of(context), event);
    delay_all(context, event, "cuCtxWaitEvent");
    return CUDA_SUCCESS;
}
#endif

} // namespace sim::driver
