#ifndef CUBLAS_V2_H
#define CUBLAS_V2_H

#include "cublas_api.h"

#define cublasCreate cublasCreate_v2

typedef struct cublasContext *cublasHandle_t;

#ifdef __cplusplus
extern "C" {
#endif

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value);
const char *cublasGetStatusString(cublasStatus_t status);
size_t cublasGetCudartVersion(void);

#ifdef __cplusplus
}
#endif

#endif
