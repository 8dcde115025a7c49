#include "call/call.hpp"
#include "base/immortal.hpp"
#include "base/platform.hpp"
#include "base/poison.hpp"
#include "call/call_log.hpp"
#include "call/error_log.hpp"
#include "call/failed_calls.hpp"
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

// Recorded: inside a host function, the driver permits these of the calls that were tried, on
// objects that they name. Calls that need a current context fail.
bool may_host_functions_call(const char *base) noexcept {
    return std::strcmp(base, "cuEventQuery") == 0 || std::strcmp(base, "cuStreamQuery") == 0 ||
           std::strcmp(base, "cuEventRecord") == 0;
}

void end_fork_in_child() {
    // Its waiter list refers to threads of the parent.
    new (&Lock::changed()) std::condition_variable;
    Lock::mutex().unlock();
}

} // namespace

std::mutex &Lock::mutex() {
    static Immortal<std::mutex> mutex;
    static const bool watched = [] {
        // The child has only the forking thread, so the lock must be free during the fork.
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
    // Two kinds of threads never release the lock: threads that the system ended before it called
    // the exit handlers, as on Windows, and this thread, if a signal handler interrupted its call
    // and exited.
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
        // Recorded: the one call that a child may make on its parent's objects. It has no effect.
        if (is_forked() && std::strcmp(row_.base, "cuEventDestroy") == 0) {
            has_status_ = true;
            return CUDA_SUCCESS;
        }
        resume();
        if (const CUresult refused = process_state(); refused != CUDA_SUCCESS) {
            return refused;
        }
        if (in_host_function() && !may_host_functions_call(row_.base)) {
            explain(host_function_calls);
            return CUDA_ERROR_NOT_PERMITTED;
        }
    }
    // Faults apply to the client's calls and count only those.
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
    if (!in_runtime_call()) {
        note_status(row_, number_, arguments_, count_, static_cast<int>(status));
    }
    innermost = outer_;
    FailureNotice notice;
    if (is_logged(status)) {
        // The runtime may recover from it, and holds its own locks now. The error log gets one line
        // for the whole runtime call.
        if (in_runtime_call()) {
            note_refusal();
        } else {
            notice = log_failure(row_.name, status);
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
