/* A shared library that calls CUDA and knows nothing of cushim. With RUNTIME: only the runtime API.
 * With BY_NAME: the function that dlsym finds in the process. */
#define _GNU_SOURCE
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <dlfcn.h>

#if defined(RUNTIME)
static void *called(void) {
    cudaError_t (*volatile function)(int *) = cudaRuntimeGetVersion;
    return (void *)function;
}

/* The major version of the runtime; -1 if the call fails. */
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
    return called() != NULL && dladdr(called(), &found) ? found.dli_fname : "no file";
}
