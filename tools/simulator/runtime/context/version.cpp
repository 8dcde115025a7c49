// Versions of the driver and of this runtime.
#include "runtime/base/driver_api.hpp"

namespace sim::runtime {

// Also succeeds without a driver, with version 0.
cudaError_t cudaDriverGetVersion(int *version) {
    require(version != nullptr, "driverVersion cannot be NULL");
    *version = driver_version();
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
#if CUDART_VERSION < 12000
    demand(ready()); // CUDA 11 fails if the runtime cannot work
#endif
    require(version != nullptr, "runtimeVersion cannot be NULL");
    *version = CUDART_VERSION;
    return cudaSuccess;
}

} // namespace sim::runtime
