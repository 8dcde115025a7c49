// What is not freed in order of a stream, yet used by work in one: the stream that its destruction waits
// for.
#pragma once

#include <cushim/stream.hpp>

#include "state.hpp"

namespace cushim::detail {

// invalid_argument for streams that cannot be waited for later: empty ones, and the default streams,
// which are others wherever another context is current.
Result<void> check_release_stream(const Stream &stream) noexcept;

// Waits for all work in the stream, if there is one and it was not destroyed with its context. Neither
// its capture, if it is being captured (which is a failure, status 900), nor one of this thread's is
// disturbed.
Destroyed wait_for_release(const Stream &stream) noexcept;

} // namespace cushim::detail
