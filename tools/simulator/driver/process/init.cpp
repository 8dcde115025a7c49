// cuInit and the driver's version.
#include "base/refusal.hpp"
#include "call/lifecycle.hpp"
#include "call/settings.hpp"
#include "driver_functions.hpp"
#include "process/initialise.hpp"

namespace sim::driver {

EXPORT ANY_TIME CUresult cuInit(unsigned int Flags) {
    require(Flags == 0);
    initialise();
    return CUDA_SUCCESS;
}

// Permitted before cuInit and in a child of fork; fails once the process exits.
EXPORT ANY_TIME CUresult cuDriverGetVersion(OUT int *driverVersion) {
    require(process_state() != CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED);
    require(driverVersion != nullptr);
    *driverVersion = driver_version();
    return CUDA_SUCCESS;
}

} // namespace sim::driver
