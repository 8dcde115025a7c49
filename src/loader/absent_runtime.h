/* Runtime functions that do more than return a status if the runtime is absent.
 *
 * Included by the generated rows; emit_sources.py lists the names. Each receives the status that a
 * failing call would return, followed by its own arguments.
 */
#pragma once

#include <stddef.h>

#include <cuda_runtime_api.h>

#include "error_codes.h"
#include "platform/platform.h"

static inline const char *cushim_known_text(const char *text) {
    return text != NULL ? text : "unrecognized error code";
}

/* Built-in texts, even if a libcudart is loaded that is not used for lack of a driver: after a call
 * without a driver, all of its calls fail, even once a driver is loaded. */
static inline const char *cushim_absent_cudaGetErrorName(int status, cudaError_t error) {
    (void)status;
    return cushim_known_text(cushim_runtime_code((int)error).name);
}

static inline const char *cushim_absent_cudaGetErrorString(int status, cudaError_t error) {
    (void)status;
    return cushim_known_text(cushim_runtime_code((int)error).words);
}

/* The thread's last error, which the loader keeps if the runtime is absent. */
static inline cudaError_t cushim_absent_cudaPeekAtLastError(int status) {
    (void)status;
    return (cudaError_t)cushim_platform_thread_error();
}

static inline cudaError_t cushim_absent_cudaGetLastError(int status) {
    const cudaError_t error = cushim_absent_cudaPeekAtLastError(status);
    if (error != cudaSuccess) {
        cushim_platform_set_thread_error(cudaSuccess);
    }
    return error;
}

/* Programs call this first and read the number, so it must be written. */
static inline cudaError_t cushim_absent_cudaGetDeviceCount(int status, int *count) {
    if (count != NULL) {
        *count = 0;
    }
    return (cudaError_t)status;
}

/* Sets the last error, as libcudart does; the first-call functions of these rows do not set it. */
static inline cudaError_t cushim_refuse(cudaError_t why) {
    cushim_platform_set_thread_error((int)why);
    return why;
}

/* The versions do not depend on devices: libcudart returns both without a driver, and a program
 * that links the static libcudart always has them. With a driver but no libcudart, the driver
 * itself returns its version. */
static inline cudaError_t cushim_absent_cudaDriverGetVersion(int status, int *version) {
    (void)status;
    if (version == NULL) {
        return cushim_refuse(cudaErrorInvalidValue);
    }
    *version = cushim_library_version(CUSHIM_LIBRARY_DRIVER); // 0: no driver
    return cudaSuccess;
}

static inline cudaError_t cushim_absent_cudaRuntimeGetVersion(int status, int *version) {
    (void)status;
#if CUDART_VERSION < 12000
    // Up to CUDA 11, libcudart requires a driver for this function.
    if (status == cudaErrorInsufficientDriver) {
        return cushim_refuse(cudaErrorInsufficientDriver);
    }
#endif
    if (version == NULL) {
        return cushim_refuse(cudaErrorInvalidValue);
    }
    *version = CUDART_VERSION;
    return cudaSuccess;
}

/* Only combines its arguments, so it needs no runtime. */
static inline struct cudaChannelFormatDesc
cushim_absent_cudaCreateChannelDesc(int status, int x, int y, int z, int w,
                                    enum cudaChannelFormatKind kind) {
    const struct cudaChannelFormatDesc description = {x, y, z, w, kind};
    (void)status;
    return description;
}
