/* A shared library that calls CUDA and knows nothing of cushim; with RUNTIME the runtime API alone,
 * with BY_NAME what it finds by name in whatever the process has. */
#define _GNU_SOURCE
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <dlfcn.h>

#if defined(RUNTIME)
static void *called(void) {
    cudaError_t (*volatile function)(int *) = cudaRuntimeGetVersion;
    return (void *)function;
}

/* The major version that it is told; -1: it is told nothing. */
int library_answer(void) {
    int version = -1000;
    return cudaRuntimeGetVersion(&version) == cudaSuccess ? version / 1000 : -1;
}
#elif defined(BY_NAME)
static void *called(void) {
    return dlsym(RTLD_DEFAULT, "cuInit");
}

int library_answer(void) {
    int (*function)(unsigned int) = NULL;
    *(void **)&function = called();
    return function != NULL ? function(0) : -1;
}
#else
static void *called(void) {
    CUresult (*volatile function)(unsigned int) = cuInit;
    return (void *)function;
}

int library_answer(void) {
    return (int)cuInit(0);
}

int library_count(int *count) {
    return (int)cudaGetDeviceCount(count);
}
#endif

/* The file whose function it calls. */
const char *library_serves(void) {
    Dl_info found;
    return called() != NULL && dladdr(called(), &found) ? found.dli_fname : "nobody";
}
