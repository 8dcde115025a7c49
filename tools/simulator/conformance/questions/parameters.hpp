// Parameters of copies and of graph nodes that many questions use.
#pragma once

#include "../record.hpp"

namespace record {

// A copy by CUDA_MEMCPY2D, CUDA_MEMCPY3D or CUDA_MEMCPY3D_PEER. Without a pitch, it is one row.
template <class Copy>
Copy copy_of(CUdeviceptr to, CUdeviceptr from, std::size_t width, std::size_t pitch = 0,
             std::size_t height = 1, std::size_t depth = 1) {
    Copy copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from;
    copy.dstDevice = to;
    copy.srcPitch = copy.dstPitch = pitch;
    copy.WidthInBytes = width;
    copy.Height = height;
    if constexpr (requires { copy.Depth; }) {
        copy.srcHeight = copy.dstHeight = pitch != 0 ? height : 0;
        copy.Depth = depth;
    }
    return copy;
}

inline CUDA_MEMSET_NODE_PARAMS fill_of(CUdeviceptr p, unsigned int value, unsigned int element,
                                       std::size_t width) {
    return {.dst = p, .value = value, .elementSize = element, .width = width, .height = 1};
}

// One block of these threads: CUDA_KERNEL_NODE_PARAMS, CUlaunchConfig or CUDA_LAUNCH_PARAMS.
template <class Launch = CUDA_KERNEL_NODE_PARAMS>
Launch launch_of(unsigned int threads) {
    Launch launch{};
    launch.gridDimX = launch.gridDimY = launch.gridDimZ = 1;
    launch.blockDimX = threads;
    launch.blockDimY = launch.blockDimZ = 1;
    return launch;
}
inline CUDA_KERNEL_NODE_PARAMS launch_of(CUfunction function, unsigned int threads) {
    auto launch = launch_of(threads);
    launch.func = function;
    return launch;
}
inline CUDA_KERNEL_NODE_PARAMS launch_of(CUkernel kernel, CUcontext context) {
    auto launch = launch_of(1);
    launch.kern = kernel;
    launch.ctx = context;
    return launch;
}

} // namespace record
