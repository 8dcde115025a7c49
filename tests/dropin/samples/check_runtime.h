/* How the runtime API programs check the status of each call. */
#ifndef CHECK_RUNTIME_H
#define CHECK_RUNTIME_H

#include <cuda_runtime_api.h>

#include <stdio.h>
#include <stdlib.h>

#include "exit_codes.h"

#define CHECK(call) check((call), #call, __FILE__, __LINE__)

static inline void check(cudaError_t status, const char *call, const char *file, int line) {
    if (status != cudaSuccess) {
        fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorString(status),
                cudaGetErrorName(status));
        exit(EXIT_CUDA_ERROR);
    }
}

/* The number of devices. Ends the program if there are none. */
static inline int need_device(void) {
    int count = 0;
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaSuccess && count == 0) {
        status = cudaErrorNoDevice;
    }
    if (status != cudaSuccess) {
        fprintf(stderr, "There is no CUDA device: %s\n", cudaGetErrorString(status));
        exit(EXIT_NO_DEVICE);
    }
    return count;
}

#endif
