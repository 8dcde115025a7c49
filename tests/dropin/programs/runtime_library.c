/* A shared library that calls the runtime API and knows nothing of cushim. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>

#include <dlfcn.h>

/* The major version that it is told; -1: it is told nothing. */
int library_runtime_major(void) {
    int version = -1000;
    return cudaRuntimeGetVersion(&version) == cudaSuccess ? version / 1000 : -1;
}

/* The file whose cudaRuntimeGetVersion it calls. */
const char *library_runtime_serves(void) {
    cudaError_t (*volatile function)(int *) = cudaRuntimeGetVersion;
    Dl_info found;
    return dladdr((void *)function, &found) ? found.dli_fname : "nobody";
}
