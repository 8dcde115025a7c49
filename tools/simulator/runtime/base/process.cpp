#include "runtime/base/process.hpp"
#include "runtime/base/driver_api.hpp"
#include "runtime/base/locks.hpp"
#include "runtime/base/registration.hpp"

#include "driver/base/immortal.hpp"

#include <atomic>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

namespace sim::runtime {
namespace {

// The runtime's own retain of a primary context.
struct Hold {
    CUcontext context = nullptr;
    bool retained = false;
};

// State of the process, guarded by Locks::contexts and discarded at a reset of the simulator.
struct Process {
    std::atomic<std::uint64_t> resets{
        0}; // device resets; after one, contexts must be checked again
    std::uint64_t epoch = 0;
    std::vector<Hold> holds;      // by device
    std::atomic<int> counted{-1}; // device count when a thread was first ready; negative: never
    // Of a cuInit that found no valid devices.
    std::uint64_t failed_epoch = ~std::uint64_t(0);
    cudaError_t failure = cudaSuccess;
};

Process &process() {
    static Immortal<Process> process;
    return *process;
}

// Trivially destroyed: destructors of other thread-local objects may still make calls.
struct Thread {
    std::uint64_t epoch = 0;
    int device = 0;
    bool chosen = false; // its context is made current at the next use (CUDA 11)
    // The last context that was checked, and the number of resets at that time.
    CUcontext good = nullptr;
    std::uint64_t good_at = 0;
};
static_assert(std::is_trivially_destructible_v<Thread>);

Thread &thread() {
    thread_local Thread state;
    if (const std::uint64_t now = Call::current().epoch(); state.epoch != now) {
        state = {};
        state.epoch = now;
    }
    return state;
}

// The caller holds the lock.
Hold &hold(Process &all, int device) {
    if (const std::uint64_t now = Call::current().epoch(); all.epoch != now) {
        all.holds.clear();
        all.epoch = now;
    }
    if (all.holds.size() <= static_cast<std::size_t>(device)) {
        all.holds.resize(static_cast<std::size_t>(device) + 1);
    }
    return all.holds[static_cast<std::size_t>(device)];
}

CUcontext current_or_null() {
    CUcontext context = nullptr;
    demand(CU_ANY(cuCtxGetCurrent)(&context));
    return context;
}

// Whether this is a primary context that the runtime has released since it was made current.
bool was_released(CUcontext context) {
    Process &all = process();
    const std::lock_guard<std::mutex> held(locks().contexts);
    if (all.epoch != Call::current().epoch()) {
        return false;
    }
    for (const Hold &hold : all.holds) {
        if (hold.context == context) {
            return !hold.retained;
        }
    }
    return false;
}

// Recorded: the runtime does not look for devices again.
cudaError_t initialise_driver(std::uint64_t epoch) {
    Process &all = process();
    {
        const std::lock_guard<std::mutex> held(locks().contexts);
        if (all.failed_epoch == epoch) {
            return all.failure;
        }
    }
    const cudaError_t status = CU_ANY(cuInit)(0);
    if (status == cudaErrorNoDevice || status == cudaErrorInvalidDevice) {
        const std::lock_guard<std::mutex> held(locks().contexts);
        all.failed_epoch = epoch;
        all.failure = status;
    }
    return status;
}

int own_device() {
    const Thread &state = thread();
    return state.device;
}

} // namespace

int driver_version() noexcept {
    int version = 0;
    return CU_ANY(cuDriverGetVersion)(&version) == cudaSuccess ? version : 0;
}

cudaError_t ready() noexcept {
    if (!has_driver()) {
        return cudaErrorInsufficientDriver;
    }
    // The driver caches this; calling it each time detects a reset, a child of fork, and the exit.
    thread_local std::uint64_t known = ~std::uint64_t(0);
    if (const std::uint64_t now = Call::current().epoch(); known != now) {
        int version = 0;
        if (const cudaError_t status = CU_ANY(cuDriverGetVersion)(&version);
            status != cudaSuccess) {
            return status;
        }
        if (version / 1000 < CUDART_VERSION / 1000) {
            return cudaErrorInsufficientDriver;
        }
        if (const cudaError_t status = initialise_driver(now); status != cudaSuccess) {
            return status;
        }
        if (int count = 0; CU_ANY(cuDeviceGetCount)(&count) == cudaSuccess) {
            process().counted = count;
        }
        known = now;
    }
    return cudaSuccess;
}

void need_context() {
    Call &call = Call::current();
    if (call.has_context) {
        return;
    }
    Thread &state = thread();
    const CUcontext context = current_or_null();
    const std::uint64_t resets = process().resets.load(std::memory_order_acquire);
    const bool known = context != nullptr && context == state.good && resets == state.good_at;
    if (!known || state.chosen) {
        if (context == nullptr || state.chosen || was_released(context)) {
            demand(CU_ANY(cuCtxSetCurrent)(primary_context(own_device())));
            state.chosen = false;
        } else {
            state.good = context;
            state.good_at = resets;
        }
    }
    call.has_context = true;
}

CUcontext current_context() {
    need_context();
    return current_or_null();
}

int device_count() {
    int count = 0;
    demand(CU_ANY(cuDeviceGetCount)(&count));
    return count;
}

int known_device_count() {
    int count = 0;
    const cudaError_t status = CU_ANY(cuDeviceGetCount)(&count);
    const bool cannot_query =
        status == cudaErrorInitializationError || status == cudaErrorNotPermitted;
    if (const int counted = process().counted; cannot_query && counted >= 0) {
        return counted;
    }
    demand(status);
    return count;
}

bool in_forked_child() {
    int count = 0; // if the runtime was ready, the parent initialized it
    return CU_ANY(cuDeviceGetCount)(&count) == cudaErrorInitializationError;
}

static bool exists(int device) {
    return device >= 0 && device < device_count();
}

int checked_device(int device) {
    if (!exists(device)) {
        const std::string reason = "Invalid device number " + std::to_string(device) +
                                   " provided, must be in the range of 0 to " +
                                   std::to_string(device_count() - 1);
        fail(cudaErrorInvalidDevice, reason.c_str());
    }
    return device;
}

int checked_device(int device, const char *parameter) {
    if (!exists(device)) {
        const std::string reason = std::string("Parameter ") + parameter +
                                   " must be between 0 and " + std::to_string(device_count());
        fail(cudaErrorInvalidDevice, reason.c_str());
    }
    return device;
}

int existing_device(int device) {
    require(exists(device), cudaErrorInvalidDevice);
    return device;
}

int current_device() {
    const Thread &state = thread();
    const CUcontext context = state.chosen ? nullptr : current_or_null();
    CUdevice device = 0;
    if (context != nullptr && !was_released(context) &&
        CU_ANY(cuCtxGetDevice)(&device) == cudaSuccess) {
        return device;
    }
    return own_device();
}

void choose_device(int device) {
    checked_device(device);
    Thread &state = thread();
    state.device = device;
#if CUDART_VERSION >= 12000
    demand(CU_ANY(cuCtxSetCurrent)(primary_context(device)));
#else
    state.chosen = true; // CUDA 11 creates the context at the next use
#endif
}

void choose_first_of(const int *devices, int count) {
    for (int index = 0; index < count; ++index) {
        checked_device(devices[index]);
    }
    thread().device = count > 0 ? devices[0] : 0;
}

CUcontext primary_context(int device) {
    Process &all = process();
    const std::lock_guard<std::mutex> held(locks().contexts);
    Hold &own = hold(all, device);
    if (!own.retained) {
        demand(CU_ANY(cuDevicePrimaryCtxRetain)(&own.context, device));
        own.retained = true;
    }
    return own.context;
}

bool was_reset(int device) {
    const std::lock_guard<std::mutex> held(locks().contexts);
    const Hold &own = hold(process(), device);
    return own.context != nullptr && !own.retained;
}

cudaError_t reset_device() {
    const int device = current_device();
    CUcontext ended = nullptr;
    {
        Process &all = process();
        const std::lock_guard<std::mutex> held(locks().contexts);
        Hold &own = hold(all, device);
        // Store its handle, so that threads which have it current detect the reset later.
        if (!own.retained) {
            demand(CU_ANY(cuDevicePrimaryCtxRetain)(&own.context, device));
        }
        if (current_or_null() == own.context) {
            demand(CU_ANY(cuCtxSetCurrent)(nullptr));
        }
        own.retained = false;
        ended = own.context;
        all.resets.fetch_add(1, std::memory_order_release);
        (void)CU_ANY(cuDevicePrimaryCtxRelease_v2)(device);
    }
    const cudaError_t status = CU_ANY(cuDevicePrimaryCtxReset_v2)(device);
    forget_loaded(ended);
    thread().device = device;
    return status;
}

} // namespace sim::runtime
