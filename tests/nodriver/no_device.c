/* A driver on a machine without a GPU, as far as hello_gpu asks it: it is installed, and says
 * 100. */
#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

EXPORT int cuDriverGetVersion(int *version) {
    *version = HEADERS_VERSION;
    return 0;
}

EXPORT int cuInit(unsigned int flags) {
    return flags == 0 ? 100 : 1;
}
