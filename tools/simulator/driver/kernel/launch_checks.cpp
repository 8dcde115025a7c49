// Checks of a launch: sizes, shared memory, cooperative launches, clusters, other attributes.
#include "call/settings.hpp"
#include "engine/context.hpp"
#include "engine/stream.hpp"
#include "kernel/launch.hpp"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>

namespace sim {
namespace {

constexpr auto invalid_cluster_size = static_cast<CUresult>(912);
constexpr unsigned int portable_cluster = 8, largest_cluster = 16; // blocks

std::uint64_t product(const unsigned int (&dimensions)[3]) {
    return std::uint64_t(dimensions[0]) * dimensions[1] * dimensions[2];
}

// Limits of a device for grids and blocks.
struct Limits {
    int grid[3], block[3], threads;
};

Limits read_limits(CUdevice device) {
    return {{attribute_or(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647),
             attribute_or(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535),
             attribute_or(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535)},
            {attribute_or(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024),
             attribute_or(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024),
             attribute_or(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64)},
            attribute_or(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024)};
}

// Needed at every launch. Without attribute settings, they depend on the driver version only, equal
// on all devices.
Limits limits_of(CUdevice device) {
    static struct {
        int version = 0;
        Limits limits{};
    } known;
    if (settings().machine.sets_attributes()) {
        return read_limits(device);
    }
    if (known.version != driver_version()) {
        known = {driver_version(), read_limits(device)};
    }
    return known.limits;
}

void check_grid(const unsigned int (&sizes)[3], const int (&most)[3]) {
    for (int i = 0; i < 3; ++i) {
        if (sizes[i] == 0) {
            refuse(CUDA_ERROR_INVALID_VALUE, "Grid Dimension %c must be nonzero", "XYZ"[i]);
        }
        if (sizes[i] > static_cast<unsigned int>(most[i])) {
            refuse(CUDA_ERROR_INVALID_VALUE, "Grid Dimension %c of %u exceeds maximum value of %d",
                   "XYZ"[i], sizes[i], most[i]);
        }
    }
}

void check_block(const unsigned int (&sizes)[3], const int (&most)[3]) {
    for (int i = 0; i < 3; ++i) {
        if (sizes[i] == 0) {
            refuse(CUDA_ERROR_INVALID_VALUE,
                   "Block dimensions (%u,%u,%u) include one or more zero values. All dimensions "
                   "must be nonzero",
                   sizes[0], sizes[1], sizes[2]);
        }
        if (sizes[i] > static_cast<unsigned int>(most[i])) {
            refuse(CUDA_ERROR_INVALID_VALUE,
                   "One or more of block dimensions of (%u,%u,%u) exceeds correspsonding maximum "
                   "value of (%d,%d,%d)",
                   sizes[0], sizes[1], sizes[2], most[0], most[1], most[2]);
        }
    }
}

void check_threads(std::uint64_t threads, int most, const char *limit) {
    if (threads > static_cast<std::uint64_t>(most)) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Requested block size of %llu threads exceeds %s %d",
               static_cast<unsigned long long>(threads), limit, most);
    }
}

void check_sizes(const LaunchTarget &target, const KernelLaunch &launch) {
    const Limits limits = limits_of(target.device);
    check_grid(launch.grid, limits.grid);
    check_block(launch.block, limits.block);
    const std::uint64_t threads = product(launch.block);
    check_threads(threads, limits.threads, "device maximum");
    check_threads(threads, target.code.max_threads, "maximum set at compilation of");
    // After the other checks, only registers can limit the block.
    require(threads <= static_cast<std::uint64_t>(max_threads_of(target.code, target.device)),
            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
}

void check_shared(const LaunchTarget &target, const KernelLaunch &launch) {
    const int most = max_dynamic_shared_of(target.code, target.settings, target.device);
    if (launch.shared_bytes > static_cast<unsigned int>(most)) {
        refuse(CUDA_ERROR_INVALID_VALUE,
               "Requested dynamic shared memory size of %u bytes exceeds maximum dynamic shared "
               "memory size of %d bytes",
               launch.shared_bytes, most);
    }
}

void check_cooperative(const LaunchTarget &target, const KernelLaunch &launch) {
    require(attribute_or(target.device, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0) != 0,
            CUDA_ERROR_NOT_SUPPORTED);
    const int per_multiprocessor = active_blocks(
        target, static_cast<unsigned int>(product(launch.block)), launch.shared_bytes);
    const int multiprocessors =
        attribute_or(target.device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1);
    const std::uint64_t most = static_cast<std::uint64_t>(per_multiprocessor) *
                               static_cast<std::uint64_t>(multiprocessors);
    if (product(launch.grid) > most) {
        refuse(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
               "Requested cooperative grid dimensions (%u,%u,%u) exceed occupancy limit for this "
               "kernel on this device of %llu blocks",
               launch.grid[0], launch.grid[1], launch.grid[2],
               static_cast<unsigned long long>(most));
    }
}

void check_cluster(const LaunchTarget &target, const KernelLaunch &launch,
                   const unsigned int (&cluster)[3]) {
    constexpr int cluster_launch = 120; // CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH
    require(attribute_or(target.device, cluster_launch, 0) != 0, CUDA_ERROR_NOT_SUPPORTED);
    for (int i = 0; i < 3; ++i) {
        if (cluster[i] == 0) {
            refuse(invalid_cluster_size,
                   "Cluster dimensions must all be zero or must all be > 0: (%u,%u,%u)", cluster[0],
                   cluster[1], cluster[2]);
        }
    }
    const std::uint64_t blocks = product(cluster);
    require(static_cast<unsigned int>(blocks) != 0, invalid_cluster_size); // its product overflows
    for (int i = 0; i < 3; ++i) {
        if (launch.grid[i] % cluster[i] != 0) {
            refuse(invalid_cluster_size,
                   "Cluster dimensions of (%u,%u,%u) blocks does not evenly divide Grid dimensions "
                   "of (%u,%u,%u)",
                   cluster[0], cluster[1], cluster[2], launch.grid[0], launch.grid[1],
                   launch.grid[2]);
        }
    }
    if (target.code.most_cluster != 0 && blocks > target.code.most_cluster) {
        refuse(invalid_cluster_size,
               "Requested cluster size of %llu blocks is greater than function's maximum of %u",
               static_cast<unsigned long long>(blocks), target.code.most_cluster);
    }
    if (blocks > portable_cluster && !target.settings.non_portable_cluster) {
        refuse(invalid_cluster_size,
               "Requested cluster size of %llu blocks exceeds portable size %u and non-portable "
               "sizes are not enabled on the function",
               static_cast<unsigned long long>(blocks), portable_cluster);
    }
}

// The dimensions that the kernel requires; zeros: none.
void read_required_cluster(const LaunchTarget &target, unsigned int (&cluster)[3]) {
    for (int i = 0; i < 3; ++i) {
        cluster[i] = target.code.cluster[i] ? target.code.cluster[i]
                                            : static_cast<unsigned int>(target.settings.cluster[i]);
    }
}

bool is_set(const unsigned int (&cluster)[3]) {
    return cluster[0] != 0 || cluster[1] != 0 || cluster[2] != 0;
}

// If there are several, the last one counts.
void read_given_cluster(const KernelLaunch &launch, unsigned int (&cluster)[3]) {
    for (const CUlaunchAttribute &attribute : launch.attributes) {
        if (static_cast<int>(attribute.id) == launch_cluster) {
            const auto &dimensions = attribute.value.clusterDim;
            cluster[0] = dimensions.x;
            cluster[1] = dimensions.y;
            cluster[2] = dimensions.z;
        }
    }
}

void check_preferred_cluster(const KernelLaunch &launch, const unsigned int (&given)[3]) {
    const CUlaunchAttribute *preferred = find_attribute(launch, launch_preferred_cluster);
    if (preferred == nullptr) {
        return;
    }
    // The union members in older headers have the same layout.
    const auto &dimensions = preferred->value.clusterDim;
    const unsigned int cluster[3] = {dimensions.x, dimensions.y, dimensions.z};
    const unsigned int(&unit)[3] = is_set(given) ? given : cluster;
    for (int i = 0; i < 3; ++i) {
        require(cluster[i] != 0 && unit[i] != 0 && cluster[i] % unit[i] == 0 &&
                launch.grid[i] % cluster[i] == 0);
    }
}

void check_event(CUevent handle) {
    const Event &event = checked(handle);
    require((event.flags & CU_EVENT_DISABLE_TIMING) != 0 &&
            (event.flags & CU_EVENT_INTERPROCESS) == 0);
}

void check_attribute(const CUlaunchAttribute &attribute, std::size_t index) {
    const CUlaunchAttributeValue &value = attribute.value;
    switch (static_cast<int>(attribute.id)) {
    case launch_access_policy:
        require(value.accessPolicyWindow.hitRatio >= 0 && value.accessPolicyWindow.hitRatio <= 1);
        break;
    case launch_synchronization_policy:
        require(value.syncPolicy >= CU_SYNC_POLICY_AUTO &&
                value.syncPolicy <= CU_SYNC_POLICY_BLOCKING_SYNC);
        break;
    case launch_cluster_policy:
        if (const int policy = static_cast<int>(value.clusterSchedulingPolicyPreference);
            policy < 0 || policy > 2) {
            refuse(CUDA_ERROR_INVALID_VALUE, "Invalid cluster scheduling policy (%d)", policy);
        }
        break;
    case launch_programmatic_event:
    case launch_completion_event:
        check_event(value.programmaticEvent.event);
#if CUDA_VERSION >= 12000
        require((value.programmaticEvent.flags & CU_EVENT_RECORD_EXTERNAL) == 0);
#endif
        break;
    case launch_sync_domain:
        require(value.cooperative == 0 || value.cooperative == 1);
        break;
    case launch_device_updatable:
        require(value.cooperative == 0 || value.cooperative == 1);
        break;
    case launch_carveout:
        require(value.cooperative >= -1 && value.cooperative <= 100);
        break;
    default:
        if (static_cast<int>(attribute.id) < 0 ||
            static_cast<int>(attribute.id) > launch_portable_cluster_mode) {
            refuse(CUDA_ERROR_INVALID_VALUE,
                   "Kernel launch configuration attribute %d at index %zu is invalid",
                   static_cast<int>(attribute.id), index);
        }
        break;
    }
}

} // namespace

void check_grid(const KernelLaunch &launch, CUdevice device) {
    check_grid(launch.grid, limits_of(device).grid);
}

void check_attributes(const KernelLaunch &launch) {
    for (std::size_t i = 0; i < launch.attributes.size(); ++i) {
        check_attribute(launch.attributes[i], i);
    }
}

std::uint64_t check_clusters(const LaunchTarget &target, const KernelLaunch &launch) {
    unsigned int required[3] = {}, given[3] = {};
    read_required_cluster(target, required);
    read_given_cluster(launch, given);
    if (is_set(given) && is_set(required) && !std::equal(given, given + 3, required)) {
        refuse(invalid_cluster_size,
               "Requested cluster dimensions of (%u,%u,%u) blocks does not match the required "
               "value of (%u,%u,%u) for function %s",
               given[0], given[1], given[2], required[0], required[1], required[2],
               target.code.name.c_str());
    }
    const unsigned int(&cluster)[3] = is_set(given) ? given : required;
    if (is_set(cluster)) {
        check_cluster(target, launch, cluster);
    } else {
        require(!target.code.cluster_must_be_set, invalid_cluster_size,
                "Kernel has specified that cluster size must be set, but no cluster size has been "
                "provided.");
    }
    check_preferred_cluster(launch, given);
    return is_set(cluster) ? product(cluster) : 0;
}

void check_block(const unsigned int (&block)[3], CUdevice device) {
    check_block(block, limits_of(device).block);
}

const CUlaunchAttribute *find_attribute(const KernelLaunch &launch, int id) noexcept {
    const auto found =
        std::find_if(launch.attributes.begin(), launch.attributes.end(),
                     [&](const CUlaunchAttribute &a) { return static_cast<int>(a.id) == id; });
    return found == launch.attributes.end() ? nullptr : &*found;
}

void check_launch(const LaunchTarget &target, const KernelLaunch &launch) {
    check_sizes(target, launch);
    check_attributes(launch);
    const CUlaunchAttribute *cooperative = find_attribute(launch, launch_cooperative);
    // Recorded: with too much shared memory no block fits, but above INT_MAX bytes are refused.
    if (cooperative != nullptr && cooperative->value.cooperative != 0 &&
        launch.shared_bytes <= static_cast<unsigned int>(INT_MAX)) {
        check_cooperative(target, launch);
    }
    check_shared(target, launch);
    require(check_clusters(target, launch) <= largest_cluster, invalid_cluster_size);
}

} // namespace sim
