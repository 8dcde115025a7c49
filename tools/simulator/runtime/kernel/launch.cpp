// Kernel launches.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/base/registration.hpp"
#include "runtime/kernel/launch_configuration.hpp"
#include "runtime/kernel/symbol.hpp"

#include <vector>

namespace sim::runtime {
namespace {

bool within(const dim3 &size, const CUdevice_attribute (&limits)[3], int device) {
    const unsigned int sizes[3] = {size.x, size.y, size.z};
    for (int dimension = 0; dimension < 3; ++dimension) {
        int limit = 0;
        if (CU_ANY(cuDeviceGetAttribute)(&limit, limits[dimension], device) != cudaSuccess ||
            sizes[dimension] == 0 || sizes[dimension] > static_cast<unsigned int>(limit)) {
            return false;
        }
    }
    return true;
}

bool possible(const dim3 &grid, const dim3 &block) {
    constexpr CUdevice_attribute of_grid[] = {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
                                              CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                                              CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z};
    constexpr CUdevice_attribute of_block[] = {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,
                                               CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
                                               CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z};
    const int device = current_device();
    int threads = 0;
    return within(grid, of_grid, device) && within(block, of_block, device) &&
           CU_ANY(cuDeviceGetAttribute)(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                        device) == cudaSuccess &&
           static_cast<unsigned long long>(block.x) * block.y * block.z <=
               static_cast<unsigned long long>(threads);
}

// The driver has one status for all invalid launches. For a registered function, the runtime
// returns a separate one for an invalid shape. Recorded: for a kernel handle, it returns the
// driver's.
cudaError_t explained(cudaError_t status, const void *function, const dim3 &grid,
                      const dim3 &block) {
    return status == cudaErrorInvalidValue && is_registered_function(function) &&
                   !possible(grid, block)
               ? cudaErrorInvalidConfiguration
               : status;
}

unsigned int shared_size(size_t bytes) {
    require(bytes <= ~0u);
    return static_cast<unsigned int>(bytes);
}

} // namespace

CUlaunchConfig launch_configuration(const cudaLaunchConfig_t *config) {
    require(config != nullptr);
    CUlaunchConfig launch{};
    launch.gridDimX = config->gridDim.x;
    launch.gridDimY = config->gridDim.y;
    launch.gridDimZ = config->gridDim.z;
    launch.blockDimX = config->blockDim.x;
    launch.blockDimY = config->blockDim.y;
    launch.blockDimZ = config->blockDim.z;
    launch.sharedMemBytes = shared_size(config->dynamicSmemBytes);
    launch.hStream = stream_of(config->stream);
    launch.attrs = same_memory<CUlaunchAttribute>(config->attrs);
    launch.numAttrs = config->numAttrs;
    return launch;
}

EXPORT cudaError_t cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                                    size_t sharedMem, cudaStream_t stream) {
    const CUfunction function = launched(func);
    return explained(CU(cuLaunchKernel)(function, gridDim.x, gridDim.y, gridDim.z, blockDim.x,
                                        blockDim.y, blockDim.z, shared_size(sharedMem),
                                        stream_of(stream), args, nullptr),
                     func, gridDim, blockDim);
}

EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func,
                                       void **args) {
    const CUlaunchConfig launch = launch_configuration(config);
    const CUfunction function = launched(func);
    return explained(CU(cuLaunchKernelEx)(&launch, function, args, nullptr), func, config->gridDim,
                     config->blockDim);
}

EXPORT cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim,
                                               void **args, size_t sharedMem, cudaStream_t stream) {
    const CUfunction function = launched(func);
    return explained(CU(cuLaunchCooperativeKernel)(function, gridDim.x, gridDim.y, gridDim.z,
                                                   blockDim.x, blockDim.y, blockDim.z,
                                                   shared_size(sharedMem), stream_of(stream), args),
                     func, gridDim, blockDim);
}

#if CUDART_VERSION < 13000
EXPORT cudaError_t cudaLaunchCooperativeKernelMultiDevice(cudaLaunchParams *launchParamsList,
                                                          unsigned int numDevices,
                                                          unsigned int flags) {
    require(launchParamsList != nullptr && numDevices != 0);
    need_context();
    std::vector<CUDA_LAUNCH_PARAMS> launches;
    for (unsigned int index = 0; index < numDevices; ++index) {
        const cudaLaunchParams &given = launchParamsList[index];
        CUDA_LAUNCH_PARAMS launch{};
        launch.function = function_of(given.func);
        launch.gridDimX = given.gridDim.x;
        launch.gridDimY = given.gridDim.y;
        launch.gridDimZ = given.gridDim.z;
        launch.blockDimX = given.blockDim.x;
        launch.blockDimY = given.blockDim.y;
        launch.blockDimZ = given.blockDim.z;
        launch.sharedMemBytes = shared_size(given.sharedMem);
        launch.hStream = given.stream;
        launch.kernelParams = given.args;
        launches.push_back(launch);
    }
    return CU(cuLaunchCooperativeKernelMultiDevice)(launches.data(), numDevices, flags);
}
#endif

} // namespace sim::runtime
