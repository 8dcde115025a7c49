// Kernel launches: checks and enqueueing.
#pragma once

#include "engine/work.hpp"
#include "kernel/module.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

struct CUstream_st;

namespace sim {

// Launch attributes, some of which older headers lack.
enum : int {
    launch_ignore = 0,
    launch_access_policy = 1,
    launch_cooperative = 2,
    launch_synchronization_policy = 3,
    launch_cluster = 4,
    launch_cluster_policy = 5,
    launch_programmatic_serialization = 6,
    launch_programmatic_event = 7,
    launch_priority = 8,
    launch_sync_domain_map = 9,
    launch_sync_domain = 10,
    launch_preferred_cluster = 11,
    launch_completion_event = 12,
    launch_device_updatable = 13,
    launch_carveout = 14,
    launch_nvlink_scheduling = 16,
    launch_portable_cluster_mode = 17, // the last one
};

// The parameters of a launch.
struct KernelLaunch {
    Object *function = nullptr; // CUfunc_st or CUkern_st
    unsigned int grid[3] = {}, block[3] = {}, shared_bytes = 0;
    std::vector<std::vector<std::byte>> arguments; // copies
    std::vector<CUlaunchAttribute> attributes;
};

// The code, device and settings of a launch.
struct LaunchTarget {
    const ImageKernel &code;
    const FunctionSettings &settings;
    CUdevice device;
    int cache_config = 0; // of the context
};

// The number of blocks that one multiprocessor can hold at the same time, limited by threads,
// registers and shared memory. block_size: threads, at least 1.
int active_blocks(const LaunchTarget &target, unsigned int block_size, std::size_t dynamic_shared);

// launch_checks.cpp. Fails for a launch that the device or the kernel does not support.
void check_launch(const LaunchTarget &target, const KernelLaunch &launch);
// Parts of it, for queries about launches.
void check_grid(const KernelLaunch &launch, CUdevice device);
void check_attributes(const KernelLaunch &launch);
// Returns the number of blocks of a cluster; 0 without clusters.
std::uint64_t check_clusters(const LaunchTarget &target, const KernelLaunch &launch);
void check_block(const unsigned int (&block)[3], CUdevice device);
const CUlaunchAttribute *find_attribute(const KernelLaunch &launch, int id) noexcept;

// Copies the arguments from an array of pointers or from a packed buffer.
KernelLaunch kernel_launch(void *function, const unsigned int (&grid)[3],
                           const unsigned int (&block)[3], unsigned int shared_bytes,
                           void **parameters, void **extra);
// Checks limits, attributes and arguments. Work::parameters: KernelLaunch.
Work kernel_work(KernelLaunch launch, const char *what);

// Enqueues the kernel and the events that its attributes name.
void launch_into(CUstream_st &stream, KernelLaunch launch, const char *what);
// The work of the kernel alone, checked against the function in the stream's context.
Work launch_work(CUstream_st &stream, KernelLaunch launch, const char *what);

} // namespace sim
