/* Where failures of destructors go: to a function of the program's, or nowhere. */
#ifndef CUSHIM_TEARDOWN_HPP
#define CUSHIM_TEARDOWN_HPP

#include <cushim/config.h>

namespace cushim {

struct TeardownFailure {
    const char *entry_point; // exported name of the call that failed; lives for ever
    int status; // that it answered: CUresult, or cudaError_t where its name begins with cuda
    unsigned long long handle; // the object: a handle, or an address
};

// Must not throw, and must not destroy owners.
using TeardownSink = void (*)(const TeardownFailure &failure, void *user);

struct TeardownSinkSetting {
    TeardownSink sink = nullptr; // null: failures are dropped
    void *user = nullptr;        // handed to the sink
};

/* Sets where failures go from now on, and returns where they went. At the start they are dropped. A
 * driver that is being torn down (status 4), or a context that has been destroyed or reset (709) with
 * everything in it, is no failure: there is nothing left to destroy.
 *
 * When the process exits, closures and what graphs kept are destroyed before the driver's teardown. The exit waits
 * two seconds for that; if something is left then, the sink receives entry point "wait_for_released_closures" with
 * status CUDA_ERROR_TIMEOUT.
 *
 * Threads: any; the sink is called on the thread whose destructor failed, on several at once if need
 * be, and may still be running when this returns on another thread. */
CUSHIM_API TeardownSinkSetting set_teardown_sink(TeardownSinkSetting setting) noexcept;

} // namespace cushim

#endif
