#include "call.hpp"
#include "call_log.hpp"
#include "faults.hpp"
#include "lifecycle.hpp"
#include "restart.hpp"
#include "runtime_calls.hpp"
#include "settings.hpp"
#include "work.hpp"

#include <cstring>

namespace sim {
namespace {

thread_local Call *innermost = nullptr;
std::uint64_t calls = 0;

} // namespace

std::mutex &Lock::mutex() {
    static auto *mutex = new std::mutex; // used after static destructors
    return *mutex;
}

std::condition_variable &Lock::changed() {
    static auto *changed = new std::condition_variable;
    return *changed;
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
    number_ = next_number();
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
        // Measured: of all calls that were tried inside a host function, the driver answers this one.
        if (in_host_function() && std::strcmp(row_.base, "cuEventQuery") != 0) {
            return CUDA_ERROR_NOT_PERMITTED;
        }
    }
    if (!faults_planned()) {
        return CUDA_SUCCESS;
    }
    const PlannedFault fault = consult_faults(row_);
    after_ = fault.after;
    async_ = fault.async;
    return fault.instead;
}

CUresult Call::leave(CUresult status) noexcept {
    if (status == CUDA_SUCCESS) {
        status = after_;
    }
    if (log_enabled() && !in_runtime_call()) {
        log_call(number_, row_, arguments_, count_, static_cast<int>(status));
    }
    innermost = outer_;
    Lock::mutex().unlock();
    return status;
}

CUresult Call::take_async_fault() noexcept {
    const CUresult code = async_;
    async_ = CUDA_SUCCESS;
    return code != CUDA_SUCCESS ? code : take_runtime_async_fault();
}

} // namespace sim
