// Destroys objects on a thread that may call CUDA. Callbacks of the driver may not.
#pragma once

namespace cushim::detail {

// Something to destroy later, linked into the queue: no memory is needed in the callback.
struct Released {
    virtual ~Released() = default;
    // Whether it may go by now. Asked on the thread that deletes it, again and again.
    virtual bool is_ready() noexcept { return true; }
    Released *next = nullptr;
};

// Deletes `released` soon after it is ready, on a thread of cushim's own. From any thread,
// callbacks included; never blocks for longer than others take to call it. Starts the thread if
// need be: `prepare_release()` did that, so that nothing can fail here.
void release_later(Released *released) noexcept;

// Keeps `released` until the process ends: its last use is unknown. May be null.
void release_never(Released *released) noexcept;

// Starts the thread, if it does not run in this process; false where that fails.
bool prepare_release() noexcept;

// Returns when everything that was handed over before is deleted, apart from what was not ready
// when it was asked after this call.
void wait_for_released() noexcept;

// From the first call on, the process's exit waits until everything that was handed over is
// deleted, at most for two seconds; what is left then is reported to the teardown sink. To be
// called right after cushim_watch_exit(), so that the wait comes before the driver's own teardown,
// and before destructors stop calling the driver.
void release_before_exit() noexcept;

} // namespace cushim::detail
