/* What the runtime's functions answer, beyond a status, while there is no runtime to ask.
 *
 * Included by the generated rows; emit_sources.py lists the names. Each gets the status that a
 * failing call would answer, then its own arguments.
 */
#pragma once

#include <cuda_runtime_api.h>
#include <cushim/loader.h>

#include "error_codes.hpp"
#include "platform.hpp"
#include "resolve.hpp"

namespace cushim::absent {

/* In the words of a libcudart that is there: for its texts it needs no driver. */
inline const char *ask_unused_runtime(const char *function, cudaError_t error, const char *own) {
    using TextQuery = const char *(CUDARTAPI *)(cudaError_t);
    if (cushim_function found = find_in_unused_runtime(function))
        return reinterpret_cast<TextQuery>(found)(error);
    return own != nullptr ? own : "unrecognized error code";
}

inline const char *cudaGetErrorName(int, cudaError_t error) {
    return ask_unused_runtime("cudaGetErrorName", error, runtime_code(error).name);
}

inline const char *cudaGetErrorString(int, cudaError_t error) {
    return ask_unused_runtime("cudaGetErrorString", error, runtime_code(error).words);
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

/* Programs ask this first, and look at the number: it must not be what was there before. */
inline cudaError_t cudaGetDeviceCount(int status, int *count) {
    if (count != nullptr)
        *count = 0;
    return static_cast<cudaError_t>(status);
}

/* What quiet rows refuse: cudaGetLastError knows of it, as with a runtime. */
inline cudaError_t refuse(cudaError_t why) {
    platform::set_thread_error(why);
    return why;
}

/* The versions are no matter of devices: libcudart tells both without a driver, and a program
 * that is linked to the static one always has it. With a driver and no libcudart it is the
 * driver's own. */
inline cudaError_t cudaDriverGetVersion(int, int *version) {
    if (version == nullptr)
        return refuse(cudaErrorInvalidValue);
    *version = cushim_library_version(CUSHIM_LIBRARY_DRIVER); // 0: there is none
    return cudaSuccess;
}

inline cudaError_t cudaRuntimeGetVersion([[maybe_unused]] int status, int *version) {
#if CUDART_VERSION < 12000
    // Up to CUDA 11, libcudart wants a driver for this one.
    if (status == cudaErrorInsufficientDriver)
        return refuse(cudaErrorInsufficientDriver);
#endif
    if (version == nullptr)
        return refuse(cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

/* Only puts its arguments together: as right without a runtime as with one. */
inline cudaChannelFormatDesc cudaCreateChannelDesc(int, int x, int y, int z, int w,
                                                   cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}

} // namespace cushim::absent
