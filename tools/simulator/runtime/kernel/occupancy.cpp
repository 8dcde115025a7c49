// Occupancy.
#include "runtime/base/driver_api.hpp"
#include "runtime/kernel/launch_configuration.hpp"
#include "runtime/kernel/symbol.hpp"

namespace sim::runtime {

EXPORT cudaError_t cudaOccupancyMaxPotentialClusterSize(OUT int *clusterSize, const void *func,
                                                        const cudaLaunchConfig_t *launchConfig) {
    const CUlaunchConfig launch = launch_configuration(launchConfig);
    return CU(cuOccupancyMaxPotentialClusterSize)(clusterSize, launched(func), &launch);
}

EXPORT cudaError_t cudaOccupancyMaxActiveClusters(OUT int *numClusters, const void *func,
                                                  const cudaLaunchConfig_t *launchConfig) {
    const CUlaunchConfig launch = launch_configuration(launchConfig);
    return CU(cuOccupancyMaxActiveClusters)(numClusters, launched(func), &launch);
}

} // namespace sim::runtime
