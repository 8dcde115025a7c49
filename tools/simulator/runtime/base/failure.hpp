// How an entry point of the runtime says no: it throws a Failure, and the export around it returns
// the status.
#pragma once

#include "runtime/base/runtime_headers.hpp"

namespace sim::runtime {

// Carries the status of a call. Nothing of it leaves the library.
struct Failure {
    cudaError_t status;
};

[[noreturn]] inline void fail(cudaError_t status) {
    throw Failure{status};
}

inline void require(bool condition, cudaError_t status = cudaErrorInvalidValue) {
    if (!condition) {
        fail(status);
    }
}

// Goes on only where a call succeeded.
inline void demand(cudaError_t status) {
    require(status == cudaSuccess, status);
}

// What a status of the driver is to the runtime.
cudaError_t answer(CUresult status) noexcept;

} // namespace sim::runtime
