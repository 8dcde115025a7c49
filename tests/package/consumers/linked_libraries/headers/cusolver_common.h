#ifndef CUSOLVER_COMMON_H
#define CUSOLVER_COMMON_H

#include <library_types.h>

#define CUSOLVER_VER_MAJOR 12

typedef enum {
    CUSOLVER_STATUS_SUCCESS = 0,
    CUSOLVER_STATUS_NOT_INITIALIZED = 1,
    CUSOLVER_STATUS_NOT_SUPPORTED = 10
} cusolverStatus_t;

#endif
