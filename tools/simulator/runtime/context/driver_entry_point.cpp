// Driver functions by name.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"

namespace sim::runtime {
namespace {

unsigned long long flags_of(unsigned long long flags) {
    if (flags == cudaEnableDefault && Call::current().per_thread_stream()) {
        return cudaEnablePerThreadDefaultStream;
    }
    return flags;
}

} // namespace

#if CUDART_VERSION >= 12000
cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult *driverStatus) {
    return CU_ANY(cuGetProcAddress_v2)(symbol, funcPtr, CUDART_VERSION, flags_of(flags),
                                       same_memory<CUdriverProcAddressQueryResult>(driverStatus));
}
#else
cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags) {
    return CU_ANY(cuGetProcAddress)(symbol, funcPtr, CUDART_VERSION, flags_of(flags));
}
#endif

#if CUDART_VERSION >= 12050
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr,
                                             unsigned int cudaVersion, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult *driverStatus) {
    return CU_ANY(cuGetProcAddress_v2)(symbol, funcPtr, static_cast<int>(cudaVersion),
                                       flags_of(flags),
                                       same_memory<CUdriverProcAddressQueryResult>(driverStatus));
}
#endif

} // namespace sim::runtime
