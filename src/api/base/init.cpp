#include <cushim/init.hpp>

#include <atomic>
#include <cstdlib>

#include <cushim/detail/init_advice.h>
#include <cushim/detail/loader.h>

#include "call.hpp"
#include "explained.hpp"
#include "release_later.hpp"

namespace cushim {

using namespace detail;

namespace {

// `visible` is CUDA_VISIBLE_DEVICES; null if it is not set.
Error without_device(const Error &error, const char *visible) noexcept {
    if (visible != nullptr) {
        return explained(error,
                         "the driver found no device with CUDA_VISIBLE_DEVICES=%s; "
                         "correct or unset that variable",
                         visible);
    }
    const bool is_chosen = cushim_is_chosen_by_path(CUSHIM_LIBRARY_DRIVER) != 0;
    return explained(
        error, "the driver found no device; check that nvidia-smi lists one%s",
        is_chosen ? ""
                  : "; if this is a container, start it with GPU access (docker run --gpus all)");
}

/* The driver's own texts are "initialization error" and "no CUDA-capable device is detected". */
Error not_initialised(const Error &error, unsigned int now) noexcept {
    if (error.status() == CUDA_ERROR_NOT_INITIALIZED && now > 1) {
        return explained(
            error, "this process was forked from a process that used CUDA, and CUDA does not work "
                   "in it; fork before the first use of CUDA, or start a program with exec");
    }
    const char *const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (error.status() == CUDA_ERROR_NO_DEVICE) {
        return without_device(error, visible);
    }
    if (error.status() == CUDA_ERROR_INVALID_DEVICE && visible != nullptr) {
        return explained(error,
                         "CUDA_VISIBLE_DEVICES=%s names a device twice, or one that the "
                         "driver rejects; correct or unset that variable",
                         visible);
    }
    const char *const advice = cushim_init_advice(error.status());
    return advice != nullptr ? explained(error, "%s", advice) : error;
}

Result<void> call_init(unsigned int now) noexcept {
    const Result<void> called = call<entry::cuInit>(0);
    return called ? called : not_initialised(called.error(), now);
}

/* The call found no driver, but another thread has found one since. */
bool is_outdated(const Result<void> &called) noexcept {
    return !called && called.error().kind() == ErrorKind::status &&
           called.error().status() == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
}

/* The fork generation in which cuInit succeeded, plus one; 0: never. */
std::atomic<unsigned int> initialised{0};
/* The function that succeeded. When an override of cuInit begins or ends, init() calls it again. */
std::atomic<entry::cuInit::pfn> initialised_by{nullptr};

entry::cuInit::pfn current_function() noexcept {
    return function_of<entry::cuInit>();
}

} // namespace

Result<void> init() noexcept {
    return named("init", [&]() -> Result<void> {
        const unsigned int now = cushim_fork_generation() + 1;
        if (initialised.load(std::memory_order_acquire) == now &&
            initialised_by.load(std::memory_order_relaxed) == current_function()) {
            return {};
        }
        // If this function fails, the success of another one no longer counts.
        initialised.store(0, std::memory_order_release);
        Result<void> called = call_init(now);
        if (is_outdated(called)) {
            called = call_init(now);
        }
        if (!called) {
            return called.error();
        }
        // Registered right after cuInit, so that both run before the driver's teardown, in reverse
        // order.
        cushim_watch_exit();
        release_before_exit(Api::driver);
        initialised_by.store(current_function(), std::memory_order_relaxed);
        initialised.store(now, std::memory_order_release);
        return {};
    });
}

} // namespace cushim
