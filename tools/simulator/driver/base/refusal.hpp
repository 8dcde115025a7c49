// How an entry point fails: it throws a Refusal, and its export returns the status.
#pragma once

#include "base/cuda_headers.hpp"

namespace sim {

// The status of a failed call. It never leaves the library.
struct Refusal {
    CUresult status;
};

[[noreturn]] inline void refuse(CUresult status) {
    throw Refusal{status};
}

inline void require(bool condition, CUresult status = CUDA_ERROR_INVALID_VALUE) {
    if (!condition) {
        refuse(status);
    }
}

// An error of enqueued work. If it is sticky, the stream's context fails permanently.
struct Fault {
    CUresult status;
    bool intended = false; // planned, or returned by the client's own kernel function
};

} // namespace sim
