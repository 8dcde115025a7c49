/* The library that every benchmark calls: the parts of a CUDA driver and runtime that the loader
 * needs, and functions that do nothing. */
#define EXPORT __attribute__((visibility("default")))

EXPORT int cuInit(unsigned int flags) {
    return (int)flags;
}

EXPORT int cuDriverGetVersion(int *version) {
    *version = BENCH_CUDA_VERSION;
    return 0;
}

EXPORT int cudaRuntimeGetVersion(int *version) {
    *version = BENCH_CUDA_VERSION;
    return 0;
}

EXPORT int cudaDeviceSynchronize(void) {
    return 0;
}
