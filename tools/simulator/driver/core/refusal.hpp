// How an entry point says no: it throws a Refusal, and the export around it returns the status.
#pragma once

#include "cuda_headers.hpp"

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

// Writes a value that no wrapper can take for a handle or an address, where a call that fails has an
// output: who reads it anyway is caught.
template <class T>
void poison(T *output) {
    if (output != nullptr) {
        __builtin_memset(static_cast<void *>(output), 0xbd, sizeof *output);
    }
}

// An error of work that was queued: the stream's context fails from then on where it is sticky.
struct Fault {
    CUresult status;
};

} // namespace sim
