// What an Event owns.
#pragma once

#include <cushim/event.hpp>

#include "base/call.hpp"
#include "in_context.hpp"

namespace cushim::detail {

struct EventState final : InContext {
    explicit EventState(const Context &in) noexcept : InContext(in, InCapture::safe) {}
    Destroyed destroy() noexcept override { return CUSHIM_DESTROY(cuEventDestroy, event, event); }

    CUevent event = nullptr;
    bool is_interprocess = false; // other processes have it, or may get it
};

// Null where it is borrowed: CUDA does not tell whose it is.
inline const EventState *state_of(const Event &event) noexcept {
    return static_cast<const EventState *>(Access::state(event));
}

} // namespace cushim::detail
