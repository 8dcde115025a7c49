#include "call/lifecycle.hpp"
#include "base/platform.hpp"
#include "base/refusal.hpp"
#include "call/call.hpp"
#include "call/kernel_files.hpp"
#include "call/restart.hpp"
#include "call/runtime_calls.hpp"
#include "call/settings.hpp"
#include "engine/device.hpp"
#include "process/report.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace sim {
namespace {

std::atomic<bool> initialised{false};
std::atomic<bool> exiting{false};
std::atomic<bool> forked{false};

// Handlers run last-in first-out: those that were registered after cuInit still find a driver.
void at_exit() {
    bool failed = false;
    // What a child has is its parent's.
    if (settings().report != Report::none && !is_forked()) {
        if (Lock::take_at_exit()) {
            failed = report_at_exit() && settings().report == Report::fail;
            Lock::mutex().unlock();
        } else {
            std::fputs("cushim-sim: no report: a thread was ended inside a call\n", stderr);
        }
    }
    exiting = true;
    if (failed) {
        platform::exit_with(1);
    }
}

void in_child() {
    forked = initialised.load();
}

void check_kernel_files() {
    std::string problem;
    {
        const ClientCode unlocked;
        problem = register_kernel_files();
    }
    if (!problem.empty()) {
        refuse_start(problem);
    }
}

void register_handlers() {
    static const bool once = [] {
        std::atexit(at_exit);
        platform::after_fork_in_child(in_child);
        return true;
    }();
    (void)once;
}

} // namespace

CUresult process_state() noexcept {
    if (exiting.load(std::memory_order_relaxed)) {
        return CUDA_ERROR_DEINITIALIZED;
    }
    if (forked.load(std::memory_order_relaxed) || !initialised.load(std::memory_order_relaxed)) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    return CUDA_SUCCESS;
}

bool is_initialised() noexcept {
    return initialised;
}

bool is_forked() noexcept {
    return forked.load(std::memory_order_relaxed);
}

void initialise() {
    require(!exiting, CUDA_ERROR_DEINITIALIZED);
    require(!forked, CUDA_ERROR_NOT_INITIALIZED);
    check_settings();
    check_kernel_files();
    require(settings().init == 0, static_cast<CUresult>(settings().init));
    if (!initialised) {
        restart_devices();
        require(device_count() > 0, CUDA_ERROR_NO_DEVICE);
        register_handlers();
        initialised = true;
    }
}

void restart_process() noexcept {
    initialised = false;
    forked = false;
}

} // namespace sim
