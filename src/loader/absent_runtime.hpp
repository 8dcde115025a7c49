/* Runtime functions that do more than return a status if the runtime is absent.
 *
 * Included by the generated rows; emit_sources.py lists the names. Each receives the status that a
 * failing call would return, followed by its own arguments.
 */
#pragma once

#include <cuda_runtime_api.h>
#include <cushim/loader.h>

#include "error_codes.hpp"
#include "platform/platform.hpp"
#include "resolve.hpp"

namespace cushim::absent {

/* Prefers the text of a libcudart that is loaded but not used: texts need no driver. */
inline const char *ask_unused_runtime(const char *function, cudaError_t error, const char *own) {
    using TextQuery = const char *(CUDARTAPI *)(cudaError_t);
    if (cushim_function found = find_in_unused_runtime(function)) {
        return reinterpret_cast<TextQuery>(found)(error);
    }
    return own != nullptr ? own : "unrecognized error code";
}

inline const char *cudaGetErrorName(int, cudaError_t error) {
    return ask_unused_runtime("cudaGetErrorName", error, runtime_code(error).name);
}

inline const char *cudaGetErrorString(int, cudaError_t error) {
    return ask_unused_runtime("cudaGetErrorString", error, runtime_code(error).words);
}

/* The thread's last error, which the loader keeps if the runtime is absent. */
inline cudaError_t cudaPeekAtLastError(int) {
    return static_cast<cudaError_t>(platform::thread_error());
}

inline cudaError_t cudaGetLastError(int) {
    const cudaError_t error = cudaPeekAtLastError(0);
    if (error != cudaSuccess) {
        platform::set_thread_error(cudaSuccess);
    }
    return error;
}

/* Programs call this first and read the number, so it must be written. */
inline cudaError_t cudaGetDeviceCount(int status, int *count) {
    if (count != nullptr) {
        *count = 0;
    }
    return static_cast<cudaError_t>(status);
}

/* Fails quiet rows: cudaGetLastError then returns the error, as it does with a runtime. */
inline cudaError_t refuse(cudaError_t why) {
    platform::set_thread_error(why);
    return why;
}

/* The versions do not depend on devices: libcudart returns both without a driver, and a program
 * that links the static libcudart always has them. With a driver but no libcudart, the driver
 * itself returns its version. */
inline cudaError_t cudaDriverGetVersion(int, int *version) {
    if (version == nullptr) {
        return refuse(cudaErrorInvalidValue);
    }
    *version = cushim_library_version(CUSHIM_LIBRARY_DRIVER); // 0: no driver
    return cudaSuccess;
}

inline cudaError_t cudaRuntimeGetVersion([[maybe_unused]] int status, int *version) {
#if CUDART_VERSION < 12000
    // Up to CUDA 11, libcudart requires a driver for this function.
    if (status == cudaErrorInsufficientDriver) {
        return refuse(cudaErrorInsufficientDriver);
    }
#endif
    if (version == nullptr) {
        return refuse(cudaErrorInvalidValue);
    }
    *version = CUDART_VERSION;
    return cudaSuccess;
}

/* Only combines its arguments, so it needs no runtime. */
inline cudaChannelFormatDesc cudaCreateChannelDesc(int, int x, int y, int z, int w,
                                                   cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}

} // namespace cushim::absent
