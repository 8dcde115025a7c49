// The context that a stream is of.
#pragma once

#include <cushim/stream.hpp>

#include "in_context.hpp"

namespace cushim::detail {

// Whether it is legacy() or per_thread(): another stream wherever another context is current.
inline bool is_default(CUstream stream) noexcept {
    return stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

// Kept alive by whatever keeps the stream's; a borrowed one for a stream that was borrowed itself.
inline Result<Context> context_of(const Stream &stream) noexcept {
    if (State *const state = Access::state(stream)) {
        return static_cast<InContext *>(state)->shared_context();
    }
    return stream.context();
}

} // namespace cushim::detail
