// Destroys objects on a thread that may call CUDA, unlike callbacks of the driver.
#pragma once

#include <cushim/error.hpp>

#include <atomic>

namespace cushim::detail {

// An object to destroy later. It is linked into the queue, so a callback needs no memory.
struct Released {
    virtual ~Released() = default;
    // Whether it may be destroyed now. Polled on the thread that deletes it.
    virtual bool is_ready() noexcept { return true; }
    // Whether it never will be: it is kept until the process ends.
    virtual bool is_lost() const noexcept { return false; }
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

// Whether release_before_exit() was called: for the driver, for the runtime.
inline constinit std::atomic<bool> waits_at_exit[2] = {};
void wait_at_exit(Api api) noexcept;

// After the first call, process exit waits until all passed objects are deleted, at most two
// seconds; the rest is reported to the teardown sink. Exit handlers run in reverse order, so this
// is called after the first use of each library, whose teardown the wait must precede: for the
// driver right after cushim_watch_exit(), and for libcudart once the first of its graphs exists.
inline void release_before_exit(Api api) noexcept {
    if (!waits_at_exit[api == Api::runtime].load(std::memory_order_relaxed)) [[unlikely]] {
        wait_at_exit(api);
    }
}

} // namespace cushim::detail
