#include <cushim/init.hpp>

#include <atomic>

#include <cushim/driver_table.hpp>

namespace cushim {

namespace {

/* The fork generation in which cuInit succeeded, plus one; 0: not yet. */
std::atomic<unsigned int> initialised{0};

} // namespace

Result<void> init() noexcept {
    const unsigned int now = cushim_fork_generation() + 1;
    if (initialised.load(std::memory_order_acquire) == now)
        return {};
    const CUresult status = driver().cuInit(0);
    if (status != CUDA_SUCCESS)
        return Error::status(Api::driver, status, "cuInit");
    // Right after cuInit, so that it runs before the driver's own teardown.
    cushim_watch_exit();
    initialised.store(now, std::memory_order_release);
    return {};
}

} // namespace cushim
