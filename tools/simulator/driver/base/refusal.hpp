// How an entry point fails: it throws a Refusal, and its export returns the status.
#pragma once

#include "base/cuda_headers.hpp"

#include <string>

namespace sim {

// The status of a failed call. It never leaves the library.
struct Refusal {
    CUresult status;
};

#if defined(__MINGW32__)
#define SIM_PRINTF(text, first) [[gnu::format(gnu_printf, text, first)]]
#elif defined(__GNUC__)
#define SIM_PRINTF(text, first) [[gnu::format(printf, text, first)]]
#else
#define SIM_PRINTF(text, first)
#endif

// Adds a line to the error log, before the one that states the status, if the calling thread's call
// fails. For functions that return a status.
SIM_PRINTF(1, 2) void explain(const char *format, ...) noexcept;
// Removes and returns the lines so far, each with a newline.
std::string take_reasons();
// For a failure that the call ignores.
void forget_reasons() noexcept;

[[noreturn]] inline void refuse(CUresult status) {
    throw Refusal{status};
}
// Adds a line to the error log, in the driver's words.
[[noreturn]] SIM_PRINTF(2, 3) void refuse(CUresult status, const char *format, ...);

inline void require(bool condition, CUresult status = CUDA_ERROR_INVALID_VALUE) {
    if (!condition) {
        refuse(status);
    }
}
// An empty reason adds no line.
inline void require(bool condition, CUresult status, const char *reason) {
    if (!condition) {
        refuse(status, "%s", reason);
    }
}
inline void require(bool condition, const char *reason) {
    require(condition, CUDA_ERROR_INVALID_VALUE, reason);
}

#undef SIM_PRINTF

// An error of enqueued work. If it is sticky, the stream's context fails permanently.
struct Fault {
    CUresult status;
    bool intended = false; // planned, or returned by the client's own kernel function
};

} // namespace sim
