#include "runtime/base/call.hpp"
#include "runtime/base/driver_library.hpp"
#include "runtime/base/error_texts.hpp"
#include "runtime/base/last_error.hpp"
#include "runtime/base/process.hpp"

#include "driver/base/poison.hpp"

namespace sim::runtime {
namespace {

thread_local Call *innermost = nullptr;

} // namespace

Call::Call(const Row &row) noexcept : row_(row), outer_(innermost) {
    innermost = this;
}

Call::~Call() {
    innermost = outer_;
}

Call &Call::current() noexcept {
    return *innermost;
}

int Call::begin(const Argument *arguments, unsigned int count) noexcept {
    const Hooks *hooks = driver_hooks();
    if (hooks == nullptr) {
        return 0;
    }
    frame_.row = &row_;
    frame_.arguments = arguments;
    frame_.count = count;
    frame_.status_name = error_name;
    const int instead = hooks->enter(&frame_);
    epoch_ = hooks->epoch();
    return instead;
}

int Call::end(int status) noexcept {
    const bool entered = frame_.number != 0; // false if the driver was loaded meanwhile
    return entered ? driver_hooks()->leave(&frame_, status) : status;
}

cudaError_t Call::enter(const Argument *arguments, unsigned int count) noexcept {
    const auto instead = static_cast<cudaError_t>(begin(arguments, count));
    if (instead != cudaSuccess) {
        failed(instead, arguments, count);
        return instead;
    }
    // Without a driver or a device, every call fails before it checks its arguments. Recorded: its
    // outputs stay unchanged.
    return row_.any_time ? cudaSuccess : ready();
}

void Call::failed(cudaError_t status, const Argument *arguments, unsigned int count) noexcept {
    if (status != cudaErrorNotReady) {
        poison_outputs(arguments, count);
    }
}

cudaError_t Call::leave(cudaError_t status) noexcept {
    status = static_cast<cudaError_t>(end(status));
    // Recorded: NOT_READY does not become the last error.
    if (status != cudaSuccess && status != cudaErrorNotReady && !keeps_last_error) {
        note_error(status);
    }
    return status;
}

} // namespace sim::runtime
