#ifndef CUSOLVERDN_H
#define CUSOLVERDN_H

#include "cusolver_common.h"

typedef struct cusolverDnContext *cusolverDnHandle_t;

#ifdef __cplusplus
extern "C" {
#endif

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle);
cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int *value);

#ifdef __cplusplus
}
#endif

#endif
