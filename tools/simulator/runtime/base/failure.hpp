// How a runtime entry point fails: it throws a Failure, and its export returns the status.
#pragma once

#include "runtime/base/runtime_headers.hpp"

namespace sim::runtime {

// The status of a failed call. It never leaves the library.
struct Failure {
    cudaError_t status;
};

[[noreturn]] inline void fail(cudaError_t status) {
    throw Failure{status};
}

// With a line for the driver's error log.
[[noreturn]] void fail(cudaError_t status, const char *reason);

inline void require(bool condition, cudaError_t status = cudaErrorInvalidValue) {
    if (!condition) {
        fail(status);
    }
}
inline void require(bool condition, const char *reason) {
    if (!condition) {
        fail(cudaErrorInvalidValue, reason);
    }
}

// Throws unless a call succeeded.
inline void demand(cudaError_t status) {
    require(status == cudaSuccess, status);
}

// The runtime's status for a driver status.
cudaError_t runtime_status(CUresult status) noexcept;

} // namespace sim::runtime
