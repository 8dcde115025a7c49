// What is not freed in order of a stream, yet used by work in one: the stream that its destruction waits
// for.
#pragma once

#include <cushim/stream.hpp>

#include "state.hpp"

namespace cushim::detail {

// invalid_argument for streams that cannot be waited for later: empty ones, and the default streams,
// which are others wherever another context is current.
Result<void> check_release_stream(const Stream &stream) noexcept;

// Waits for all work in the stream, if there is one and it was not destroyed with its context. For
// destroy(), under its RelaxedCapture: no capture is disturbed, the stream's own included, which is a
// failure (status 900).
Destroyed wait_for_release(const Stream &stream) noexcept;

// The same, then destroy(), whatever the waiting answered: the teardown sink is told of the second failure.
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
