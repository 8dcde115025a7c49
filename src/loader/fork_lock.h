/* A lock that works in a child of fork. The child can take it even if another thread of the parent
 * held it at the fork; the child lacks that thread, so a mutex would stay locked. Waiting threads
 * poll the lock, and call `yield` in between. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "platform/atomics.h"

#ifdef __cplusplus
#define CUSHIM_LOCK_INLINE inline /* external: C++ inline functions call it */
#else
#define CUSHIM_LOCK_INLINE static inline
#endif

/* Zero: free. */
typedef struct {
    size_t holder; /* the fork generation plus one of the process whose thread holds the lock */
} ForkLock;

/* `generation`: that of this process; `yield` runs another thread. Returns whether a thread of the
 * parent held the lock, so that the guarded data may be inconsistent. */
CUSHIM_LOCK_INLINE bool cushim_take_lock(ForkLock *lock, unsigned int generation,
                                         void (*yield)(void)) {
    const size_t own = (size_t)generation + 1;
    size_t holder = 0;
    while (!CUSHIM_REPLACE(&lock->holder, &holder, own)) {
        if (holder == own) {
            yield();
            holder = 0;
        }
    }
    return holder != 0;
}

CUSHIM_LOCK_INLINE void cushim_release_lock(ForkLock *lock) {
    CUSHIM_STORE(&lock->holder, 0);
}
