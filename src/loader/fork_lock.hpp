/* A lock for a few instructions that the child of a fork can take even if a thread of its parent
 * held it at the fork: that thread is not in the child, so nothing would ever unlock a mutex. */
#pragma once

#include <cushim/detail/loader.h>

#include "atomics.hpp"

namespace cushim {

class ForkLock {
  public:
    ForkLock() = default;
    ForkLock(const ForkLock &) = delete;
    ForkLock &operator=(const ForkLock &) = delete;

  private:
    template <void (*yield)()>
    friend class ForkGuard;

    /* The number of forks before, plus one, of the process whose thread holds it; 0: none does. */
    size_t holder_ = 0;
};

/* Holds a lock for a scope; yield lets another thread run. */
template <void (*yield)()>
class ForkGuard {
  public:
    explicit ForkGuard(ForkLock &lock) : lock_(lock) {
        const size_t own = size_t(cushim_fork_generation()) + 1;
        size_t holder = 0;
        while (!atomics::replace(&lock_.holder_, holder, own)) {
            if (holder == own) {
                yield();
                holder = 0;
            }
        }
        took_over_ = holder != 0;
    }
    ~ForkGuard() { atomics::store(&lock_.holder_, size_t(0)); }
    ForkGuard(const ForkGuard &) = delete;
    ForkGuard &operator=(const ForkGuard &) = delete;

    /* Whether a thread of the parent held the lock: it may have left a change of the guarded data
     * half done. */
    bool took_over() const { return took_over_; }

  private:
    ForkLock &lock_;
    bool took_over_;
};

} // namespace cushim
