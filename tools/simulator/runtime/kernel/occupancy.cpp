// Occupancy.
#include "runtime/base/driver_api.hpp"
#include "runtime/kernel/launch_configuration.hpp"
#include "runtime/kernel/symbol.hpp"

namespace sim::runtime {

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func,
                                                          int blockSize, size_t dynamicSMemSize) {
    return CU(cuOccupancyMaxActiveBlocksPerMultiprocessor)(numBlocks, function_of(func), blockSize,
                                                           dynamicSMemSize);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, const void *func,
                                                                   int blockSize,
                                                                   size_t dynamicSMemSize,
                                                                   unsigned int flags) {
    return CU(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(
        numBlocks, function_of(func), blockSize, dynamicSMemSize, flags);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, const void *func,
                                                      int numBlocks, int blockSize) {
    return CU(cuOccupancyAvailableDynamicSMemPerBlock)(dynamicSmemSize, function_of(func),
                                                       numBlocks, blockSize);
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
                                                 const cudaLaunchConfig_t *launchConfig) {
    const CUlaunchConfig launch = launch_configuration(launchConfig);
    return CU(cuOccupancyMaxPotentialClusterSize)(clusterSize, function_of(func), &launch);
}

cudaError_t cudaOccupancyMaxActiveClusters(int *numClusters, const void *func,
                                           const cudaLaunchConfig_t *launchConfig) {
    const CUlaunchConfig launch = launch_configuration(launchConfig);
    return CU(cuOccupancyMaxActiveClusters)(numClusters, function_of(func), &launch);
}

} // namespace sim::runtime
