// The state of an Event.
#pragma once

#include <cushim/event.hpp>

#include "base/call.hpp"
#include "in_context.hpp"

namespace cushim::detail {

struct EventState final : InContext {
    explicit EventState(const Context &in) noexcept : InContext(in, InCapture::safe) {}
    Destroyed destroy() noexcept override { return {call<entry::cuEventDestroy>(event), event}; }

    CUevent event = nullptr;
    bool is_interprocess = false; // exported or imported, or may be exported
    enum class Timing : unsigned char { unknown, off, on } timing = Timing::unknown;
};

// Null for a borrowed event: CUDA does not return its context.
inline const EventState *state_of(const Event &event) noexcept {
    return static_cast<const EventState *>(Access::state(event));
}

} // namespace cushim::detail
