/* The teardown sink: receives failures of destructors. */
#ifndef CUSHIM_TEARDOWN_HPP
#define CUSHIM_TEARDOWN_HPP

#include <cushim/detail/cpp20.hpp>

namespace cushim {

// A failed call of a destructor.
struct TeardownFailure {
    const char *entry_point; // exported name of the call that failed; valid permanently
    // Its status: a CUresult, or a cudaError_t if its name begins with cuda. Functions of NVRTC,
    // nvJitLink and NVML have statuses of their own.
    int status;
    unsigned long long handle; // the object: a handle, or an address
};

// Receives failures. Must not throw, and must not destroy owners.
using TeardownSink = void (*)(const TeardownFailure &failure, void *user);

// A sink and its argument.
struct TeardownSinkSetting {
    TeardownSink sink = nullptr; // null: failures are dropped
    void *user = nullptr;        // passed to the sink
};

/* Sets the sink, and returns the previous one. Initially failures are dropped.
 * CUDA_ERROR_DEINITIALIZED (4), after the driver has shut down, and CUDA_ERROR_CONTEXT_IS_DESTROYED
 * (709) are not failures: there is nothing left to destroy. After the failure of a context, such as
 * CUDA_ERROR_LAUNCH_FAILED (719), many destructors fail with that status: the sink receives the
 * first of them, and further ones only once another sink is set or a Context is made.
 *
 * At process exit, closures and resources that graphs keep alive are destroyed before the driver's
 * teardown. The exit waits two seconds at most. If something is left, the sink receives entry point
 * "wait_for_released_closures" with status CUDA_ERROR_TIMEOUT.
 *
 * Threads: any. The sink is called on the thread whose destructor failed, on several at the same
 * time if necessary. The previous sink may still be running on another thread when this returns. */
CUSHIM_API TeardownSinkSetting set_teardown_sink(TeardownSinkSetting setting) noexcept;

} // namespace cushim

#endif
