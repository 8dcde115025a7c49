// Memory that is used by a stream but not freed in its order: destruction waits for the stream.
#pragma once

#include <cushim/stream.hpp>

#include "base/state.hpp"

namespace cushim::detail {

// Another owner of the stream, to be waited for later, or one more that borrows it; either knows
// whether the stream was destroyed with its context. invalid_argument for streams that cannot be
// waited for later: empty ones, and the default streams, which are others wherever another context
// is current.
Result<Stream> keep_for_release(const Stream &stream) noexcept;

// Whether there is a stream, and it was not destroyed with its context.
bool is_there(const Stream &kept) noexcept;

// Waits for all work in the stream, if it is there. For destroy(), under its RelaxedCapture: no
// capture is disturbed, the stream's own included, which is a failure (status 900).
Destroyed wait_for_release(const Stream &kept) noexcept;

// The same, then destroy() in any case. The teardown sink gets the second failure.
template <class Destroy>
Destroyed destroy_after(const Stream &release, Destroy destroy) noexcept {
    const Destroyed waited = wait_for_release(release);
    const Destroyed destroyed = destroy();
    if (waited.status == 0) {
        return destroyed;
    }
    report_teardown(destroyed);
    return waited;
}

} // namespace cushim::detail
