// The context that a stream is of.
#pragma once

#include <cushim/stream.hpp>

#include "in_context.hpp"

namespace cushim::detail {

// Kept alive by whatever keeps the stream's; a borrowed one for a stream that was borrowed itself.
inline Result<Context> context_of(const Stream &stream) noexcept {
    if (State *const state = Access::state(stream)) {
        return static_cast<InContext *>(state)->shared_context();
    }
    return stream.context();
}

} // namespace cushim::detail
