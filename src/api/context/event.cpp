#include <cushim/event.hpp>

#include <cushim/stream.hpp>

#include "adopting.hpp"
#include "base/ranges.hpp"
#include "event_state.hpp"
#include "in_context.hpp"
#include "wrong_context.hpp"

namespace cushim {

using namespace detail;

namespace {

constexpr const char *empty = "the Event is empty";

unsigned int flags_of(const EventOptions &options) noexcept {
    unsigned int flags = CU_EVENT_DEFAULT;
    flags |= options.timing ? 0 : static_cast<unsigned int>(CU_EVENT_DISABLE_TIMING);
    flags |= options.blocking_sync ? static_cast<unsigned int>(CU_EVENT_BLOCKING_SYNC) : 0;
    flags |= options.interprocess ? static_cast<unsigned int>(CU_EVENT_INTERPROCESS) : 0;
    return flags;
}

CUcontext context_of(const Event &event) noexcept {
    const EventState *const state = state_of(event);
    return state != nullptr ? state->context : nullptr;
}

// The device that the event's context belongs to; -1 if unknown.
int device_of(const Event &event) noexcept {
    const CUcontext context = context_of(event);
    const auto device = context != nullptr ? Context::borrow(context).device()
                                           : Result<Device>(Device::from_native(-1));
    return device ? device->native() : -1;
}

// Whether CUDA measures time with this event: from it to itself.
bool is_measurable(const Event &event) noexcept {
    float milliseconds = 0;
    return status_of<entry::cuEventElapsedTime_v1>(&milliseconds, event.native(), event.native()) !=
           CUDA_ERROR_INVALID_HANDLE;
}

Error not_measurable(const Error &error, const char *which, const Event &event) noexcept {
    const EventState *const state = state_of(event);
    switch (state != nullptr ? state->timing : EventState::Timing::unknown) {
    case EventState::Timing::off:
        return explained(error, "the %s event was created without timing; set EventOptions::timing",
                         which);
    case EventState::Timing::on:
        return explained(error, "the %s event was not recorded; call Event::record() first", which);
    case EventState::Timing::unknown:
        break;
    }
    return explained(error,
                     "the %s event was not recorded, or was created without timing; record "
                     "it, and set EventOptions::timing",
                     which);
}

// CUDA measures time between contexts, but not between devices.
Error not_measured(const Error &error, const Event &earlier, const Event &later) noexcept {
    if (error.status() == CUDA_ERROR_NOT_READY) {
        const bool is_earlier =
            status_of<entry::cuEventQuery>(earlier.native()) == CUDA_ERROR_NOT_READY;
        return explained(error, "the %s event is not complete; call Event::synchronize() first",
                         is_earlier ? "earlier" : "later");
    }
    if (error.status() != CUDA_ERROR_INVALID_HANDLE) {
        return error;
    }
    const int from = device_of(earlier), to = device_of(later);
    if (from >= 0 && to >= 0 && from != to) {
        return wrong_context(error,
                             "the earlier event belongs to device %d, the later one to "
                             "device %d; measure between events of one device",
                             from, to);
    }
    if (!is_measurable(earlier)) {
        return not_measurable(error, "earlier", earlier);
    }
    return is_measurable(later) ? error : not_measurable(error, "later", later);
}

} // namespace

Result<Event> Event::create(const Context &context, const EventOptions &options) noexcept {
    return named("Event::create", [&]() -> Result<Event> {
        if (options.interprocess && options.timing) {
            return Error::invalid_argument(
                "an interprocess event cannot measure time; set EventOptions::timing to false");
        }
        CUSHIM_TRY(auto state, make_state<EventState>(context));
        state->is_interprocess = options.interprocess;
        state->timing = options.timing ? EventState::Timing::on : EventState::Timing::off;
        CUSHIM_TRY_VOID(call_in(state->context, [event = &state->event, flags = flags_of(options)] {
            return call<entry::cuEventCreate>(event, flags);
        }));
        return Event(state->event, state.take());
    });
}

Result<Event> Event::adopt(const Context &context, CUevent event) noexcept {
    return named("Event::adopt", [&]() -> Result<Event> {
        CUSHIM_TRY_VOID(require_handle_in(context, event));
        CUSHIM_TRY(auto state, make_state<EventState>(context));
        state->event = event;
        return Event(event, state.take());
    });
}

Result<void> Event::record(const Stream &stream) const noexcept {
    return named("Event::record", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty));
        CUSHIM_TRY_VOID(require(stream, "the Stream is empty"));
        Result<void> recorded = call<entry::cuEventRecord>(native(), stream.native());
        if (!recorded) [[unlikely]] {
            return failure_of_stream(recorded.error(), stream, "the event", context_of(*this),
                                     ordinal_of(*this));
        }
        return recorded;
    });
}

Result<bool> Event::query() const noexcept {
    return named("Event::query", [&]() -> Result<bool> {
        CUSHIM_TRY_VOID(require(*this, empty));
        const CUresult status = status_of<entry::cuEventQuery>(native());
        if (status == CUDA_ERROR_NOT_READY) {
            return false;
        }
        CUSHIM_TRY_VOID(checked<entry::cuEventQuery>(status));
        return true;
    });
}

Result<void> Event::synchronize() const noexcept {
    return named("Event::synchronize", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(require(*this, empty));
        return call<entry::cuEventSynchronize>(native());
    });
}

Result<float> Event::elapsed_since(const Event &earlier) const noexcept {
    return named("Event::elapsed_since", [&]() -> Result<float> {
        CUSHIM_TRY_VOID(require(*this, empty));
        CUSHIM_TRY_VOID(require(earlier, "the earlier Event is empty"));
        float milliseconds = 0;
        const Result<void> measured =
            call<entry::cuEventElapsedTime_v1>(&milliseconds, earlier.native(), native());
        if (!measured) {
            return not_measured(measured.error(), earlier, *this);
        }
        return milliseconds;
    });
}

} // namespace cushim
