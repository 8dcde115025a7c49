#include <cushim/event.hpp>

#include <cushim/stream.hpp>

#include "adopting.hpp"
#include "event_state.hpp"
#include "wrong_context.hpp"

namespace cushim {
namespace {

using detail::EventState;

constexpr const char *empty = "the event is empty";

unsigned int flags_of(const EventOptions &options) noexcept {
    unsigned int flags = CU_EVENT_DEFAULT;
    flags |= options.timing ? 0 : static_cast<unsigned int>(CU_EVENT_DISABLE_TIMING);
    flags |= options.blocking_sync ? static_cast<unsigned int>(CU_EVENT_BLOCKING_SYNC) : 0;
    flags |= options.interprocess ? static_cast<unsigned int>(CU_EVENT_INTERPROCESS) : 0;
    return flags;
}

CUcontext context_of(const Event &event) noexcept {
    const EventState *const state = detail::state_of(event);
    return state != nullptr ? state->context : nullptr;
}

Result<bool> on_one_device(CUcontext a, CUcontext b) noexcept {
    CUSHIM_TRY(const Device first, Context::borrow(a).device());
    CUSHIM_TRY(const Device second, Context::borrow(b).device());
    return first.native() == second.native();
}

// CUDA measures time between contexts, but not between devices.
Error not_measured(CUresult status, const Event &earlier, const Event &later) noexcept {
    const auto call = CUSHIM_FAILED_CALL(cuEventElapsedTime_v1, status);
    const CUcontext from = context_of(earlier), to = context_of(later);
    if (status == CUDA_ERROR_INVALID_HANDLE && from != nullptr && to != nullptr && from != to) {
        const auto same = on_one_device(from, to);
        if (same && !*same) {
            return detail::wrong_context(call, "the events belong to different devices");
        }
    }
    return detail::failure(call.status, call.entry_point, call.introduced);
}

} // namespace

Result<Event> Event::create(const Context &context, const EventOptions &options) noexcept {
    if (options.interprocess && options.timing) {
        return Error::invalid_argument("Event::create: an interprocess event cannot measure time");
    }
    CUSHIM_TRY(auto state, detail::make_state<EventState>(context));
    state->is_interprocess = options.interprocess;
    CUSHIM_TRY(const ContextScope scope, state->enter());
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuEventCreate, &state->event, flags_of(options)));
    return Event(state->event, state.take());
}

Result<Event> Event::adopt(const Context &context, CUevent event) noexcept {
    CUSHIM_TRY_VOID(detail::require_handle_in(context, event));
    CUSHIM_TRY(auto state, detail::make_state<EventState>(context));
    state->event = event;
    return Event(event, state.take());
}

Event Event::borrow(CUevent event) noexcept {
    return Event(event, nullptr);
}

Result<void> Event::record(const Stream &stream) const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    CUSHIM_TRY_VOID(detail::require(stream, "the stream is empty"));
    const CUresult status = driver().cuEventRecord(native(), stream.native());
    if (status == CUDA_SUCCESS) {
        return {};
    }
    return detail::failure_in(
        stream, CUSHIM_FAILED_CALL(cuEventRecord, status),
        "the stream belongs to another context than the event",
        [own = context_of(*this)](CUcontext its) { return own == nullptr || own == its; });
}

Result<bool> Event::query() const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    const CUresult status = driver().cuEventQuery(native());
    if (status == CUDA_ERROR_NOT_READY) {
        return false;
    }
    CUSHIM_TRY_VOID(detail::checked(status, entry::cuEventQuery::name));
    return true;
}

Result<void> Event::synchronize() const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    return CUSHIM_DRIVER(cuEventSynchronize, native());
}

Result<float> Event::elapsed_since(const Event &earlier) const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    CUSHIM_TRY_VOID(detail::require(earlier, "the earlier event is empty"));
    float milliseconds = 0;
    const CUresult status =
        driver().cuEventElapsedTime_v1(&milliseconds, earlier.native(), native());
    if (status != CUDA_SUCCESS) {
        return not_measured(status, earlier, *this);
    }
    return milliseconds;
}

} // namespace cushim
