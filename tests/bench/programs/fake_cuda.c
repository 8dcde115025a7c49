/* The library that every benchmark calls: as little of a CUDA driver and runtime as the loader asks
 * for, and functions that do nothing. */
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
