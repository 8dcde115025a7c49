// The runtime's own locks, and what a fork makes of them.
#pragma once

#include <mutex>

namespace sim::runtime {

// In the order in which a thread takes one while it has another. The driver's lock is taken last of
// all. A child of fork has none of the threads that might hold one: it is forked while nobody does.
struct Locks {
    std::mutex registrations; // of registration.cpp
    std::mutex contexts;      // of process.cpp
    std::mutex search;        // of driver_library.cpp
};
Locks &locks() noexcept;

// To be called once, when the driver is known and has used its own lock: before a fork ours have to
// be taken first.
void precede_driver_at_fork() noexcept;

} // namespace sim::runtime
