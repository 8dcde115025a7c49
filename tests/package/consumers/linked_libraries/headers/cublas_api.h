/* The few lines of NVIDIA's header that the test needs. */
#ifndef CUBLAS_API_H
#define CUBLAS_API_H

#include <library_types.h>

#include <stddef.h>

#define CUBLAS_VER_MAJOR 13

typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_NOT_SUPPORTED = 15
} cublasStatus_t;

#endif
