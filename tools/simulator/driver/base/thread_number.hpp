// Numbers of threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace sim {

// The calling thread's number, from 1. No other thread gets it, whereas the system reuses the
// identity of a thread that has ended. Valid during the exit of the thread.
inline std::uint64_t thread_number() noexcept {
    static std::atomic<std::uint64_t> threads{0};
    static constinit thread_local std::uint64_t number = 0;
    if (number == 0) {
        number = ++threads;
    }
    return number;
}

} // namespace sim
