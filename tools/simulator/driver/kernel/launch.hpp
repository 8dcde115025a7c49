// Launches of kernels: what is checked of one, and how it is given to a stream.
#pragma once

#include "engine/node_work.hpp"
#include "kernel/module.hpp"

struct CUstream_st;

namespace sim {

// Attributes of a launch, some of which older headers lack.
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

// What a launch runs, and where.
struct LaunchTarget {
    const ImageKernel &code;
    const FunctionSettings &settings;
    CUdevice device;
};

// launch_checks.cpp. Refuses a launch that the device or the kernel does not allow.
void check_launch(const LaunchTarget &target, const KernelLaunch &launch);
const CUlaunchAttribute *find_attribute(const KernelLaunch &launch, int id) noexcept;

// Launches into a stream: the kernel, and the events that its attributes name.
void launch_into(CUstream_st &stream, KernelLaunch launch, const char *what);
// The work of it alone, checked against the function in the stream's context.
Work launch_work(CUstream_st &stream, KernelLaunch launch, const char *what);

} // namespace sim
