// Memory that a stream uses but that is not freed in stream order: destruction waits for the
// stream.
#pragma once

#include <cushim/stream.hpp>

#include "base/state.hpp"

namespace cushim::detail {

// Keeps a stream to wait for later: an additional owner, or a borrowed one. Both know whether the
// stream was destroyed with its context. invalid_argument for streams that cannot be waited for
// later: empty ones, and default streams, which depend on the current context.
Result<Stream> keep_for_release(const Stream &stream) noexcept;

// Whether there is a stream that was not destroyed with its context.
bool is_there(const Stream &kept) noexcept;

// Waits for all work in the stream, if there is one. For destroy(), under its RelaxedCapture: no
// capture is affected. If the stream itself captures, this fails with status 900.
Destroyed wait_for_release(const Stream &kept) noexcept;

// The same, followed by destroy() in any case. The second failure goes to the teardown sink.
template <class Destroy>
Destroyed destroy_after(const Stream &release, Destroy destroy) noexcept {
    if (Access::state(release) == nullptr) [[likely]] {
        return destroy();
    }
    Destroyed waited = wait_for_release(release);
    Destroyed destroyed = destroy();
    if (waited.result) {
        return destroyed;
    }
    report_teardown(destroyed);
    return waited;
}

} // namespace cushim::detail
