// A driver and a runtime in one library, whose results come from the environment. Only for the
// tests of cushim-info: without CUDA headers, and with only the calls that the tool makes.
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#ifdef _WIN32
#define EXPORT extern "C" __declspec(dllexport)
#else
#define EXPORT extern "C" __attribute__((visibility("default")))
#endif

namespace {
int number(const char *variable, int otherwise) {
    const char *text = std::getenv(variable);
    return text != nullptr ? std::atoi(text) : otherwise;
}
} // namespace

EXPORT int cuDriverGetVersion(int *version) {
    *version = number("FAKE_DRIVER_VERSION", HEADERS_VERSION);
    return number("FAKE_VERSION_STATUS", 0);
}

EXPORT int cudaRuntimeGetVersion(int *version) {
    *version = HEADERS_VERSION;
    return 0;
}

EXPORT int cuInit(unsigned int flags) {
    return flags == 0 ? number("FAKE_INIT", 0) : 1;
}

EXPORT int cuDeviceGetCount(int *count) {
    *count = number("FAKE_COUNT", 0);
    return number("FAKE_COUNT_STATUS", 0);
}

EXPORT int cuDeviceGet(int *device, int ordinal) {
    *device = 7 + ordinal; // differs from the ordinal, so that the test notices a mix-up
    return 0;
}

EXPORT int cuDeviceGetName(char *name, int size, int device) {
    const char *text = std::getenv("FAKE_NAME");
    std::snprintf(name, static_cast<std::size_t>(size), "%s %d",
                  text != nullptr ? text : "Fake GPU", device);
    return 0;
}

EXPORT int cuDeviceTotalMem_v2(std::size_t *bytes, int device) {
    *bytes = std::size_t{85899345920u} + static_cast<std::size_t>(device); // 80 GiB
    return number("FAKE_MEMORY_STATUS", 0);
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int) {
    // The compute capability, 9.1, and the compute mode.
    *value = attribute == 75 ? 9 : attribute == 76 ? 1 : number("FAKE_COMPUTE_MODE", 0);
    return attribute == 75 || attribute == 76 || attribute == 20 ? 0 : 1;
}

EXPORT int cuGetErrorName(int status, const char **name) {
    *name = status == 100 ? "CUDA_ERROR_NO_DEVICE" : "FAKE_ERROR";
    return 0;
}

EXPORT int cuGetErrorString(int, const char **text) {
    *text = "says the fake driver";
    return 0;
}
