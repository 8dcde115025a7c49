/* How the driver API programs check the status of each call. */
#ifndef CHECK_DRIVER_H
#define CHECK_DRIVER_H

#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>

#include "exit_codes.h"

#define CHECK(call) check((call), #call, __FILE__, __LINE__)

static inline const char *words_for(CUresult status) {
    const char *words = NULL;
    return cuGetErrorString(status, &words) == CUDA_SUCCESS ? words : "an unknown error";
}

static inline void check(CUresult status, const char *call, const char *file, int line) {
    if (status != CUDA_SUCCESS) {
        const char *name = NULL;
        cuGetErrorName(status, &name);
        fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, call, words_for(status),
                name != NULL ? name : "?");
        exit(EXIT_CUDA_ERROR);
    }
}

/* The number of devices. Ends the program if there are none. */
static inline int need_device(void) {
    int count = 0;
    CUresult status = cuInit(0);
    if (status == CUDA_SUCCESS) {
        status = cuDeviceGetCount(&count);
    }
    if (status == CUDA_SUCCESS && count == 0) {
        status = CUDA_ERROR_NO_DEVICE;
    }
    if (status != CUDA_SUCCESS) {
        fprintf(stderr, "There is no CUDA device: %s\n", words_for(status));
        exit(EXIT_NO_DEVICE);
    }
    return count;
}

#endif
