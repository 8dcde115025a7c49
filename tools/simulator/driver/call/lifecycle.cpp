#include "call/lifecycle.hpp"
#include "base/refusal.hpp"
#include "call/call.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace sim {
namespace {

std::atomic<bool> initialised{false};
std::atomic<bool> exiting{false};
std::atomic<bool> forked{false};
void (*resumed_by)() = nullptr;
std::thread::id resuming; // the thread that is inside resumed_by, if any

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

bool is_resuming() noexcept {
    return resuming != std::thread::id();
}

bool is_exiting() noexcept {
    return exiting;
}

void set_initialised() noexcept {
    initialised = true;
    resumed_by = nullptr;
}

void set_forked() noexcept {
    forked = initialised.load() || is_resuming();
    resuming = {}; // the child lacks that thread
}

void set_exiting() noexcept {
    exiting = true;
}

void restart_process() noexcept {
    initialised = false;
    forked = false;
}

void resume_by(void (*initialise)()) noexcept {
    resumed_by = initialise;
}

void resume() noexcept {
    if (resuming == std::this_thread::get_id()) {
        return;
    }
    // It releases the lock while it calls the client's code.
    while (is_resuming()) {
        std::unique_lock lock(Lock::mutex(), std::adopt_lock);
        Lock::changed().wait(lock);
        lock.release();
    }
    if (void (*const initialise)() = std::exchange(resumed_by, nullptr)) {
        resuming = std::this_thread::get_id();
        try {
            initialise();
        } catch (const Refusal &) { // the call fails as before cuInit
            forget_reasons();
        }
        resuming = {};
        Lock::changed().notify_all();
    }
}

} // namespace sim
