#include "call/call.hpp"
#include "base/immortal.hpp"
#include "base/platform.hpp"
#include "base/poison.hpp"
#include "call/call_log.hpp"
#include "call/error_log.hpp"
#include "call/faults.hpp"
#include "call/lifecycle.hpp"
#include "call/runtime_calls.hpp"
#include "call/settings.hpp"
#include "call/startup.hpp"

#include <chrono>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

namespace sim {
namespace {

thread_local Call *innermost = nullptr;
std::uint64_t calls = 0;

// Measured: of the calls that were tried inside a host function the driver answers these, of
// objects that they name; what needs a current context it refuses.
bool may_host_functions_call(const char *base) noexcept {
    return std::strcmp(base, "cuEventQuery") == 0 || std::strcmp(base, "cuStreamQuery") == 0 ||
           std::strcmp(base, "cuEventRecord") == 0;
}

void end_fork_in_child() {
    // What it knows of those that wait is of the parent's threads.
    new (&Lock::changed()) std::condition_variable;
    Lock::mutex().unlock();
}

} // namespace

std::mutex &Lock::mutex() {
    static Immortal<std::mutex> mutex;
    static const bool watched = [] {
        // A child has none of the threads that might hold the lock: it is forked while nobody does.
        platform::around_fork([] { Lock::mutex().lock(); }, [] { Lock::mutex().unlock(); },
                              end_fork_in_child);
        return true;
    }();
    (void)watched;
    return *mutex;
}

std::condition_variable &Lock::changed() {
    static Immortal<std::condition_variable> changed;
    return *changed;
}

bool Lock::take_at_exit() {
    // Two kinds of threads never give it back: those that the system has ended before it calls the
    // handlers, as Windows does, and this one, where a signal handler that interrupted its call
    // exits.
    const bool comes_back = platform::threads_run_at_exit() && innermost == nullptr;
    if (comes_back) {
        mutex().lock();
        return true;
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (!mutex().try_lock()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::yield();
    }
    return true;
}

Call *Call::current() noexcept {
    return innermost;
}

std::uint64_t Call::next_number() noexcept {
    return ++calls;
}

void Call::restart() noexcept {
    calls = 0;
}

CUresult Call::enter() noexcept {
    Lock::mutex().lock();
    start_once();
    const ClientCall client = runtime_call();
    name_ = client.name != nullptr ? client.name : row_.name;
    number_ = client.name != nullptr ? client.number : next_number();
    outer_ = innermost;
    innermost = this;
    if (sim_variant_is_stub != 0) {
        return CUDA_ERROR_STUB_LIBRARY;
    }
    if (!row_.any_time) {
        // Measured: the one call that a child may make of its parent's objects, to no effect.
        if (is_forked() && std::strcmp(row_.base, "cuEventDestroy") == 0) {
            answered_ = true;
            return CUDA_SUCCESS;
        }
        if (const CUresult refused = process_state(); refused != CUDA_SUCCESS) {
            return refused;
        }
        if (in_host_function() && !may_host_functions_call(row_.base)) {
            return CUDA_ERROR_NOT_PERMITTED;
        }
    }
    // Plans are of the client's calls, and count those.
    if (!faults_planned() || client.name != nullptr) {
        return CUDA_SUCCESS;
    }
    fault_ = consult_faults(row_);
    return fault_.instead;
}

CUresult Call::leave(CUresult status) noexcept {
    if (status == CUDA_SUCCESS) {
        status = fault_.after;
    } else if (status != CUDA_ERROR_NOT_READY && sim_variant_is_stub == 0) {
        poison_outputs(arguments_, count_);
    }
    if (fault_.async != CUDA_SUCCESS) {
        note_unused(fault_, name_, number_);
    }
    if (log_enabled() && !in_runtime_call()) {
        log_call(number_, row_, arguments_, count_, static_cast<int>(status));
    }
    innermost = outer_;
    FailureNotice notice;
    if (is_logged(status)) {
        // The runtime may make it good, and has locks of its own now: its call is told of as a
        // whole.
        if (in_runtime_call()) {
            note_refusal();
        } else {
            notice = log_failure(row_.base, status);
        }
    }
    Lock::mutex().unlock();
    notice.give();
    return status;
}

CUresult Call::take_async_fault() noexcept {
    const CUresult code = std::exchange(fault_.async, CUDA_SUCCESS);
    return code != CUDA_SUCCESS ? code : take_runtime_async_fault();
}

bool &in_host_function() noexcept {
    static thread_local bool inside = false;
    return inside;
}

} // namespace sim
