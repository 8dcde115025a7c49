#include <cushim/init.hpp>

#include <atomic>
#include <cstdlib>

#include <cushim/detail/driver_entries.hpp>
#include <cushim/detail/find_entry.hpp>
#include <cushim/detail/loader.h>
#include <cushim/driver_table.hpp>

#include "ranges.hpp"
#include "release_later.hpp"

namespace cushim {

namespace {

/* The driver's own texts are "initialization error" and "no CUDA-capable device is detected". */
Error not_initialised(CUresult status, unsigned int now) noexcept {
    Error error = Error::status(Api::driver, status, "cuInit");
    if (status == CUDA_ERROR_NOT_INITIALIZED && now > 1) {
        return detail::explained(
            error, "this process was forked from a process that used CUDA, and CUDA does not work "
                   "in it; fork before the first use of CUDA, or start a program with exec");
    }
    if (status == CUDA_ERROR_NO_DEVICE) {
        const char *const visible = std::getenv("CUDA_VISIBLE_DEVICES");
        return visible != nullptr
                   ? detail::explained(error,
                                       "the driver found no device with CUDA_VISIBLE_DEVICES=%s; "
                                       "correct or unset that variable",
                                       visible)
                   : detail::explained(error, "the driver found no device; check that nvidia-smi "
                                              "lists one; if this is a container, start it with "
                                              "GPU access (docker run --gpus all)");
    }
    return error;
}

Result<void> call_init(unsigned int now) noexcept {
    const CUresult status = driver().cuInit(0);
    if (status != CUDA_SUCCESS) {
        return not_initialised(status, now);
    }
    return {};
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
    return CUSHIM_LOAD_SLOT(*detail::slot_of<entry::cuInit>());
}

} // namespace

Result<void> init() noexcept {
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
        return CUSHIM_NAMED(called.error());
    }
    // Registered right after cuInit, so that both run before the driver's teardown, in reverse
    // order.
    cushim_watch_exit();
    detail::release_before_exit(Api::driver);
    initialised_by.store(current_function(), std::memory_order_relaxed);
    initialised.store(now, std::memory_order_release);
    return {};
}

} // namespace cushim
