// The runtime's locks, and their state across a fork.
#pragma once

#include <mutex>

namespace sim::runtime {

// In lock order. The driver's lock is taken after all of these. A child of fork has only the
// forking thread, so all locks must be free during the fork.
struct Locks {
    std::mutex registrations; // of registration.cpp
    std::mutex contexts;      // of process.cpp
    std::mutex search;        // of driver_library.cpp
};
Locks &locks() noexcept;

// Called once, after the driver has been loaded and has used its own lock: these locks must be
// taken before the driver's at a fork.
void precede_driver_at_fork() noexcept;

} // namespace sim::runtime
