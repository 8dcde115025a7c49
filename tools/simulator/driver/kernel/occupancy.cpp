// Occupancy, by the documented formula, from device limits and kernel resources.
#include "call/runtime_calls.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/stream.hpp"
#include "kernel/launch.hpp"
#include "kernel/module.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <iterator>
#include <vector>

namespace sim {
namespace {

constexpr unsigned int warp = 32, sides = 4, register_unit = 256;
constexpr std::size_t shared_unit = 128;
constexpr int load_balancing = 2; // CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING

struct Multiprocessor {
    explicit Multiprocessor(CUdevice device)
        : threads(attribute_or(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048)),
          registers(
              attribute_or(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536)),
          shared(static_cast<std::size_t>(attribute_or(
              device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 64 << 10))),
          reserved(static_cast<std::size_t>(attribute_or(device, reserved_attribute, 0))),
          blocks(attribute_or(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32)),
          count(attribute_or(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1)) {}

    static constexpr int reserved_attribute = 111; // reserved shared memory per block
    int threads, registers;
    std::size_t shared, reserved;
    int blocks, count;
};

unsigned int round_up(unsigned int value, unsigned int unit) {
    return (value + unit - 1) / unit * unit;
}
std::size_t round_up(std::size_t value, std::size_t unit) {
    return (value + unit - 1) / unit * unit;
}

int blocks_by_registers(const ImageKernel &code, const Multiprocessor &has, unsigned int warps) {
    if (code.registers == 0) {
        return has.blocks;
    }
    const unsigned int per_warp =
        round_up(static_cast<unsigned int>(code.registers) * warp, register_unit);
    const unsigned int on_each_side = static_cast<unsigned int>(has.registers) / sides / per_warp;
    return static_cast<int>(on_each_side * sides / warps);
}

// The part of a multiprocessor's memory that is shared memory rather than cache. Recorded: the
// smallest one that has the preferred percentage and room for one block.
std::size_t shared_part(const Multiprocessor &has, int percent, std::size_t needed) {
    static constexpr std::size_t parts[] = {8, 16, 32, 64, 100, 132, 164, 196}; // KiB
    const std::size_t preferred = has.shared * static_cast<std::size_t>(percent);
    for (const std::size_t part : parts) {
        const std::size_t bytes = part << 10;
        if (bytes < has.shared && bytes >= needed && bytes * 100 >= preferred) {
            return bytes;
        }
    }
    return has.shared;
}

int preferred_percentage(const FunctionSettings &settings, int cache_of_context) {
    if (settings.carveout >= 0) {
        return settings.carveout;
    }
    const int cache = settings.cache_config != 0 ? settings.cache_config : cache_of_context;
    return cache == CU_FUNC_CACHE_PREFER_L1 ? 0 : 100;
}

int blocks_by_shared(const ImageKernel &code, const Multiprocessor &has, std::size_t dynamic,
                     int percent) {
    const std::size_t needed =
        round_up(static_cast<std::size_t>(code.shared) + dynamic + has.reserved, shared_unit);
    const std::size_t part = shared_part(has, percent, needed);
    return needed == 0 ? has.blocks
                       : static_cast<int>(std::min<std::size_t>(part / needed, 1U << 16));
}

// Recorded: of any context, but a context must be current.
const Function &queried_function(CUfunction handle) {
    current_context();
    return function_of(handle);
}

LaunchTarget target_of(const Function &function) {
    return {function.code, settings_of(function), function.context->device,
            function.context->cache_config};
}

int blocks_of(const Function &function, int block_size, std::size_t dynamic) {
    require(block_size > 0);
    return active_blocks(target_of(function), static_cast<unsigned int>(block_size), dynamic);
}

struct Potential {
    int grid = 0, block = 0;
};

// The largest block with the most active threads.
Potential best_block(CUfunction handle, CUoccupancyB2DSize size_of, std::size_t dynamic,
                     int block_limit) {
    require(block_limit >= 0);
    const CUdevice device = queried_function(handle).context->device;
    const Multiprocessor has(device);
    const int most = max_threads_of(function_of(handle).code, device);
    const int limit = block_limit == 0 ? most : std::min(block_limit, most);
    Potential best;
    int best_threads = 0;
    for (int rounded = static_cast<int>(round_up(static_cast<unsigned int>(limit), warp));
         rounded > 0 && best_threads < has.threads; rounded -= static_cast<int>(warp)) {
        const int block = std::min(limit, rounded);
        std::size_t needed = dynamic;
        if (size_of != nullptr) {
            const ClientCode code;
            needed = size_of(block);
        }
        const int blocks =
            blocks_of(function_of(handle), block, needed); // the function may be unloaded meanwhile
        if (blocks * block > best_threads) {
            best_threads = blocks * block;
            best = {blocks * has.count, block};
        }
    }
    return best;
}

// The multiprocessors that run the blocks of one cluster belong to one group. Recorded: the groups
// of an H200 with 132 multiprocessors. Other devices have as many of them as they need, and then
// groups of 16.
std::vector<int> groups_of(int multiprocessors) {
    static constexpr int recorded[] = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};
    std::vector<int> groups;
    for (std::size_t i = 0; multiprocessors > 0; ++i) {
        const int size = i < std::size(recorded) ? recorded[i] : 16;
        groups.push_back(std::min(size, multiprocessors));
        multiprocessors -= size;
    }
    return groups;
}

unsigned int largest_cluster_of(const Function &function) {
    return settings_of(function).non_portable_cluster ? 16 : 8;
}

struct ClusterQuery {
    const Function &function;
    int multiprocessors, blocks; // of each multiprocessor
    bool is_block;               // of the device; the kernel may have a lower limit
    std::uint64_t cluster;       // its blocks; 0: none
    bool is_spread;              // over one group
};

constexpr int most_blocks_of_clusters = 8; // as recorded, for each multiprocessor

[[maybe_unused]] ClusterQuery cluster_query(CUfunction handle, const CUlaunchConfig *config) {
    require(handle != nullptr && config != nullptr);
    require(config->numAttrs == 0 || config->attrs != nullptr,
            "Kernel Launch Configuration numAttrs is nonzero but attrs is NULL");
    Context &context =
        config->hStream != nullptr ? *stream_of(config->hStream).context : current_context();
    const Function &function = function_in(callable(handle), context);
    KernelLaunch launch;
    launch.grid[0] = config->gridDimX;
    launch.grid[1] = config->gridDimY;
    launch.grid[2] = config->gridDimZ;
    if (config->numAttrs != 0) {
        launch.attributes.assign(config->attrs, config->attrs + config->numAttrs);
    }
    check_grid(launch, context.device);
    check_attributes(launch);
    require(config->blockDimX != 0 && config->blockDimY != 0 && config->blockDimZ != 0);
    const std::uint64_t layer = std::uint64_t(config->blockDimX) * config->blockDimY;
    require(layer <= INT_MAX && layer * config->blockDimZ <= INT_MAX);
    require(attribute_or(context.device, 120, 0) != 0, CUDA_ERROR_NOT_SUPPORTED);
    const LaunchTarget target = target_of(function);
    const CUlaunchAttribute *policy = find_attribute(launch, launch_cluster_policy);
    const int preference = policy != nullptr
                               ? static_cast<int>(policy->value.clusterSchedulingPolicyPreference)
                               : target.settings.cluster_policy;
    // A block that is too large has 0 active blocks.
    const std::uint64_t threads = layer * config->blockDimZ;
    const int blocks =
        active_blocks(target, static_cast<unsigned int>(threads), config->sharedMemBytes);
    const int most = attribute_or(context.device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024);
    return {function,
            Multiprocessor(context.device).count,
            std::min(blocks, most_blocks_of_clusters),
            threads <= static_cast<std::uint64_t>(most),
            check_clusters(target, launch),
            preference != load_balancing};
}

int active_clusters(const ClusterQuery &query) {
    const bool fits = query.cluster <= largest_cluster_of(query.function);
    if (query.cluster == 0 || !fits) {
        return 0;
    }
    const int size = static_cast<int>(query.cluster);
    if (!query.is_spread) {
        return query.multiprocessors * query.blocks / size;
    }
    int clusters = 0;
    for (const int group : groups_of(query.multiprocessors)) {
        clusters += group >= size ? group * query.blocks / size : 0;
    }
    return clusters;
}

} // namespace

int active_blocks(const LaunchTarget &target, unsigned int block_size, std::size_t dynamic_shared) {
    const auto &[code, settings, device, cache_config] = target;
    const Multiprocessor has(device);
    if (block_size > static_cast<unsigned int>(max_threads_of(code, device)) ||
        dynamic_shared > static_cast<std::size_t>(max_dynamic_shared_of(code, settings, device))) {
        return 0;
    }
    const unsigned int warps = round_up(block_size, warp) / warp;
    const int by_warps = static_cast<int>(static_cast<unsigned int>(has.threads) / warp / warps);
    return std::min({has.blocks, by_warps, blocks_by_registers(code, has, warps),
                     blocks_by_shared(code, has, dynamic_shared,
                                      preferred_percentage(settings, cache_config))});
}

} // namespace sim

namespace sim::driver {

EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(OUT int *numBlocks, CUfunction func,
                                                            int blockSize, size_t dynamicSMemSize) {
    require(numBlocks != nullptr);
    *numBlocks = blocks_of(queried_function(func), blockSize, dynamicSMemSize);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(OUT int *numBlocks,
                                                                     CUfunction func, int blockSize,
                                                                     size_t dynamicSMemSize,
                                                                     unsigned int flags) {
    require(numBlocks != nullptr && flags <= CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE);
    *numBlocks = blocks_of(queried_function(func), blockSize, dynamicSMemSize);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuOccupancyMaxPotentialBlockSize(OUT int *minGridSize, OUT int *blockSize,
                                                 CUfunction func,
                                                 CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                 size_t dynamicSMemSize, int blockSizeLimit) {
    require(minGridSize != nullptr && blockSize != nullptr);
    const Potential best =
        best_block(func, blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit);
    *minGridSize = best.grid;
    *blockSize = best.block;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(
    OUT int *minGridSize, OUT int *blockSize, CUfunction func,
    CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize, int blockSizeLimit,
    unsigned int flags) {
    require(flags <= CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE);
    return driver::cuOccupancyMaxPotentialBlockSize(
        minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit);
}

EXPORT CUresult cuOccupancyAvailableDynamicSMemPerBlock(OUT size_t *dynamicSmemSize,
                                                        CUfunction func, int numBlocks,
                                                        int blockSize) {
    require(dynamicSmemSize != nullptr && numBlocks > 0);
    const Function &function = queried_function(func);
    require(numBlocks <= blocks_of(function, blockSize, 0));
    const CUdevice device = function.context->device;
    const Multiprocessor has(device);
    const std::size_t share =
        has.shared / static_cast<std::size_t>(numBlocks) / shared_unit * shared_unit;
    const std::size_t taken = has.reserved + static_cast<std::size_t>(function.code.shared);
    const auto most = static_cast<std::size_t>(
        max_dynamic_shared_of(function.code, settings_of(function), device));
    *dynamicSmemSize = std::min(share > taken ? share - taken : 0, most);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuOccupancyMaxPotentialClusterSize(OUT int *clusterSize, CUfunction func,
                                                   const CUlaunchConfig *config) {
    require(clusterSize != nullptr);
    const ClusterQuery query = cluster_query(func, config);
    *clusterSize = query.is_block ? static_cast<int>(largest_cluster_of(query.function)) : 0;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuOccupancyMaxActiveClusters(OUT int *numClusters, CUfunction func,
                                             const CUlaunchConfig *config) {
    require(numClusters != nullptr);
    *numClusters = active_clusters(cluster_query(func, config));
    return CUDA_SUCCESS;
}

} // namespace sim::driver
