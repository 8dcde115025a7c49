// Calls that concern the whole process: versions, errors, the profiler, driver functions by name.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/base/error_texts.hpp"
#include "runtime/base/last_error.hpp"

// Declared here, since the header that declares them is missing from some header packages.
extern "C" {
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);
}

namespace sim::runtime {
namespace {

constexpr const char *unknown_code = "unrecognized error code";

unsigned long long flags_of(unsigned long long flags) {
    if (flags == cudaEnableDefault && Call::current().per_thread_stream()) {
        return cudaEnablePerThreadDefaultStream;
    }
    return flags;
}

} // namespace

// Also succeeds without a driver, with version 0.
EXPORT ANY_TIME cudaError_t cudaDriverGetVersion(OUT int *version) {
    require(version != nullptr, "driverVersion cannot be NULL");
    *version = driver_version();
    return cudaSuccess;
}

EXPORT ANY_TIME cudaError_t cudaRuntimeGetVersion(OUT int *version) {
#if CUDART_VERSION < 12000
    demand(ready()); // CUDA 11 fails if the runtime cannot work
#endif
    require(version != nullptr, "runtimeVersion cannot be NULL");
    *version = CUDART_VERSION;
    return cudaSuccess;
}

EXPORT ANY_TIME const char *cudaGetErrorName(cudaError_t error) {
    const char *name = error_name(static_cast<int>(error));
    return name ? name : unknown_code;
}

EXPORT ANY_TIME const char *cudaGetErrorString(cudaError_t error) {
    const char *text =
        error_name(static_cast<int>(error)) ? error_text(static_cast<int>(error)) : nullptr;
    return text ? text : unknown_code;
}

// If the runtime cannot work, returns the reason, even in a thread that has called nothing yet.
EXPORT cudaError_t cudaGetLastError() {
    Call::current().keeps_last_error = true;
    const cudaError_t status = last_error();
    clear_last_error();
    return status;
}

EXPORT cudaError_t cudaPeekAtLastError() {
    Call::current().keeps_last_error = true;
    return last_error();
}

EXPORT cudaError_t cudaProfilerStart() {
    return CU(cuProfilerStart)();
}

// Recorded: does nothing in a child of fork.
EXPORT cudaError_t cudaProfilerStop() {
    return in_forked_child() ? cudaSuccess : CU(cuProfilerStop)();
}

#if CUDART_VERSION >= 12000
EXPORT cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr,
                                           unsigned long long flags,
                                           cudaDriverEntryPointQueryResult *driverStatus) {
    return CU_ANY(cuGetProcAddress_v2)(symbol, funcPtr, CUDART_VERSION, flags_of(flags),
                                       same_memory<CUdriverProcAddressQueryResult>(driverStatus));
}
#else
EXPORT cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr,
                                           unsigned long long flags) {
    return CU_ANY(cuGetProcAddress)(symbol, funcPtr, CUDART_VERSION, flags_of(flags));
}
#endif

#if CUDART_VERSION >= 12050
EXPORT cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr,
                                                    unsigned int cudaVersion,
                                                    unsigned long long flags,
                                                    cudaDriverEntryPointQueryResult *driverStatus) {
    return CU_ANY(cuGetProcAddress_v2)(symbol, funcPtr, static_cast<int>(cudaVersion),
                                       flags_of(flags),
                                       same_memory<CUdriverProcAddressQueryResult>(driverStatus));
}
#endif

} // namespace sim::runtime
