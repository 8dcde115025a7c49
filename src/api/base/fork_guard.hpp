// Locks for the wrappers that work in a child of fork.
#pragma once

#include <thread>

#include "../../loader/fork_lock.hpp"

namespace cushim::detail {

inline void yield_thread() noexcept {
    std::this_thread::yield();
}

using LockGuard = ForkGuard<yield_thread>;

} // namespace cushim::detail
