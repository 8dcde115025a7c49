#include <cushim/event.hpp>

#include <cushim/stream.hpp>

#include "call.hpp"
#include "in_context.hpp"

namespace cushim {
namespace {

struct EventState final : detail::InContext {
    using InContext::InContext;
    detail::Destroyed destroy() noexcept override {
        return CUSHIM_DESTROY(cuEventDestroy, event, event);
    }
    CUevent event = nullptr;
};

constexpr const char *empty = "the event is empty";

unsigned int flags_of(const EventOptions &options) noexcept {
    unsigned int flags = CU_EVENT_DEFAULT;
    flags |= options.timing ? 0 : static_cast<unsigned int>(CU_EVENT_DISABLE_TIMING);
    flags |= options.blocking_sync ? static_cast<unsigned int>(CU_EVENT_BLOCKING_SYNC) : 0;
    flags |= options.interprocess ? static_cast<unsigned int>(CU_EVENT_INTERPROCESS) : 0;
    return flags;
}

} // namespace

Result<Event> Event::create(const Context &context, const EventOptions &options) noexcept {
    if (options.interprocess && options.timing) {
        return Error::invalid_argument("an event for other processes cannot measure time");
    }
    CUSHIM_TRY(auto state, detail::make_state<EventState>(context));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuEventCreate, &state->event, flags_of(options)));
    return Event(state->event, state.take());
}

Result<Event> Event::adopt(const Context &context, CUevent event) noexcept {
    CUSHIM_TRY(auto state, detail::make_state<EventState>(context));
    state->event = event;
    return Event(event, state.take());
}

Event Event::borrow(CUevent event) noexcept {
    return Event(event, nullptr);
}

Result<void> Event::record(const Stream &stream) const noexcept {
    CUSHIM_TRY_VOID(detail::need(*this, empty));
    CUSHIM_TRY_VOID(detail::need(stream, "the stream is empty"));
    return CUSHIM_DRIVER(cuEventRecord, native(), stream.native());
}

Result<bool> Event::query() const noexcept {
    CUSHIM_TRY_VOID(detail::need(*this, empty));
    const CUresult status = driver().cuEventQuery(native());
    if (status == CUDA_ERROR_NOT_READY) {
        return false;
    }
    CUSHIM_TRY_VOID(detail::checked(status, entry::cuEventQuery::name));
    return true;
}

Result<void> Event::synchronize() const noexcept {
    CUSHIM_TRY_VOID(detail::need(*this, empty));
    return CUSHIM_DRIVER(cuEventSynchronize, native());
}

Result<float> Event::elapsed_since(const Event &earlier) const noexcept {
    CUSHIM_TRY_VOID(detail::need(*this, empty));
    CUSHIM_TRY_VOID(detail::need(earlier, "the earlier event is empty"));
    float milliseconds = 0;
    CUSHIM_TRY_VOID(
        CUSHIM_DRIVER(cuEventElapsedTime_v1, &milliseconds, earlier.native(), native()));
    return milliseconds;
}

} // namespace cushim
