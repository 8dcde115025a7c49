// How an entry point says no: it throws a Refusal, and the export around it returns the status.
#pragma once

#include "base/cuda_headers.hpp"

namespace sim {

// Carries the status of a call. Nothing of it leaves the library.
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

// An error of work that was queued: the stream's context fails from then on where it is sticky.
struct Fault {
    CUresult status;
    bool intended = false; // planned, or what the client's own kernel answered
};

} // namespace sim
