// Destroys objects on a thread that may call CUDA, unlike callbacks of the driver.
#pragma once

namespace cushim::detail {

// An object to destroy later. It is linked into the queue, so a callback needs no memory.
struct Released {
    virtual ~Released() = default;
    // Whether it may be destroyed now. Polled on the thread that deletes it.
    virtual bool is_ready() noexcept { return true; }
    Released *next = nullptr;
};

// Deletes `released` on a cushim thread, soon after it is ready. May be called from any thread,
// including callbacks, and blocks only while others call it. Starts the thread if necessary; cannot
// fail once prepare_release() has started it.
void release_later(Released *released) noexcept;

// Keeps `released` until the process ends, because its last use is unknown. May be null.
void release_never(Released *released) noexcept;

// Starts the thread unless it runs in this process; false on failure.
bool prepare_release() noexcept;

// Returns when all objects passed earlier are deleted, except those that were not ready when
// checked after this call.
void wait_for_released() noexcept;

// After the first call, process exit waits until all passed objects are deleted, at most two
// seconds; the rest is reported to the teardown sink. Called right after cushim_watch_exit(), so
// that the wait precedes the driver's teardown, and the point at which destructors stop calling the
// driver.
void release_before_exit() noexcept;

} // namespace cushim::detail
