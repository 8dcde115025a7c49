// Errors: names, texts, and the thread's last error.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/error_texts.hpp"
#include "runtime/base/last_error.hpp"

namespace sim::runtime {
namespace {

constexpr const char *unknown_code = "unrecognized error code";

} // namespace

const char *cudaGetErrorName(cudaError_t error) {
    const char *name = error_name(static_cast<int>(error));
    return name ? name : unknown_code;
}

const char *cudaGetErrorString(cudaError_t error) {
    const char *text =
        error_name(static_cast<int>(error)) ? error_text(static_cast<int>(error)) : nullptr;
    return text ? text : unknown_code;
}

// If the runtime cannot work, returns the reason, even in a thread that has called nothing yet.
cudaError_t cudaGetLastError() {
    Call::current().keeps_last_error = true;
    const cudaError_t status = last_error();
    clear_last_error();
    return status;
}

cudaError_t cudaPeekAtLastError() {
    Call::current().keeps_last_error = true;
    return last_error();
}

} // namespace sim::runtime
