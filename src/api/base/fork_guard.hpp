// Locks for the wrappers that work in a child of fork.
#pragma once

#include <thread>

#include <cushim/detail/loader.h>

#include "../../loader/fork_lock.h"

namespace cushim::detail {

// Holds a lock for a scope; `yield` runs another thread.
template <void (*yield)()>
class ForkGuard {
  public:
    // `generation`: that of this process.
    explicit ForkGuard(ForkLock &lock, unsigned int generation = cushim_fork_generation()) noexcept
        : lock_(lock) {
        cushim_take_lock(&lock, generation, yield);
    }
    ~ForkGuard() { cushim_release_lock(&lock_); }
    ForkGuard(const ForkGuard &) = delete;
    ForkGuard &operator=(const ForkGuard &) = delete;

  private:
    ForkLock &lock_;
};

inline void yield_thread() noexcept {
    std::this_thread::yield();
}

using LockGuard = ForkGuard<yield_thread>;

} // namespace cushim::detail
