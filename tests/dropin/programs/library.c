/* A shared library that calls CUDA and knows nothing of cushim. */
#define _GNU_SOURCE
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <dlfcn.h>

int library_init(void) {
    return (int)cuInit(0);
}

int library_count(int *count) {
    return (int)cudaGetDeviceCount(count);
}

/* The file whose cuInit it calls. */
const char *library_serves(void) {
    CUresult (*volatile function)(unsigned int) = cuInit;
    Dl_info found;
    return dladdr((void *)function, &found) ? found.dli_fname : "nobody";
}
