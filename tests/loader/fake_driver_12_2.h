/* Common parts of the fake drivers of CUDA 12.2: cuInit and the version. */
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#define CALL __stdcall
#else
#define EXPORT __attribute__((visibility("default")))
#define CALL
#endif

EXPORT int CALL cuInit(unsigned int flags) {
    return (int)flags;
}

EXPORT int CALL cuDriverGetVersion(int *version) {
    *version = 12020;
    return 0;
}
