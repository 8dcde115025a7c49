// Short forms of kernel launches for tests.
#pragma once

#include "images.hpp"

namespace sim_test {

inline int count_runs(const cushim_sim_launch *, void *runs) {
    ++*static_cast<int *>(runs);
    return 0;
}

// One thread by default.
inline CUresult launch(CUfunction function, std::array<unsigned int, 3> grid = {1, 1, 1},
                       std::array<unsigned int, 3> block = {1, 1, 1}, unsigned int shared = 0,
                       CUstream stream = nullptr, void **parameters = nullptr,
                       void **extra = nullptr) {
    return driver().cuLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1],
                                   block[2], shared, stream, parameters, extra);
}

// A grid with blocks of one dimension.
inline CUlaunchConfig launch_config(std::array<unsigned int, 3> grid = {1, 1, 1},
                                    unsigned int threads = 1) {
    CUlaunchConfig config{};
    config.gridDimX = grid[0];
    config.gridDimY = grid[1];
    config.gridDimZ = grid[2];
    config.blockDimX = threads;
    config.blockDimY = config.blockDimZ = 1;
    return config;
}

inline CUresult launch_with(CUfunction function, std::vector<CUlaunchAttribute> attributes,
                            std::array<unsigned int, 3> grid = {1, 1, 1},
                            CUstream stream = nullptr) {
    CUlaunchConfig config = launch_config(grid);
    config.hStream = stream;
    config.attrs = attributes.data();
    config.numAttrs = static_cast<unsigned int>(attributes.size());
    return driver().cuLaunchKernelEx(&config, function, nullptr, nullptr);
}

inline CUlaunchAttribute attribute(int id) {
    CUlaunchAttribute attribute{};
    attribute.id = static_cast<CUlaunchAttributeID>(id);
    return attribute;
}

// Launches a kernel with one parameter.
inline CUresult launch_with_pointer(CUfunction function, CUdeviceptr address,
                                    CUstream stream = nullptr) {
    void *parameters[] = {&address};
    return launch(function, {1, 1, 1}, {1, 1, 1}, 0, stream, parameters);
}

// A host function that stores whether it can view the memory of its pointer argument.
inline int note_view(const cushim_sim_launch *launch, void *seen) {
    *static_cast<bool *>(seen) =
        sim_control().view(argument<CUdeviceptr>(*launch, 0), 16) != nullptr;
    return 0;
}

} // namespace sim_test
