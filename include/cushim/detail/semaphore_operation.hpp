/* Signals and waits of external semaphores, whatever their kind. */
#ifndef CUSHIM_DETAIL_SEMAPHORE_OPERATION_HPP
#define CUSHIM_DETAIL_SEMAPHORE_OPERATION_HPP

#include <cushim/detail/driver_headers.h>
#include <cushim/detail/friends.hpp>

namespace cushim::detail {

enum class SemaphoreKind : unsigned char { binary, timeline, keyed_mutex, nvsci };

// One signal or wait.
struct SemaphoreOperation {
    CUexternalSemaphore semaphore = nullptr;
    CUcontext context = nullptr;
    SemaphoreKind kind = SemaphoreKind::binary;
    bool skip_memory_sync = false; // nvsci
    unsigned int timeout_ms = 0;   // keyed_mutex, wait
    unsigned long long value = 0;  // timeline: of the fence; keyed_mutex: the key
    void *fence = nullptr;         // nvsci
    State *state = nullptr;        // of the owners of the semaphore
};

} // namespace cushim::detail

#endif
