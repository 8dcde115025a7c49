#include <cushim/init.hpp>

#include <atomic>

#include <cushim/detail/driver_entries.hpp>
#include <cushim/detail/loader.h>
#include <cushim/driver_table.hpp>

#include "release_later.hpp"

namespace cushim {

namespace {

/* The driver's own text for a child of fork is "initialization error". */
const char *detail_for(CUresult status, unsigned int now) noexcept {
    return status == CUDA_ERROR_NOT_INITIALIZED && now > 1
               ? "this process was forked from a process that used CUDA, where CUDA does not work: "
                 "fork before the first use of CUDA, or start a program with exec"
               : "";
}

Result<void> call_init(unsigned int now) noexcept {
    const CUresult status = driver().cuInit(0);
    if (status != CUDA_SUCCESS)
        return Error::status(Api::driver, status, "cuInit", detail_for(status, now));
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
    return __atomic_load_n(entry::cuInit::slot(), __ATOMIC_ACQUIRE);
}

} // namespace

Result<void> init() noexcept {
    const unsigned int now = cushim_fork_generation() + 1;
    if (initialised.load(std::memory_order_acquire) == now &&
        initialised_by.load(std::memory_order_relaxed) == current_function())
        return {};
    // If this function fails, the success of another one no longer counts.
    initialised.store(0, std::memory_order_release);
    Result<void> called = call_init(now);
    if (is_outdated(called))
        called = call_init(now);
    if (!called)
        return called;
    // Registered right after cuInit, so that both run before the driver's teardown, in reverse
    // order.
    cushim_watch_exit();
    detail::release_before_exit();
    initialised_by.store(current_function(), std::memory_order_relaxed);
    initialised.store(now, std::memory_order_release);
    return {};
}

} // namespace cushim
