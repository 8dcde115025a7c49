/* A lock for a few instructions. A child of fork can take it even if another thread of the parent
 * held it at the fork; the child lacks that thread, so a mutex would stay locked. */
#pragma once

#include <cushim/detail/loader.h>

#include "platform/atomics.hpp"

namespace cushim {

class ForkLock {
  public:
    ForkLock() = default;
    ForkLock(const ForkLock &) = delete;
    ForkLock &operator=(const ForkLock &) = delete;

  private:
    template <void (*yield)()>
    friend class ForkGuard;

    /* The fork generation plus one of the process whose thread holds the lock; 0: free. */
    size_t holder_ = 0;
};

/* Holds a lock for a scope; `yield` runs another thread. */
template <void (*yield)()>
class ForkGuard {
  public:
    /* `generation`: that of this process. */
    explicit ForkGuard(ForkLock &lock, unsigned int generation = cushim_fork_generation())
        : lock_(lock) {
        const size_t own = size_t(generation) + 1;
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

    /* Whether a thread of the parent held the lock, so that the guarded data may be inconsistent.
     */
    bool took_over() const { return took_over_; }

  private:
    ForkLock &lock_;
    bool took_over_;
};

} // namespace cushim
