/* A libcudart that remembers, as NVIDIA's does, whether its first call found a driver. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

enum { insufficient_driver = 35 };

static int status_of_driver = -1; /* not asked */

static int ask_driver(void) {
    if (status_of_driver == -1) {
        void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        status_of_driver = driver != NULL ? 0 : insufficient_driver;
    }
    return status_of_driver;
}

EXPORT const char *cudaGetErrorName(int error) {
    (void)error, ask_driver();
    return "a name of the library";
}

EXPORT const char *cudaGetErrorString(int error) {
    (void)error, ask_driver();
    return "a text of the library";
}

EXPORT int cudaGetLastError(void) {
    return ask_driver();
}

EXPORT int cudaPeekAtLastError(void) {
    return ask_driver();
}

EXPORT int cudaDriverGetVersion(int *version) {
    *version = 0;
    ask_driver();
    return 0;
}

/* Up to CUDA 11, this also asks the driver. */
EXPORT int cudaRuntimeGetVersion(int *version) {
    *version = HEADERS_VERSION;
    return HEADERS_VERSION < 12000 ? ask_driver() : 0;
}

EXPORT int cudaGetDeviceCount(int *count) {
    *count = 0;
    return ask_driver();
}

EXPORT int cudaSetDevice(int device) {
    (void)device;
    return ask_driver();
}
