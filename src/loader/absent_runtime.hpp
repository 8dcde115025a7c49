/* What the runtime's functions answer, beyond a status, while there is no runtime to ask.
 *
 * Included by the generated rows; emit_sources.py lists the names. Each gets the status that a
 * failing call would answer, then its own arguments.
 */
#pragma once

#include <cuda_runtime_api.h>

#include "error_codes.hpp"
#include "platform.hpp"

namespace cushim::absent {

inline const char *cudaGetErrorName(int, cudaError_t error) {
    const char *name = runtime_code(error).name;
    return name != nullptr ? name : "unrecognized error code";
}

inline const char *cudaGetErrorString(int, cudaError_t error) {
    const char *words = runtime_code(error).words;
    return words != nullptr ? words : "unrecognized error code";
}

/* The last error of this thread: without a runtime, the loader keeps it. */
inline cudaError_t cudaPeekAtLastError(int) {
    return static_cast<cudaError_t>(platform::thread_error());
}

inline cudaError_t cudaGetLastError(int) {
    const cudaError_t error = cudaPeekAtLastError(0);
    if (error != cudaSuccess)
        platform::set_thread_error(cudaSuccess);
    return error;
}

/* Programs ask these two first, and look at the number: it must not be what was there before. */
inline cudaError_t cudaGetDeviceCount(int status, int *count) {
    if (count != nullptr)
        *count = 0;
    return static_cast<cudaError_t>(status);
}

inline cudaError_t cudaDriverGetVersion(int status, int *version) {
    if (version != nullptr)
        *version = 0;
    return static_cast<cudaError_t>(status);
}

/* Only puts its arguments together: as right without a runtime as with one. */
inline cudaChannelFormatDesc cudaCreateChannelDesc(int, int x, int y, int z, int w,
                                                   cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}

} // namespace cushim::absent
