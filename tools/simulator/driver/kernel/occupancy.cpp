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

namespace sim {
namespace {

constexpr unsigned int warp = 32, sides = 4, register_unit = 256;
constexpr std::size_t shared_unit = 128;

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

int blocks_by_shared(const ImageKernel &code, const Multiprocessor &has, std::size_t dynamic) {
    const std::size_t needed =
        round_up(static_cast<std::size_t>(code.shared) + dynamic + has.reserved, shared_unit);
    return needed == 0 ? has.blocks
                       : static_cast<int>(std::min<std::size_t>(has.shared / needed, 1U << 16));
}

int blocks_of(const Function &function, int block_size, std::size_t dynamic) {
    require(block_size > 0);
    return active_blocks(function.code, settings_of(function), function.context->device,
                         static_cast<unsigned int>(block_size), dynamic);
}

struct Potential {
    int grid = 0, block = 0;
};

// The largest block with the most active threads.
Potential best_block(CUfunction handle, CUoccupancyB2DSize size_of, std::size_t dynamic,
                     int block_limit) {
    require(block_limit >= 0);
    const CUdevice device = function_of(handle).context->device;
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

struct ClusterQuery {
    const Function &function;
    KernelLaunch launch;
    unsigned int block;
};

[[maybe_unused]] ClusterQuery cluster_query(CUfunction handle, const CUlaunchConfig *config) {
    require(config != nullptr && (config->numAttrs == 0 || config->attrs != nullptr));
    Context &context =
        config->hStream != nullptr ? *stream_of(config->hStream).context : current_context();
    ClusterQuery query{function_in(callable(handle), context), {}, 0};
    if (config->numAttrs != 0) {
        query.launch.attributes.assign(config->attrs, config->attrs + config->numAttrs);
    }
    require(config->blockDimX != 0 && config->blockDimY != 0 && config->blockDimZ != 0);
    const std::uint64_t layer = std::uint64_t(config->blockDimX) * config->blockDimY;
    const std::uint64_t threads = layer > UINT_MAX ? layer : layer * config->blockDimZ; // 64 bits
    require(attribute_or(context.device, 120, 0) != 0, CUDA_ERROR_NOT_SUPPORTED);
    // A block that is too large has 0 active blocks.
    query.block = static_cast<unsigned int>(std::min<std::uint64_t>(threads, UINT_MAX));
    return query;
}

// The required cluster size in blocks; 0: none.
unsigned int required_cluster(const Function &function) {
    unsigned int size = 1;
    bool any = false;
    for (int i = 0; i < 3; ++i) {
        const unsigned int dimension =
            function.code.cluster[i] ? function.code.cluster[i]
                                     : static_cast<unsigned int>(settings_of(function).cluster[i]);
        any = any || dimension != 0;
        size *= std::max(dimension, 1U);
    }
    return any ? size : 0;
}

} // namespace

int active_blocks(const ImageKernel &code, const FunctionSettings &settings, CUdevice device,
                  unsigned int block_size, std::size_t dynamic_shared) {
    const Multiprocessor has(device);
    if (block_size > static_cast<unsigned int>(max_threads_of(code, device)) ||
        dynamic_shared > static_cast<std::size_t>(max_dynamic_shared_of(code, settings, device))) {
        return 0;
    }
    const unsigned int warps = round_up(block_size, warp) / warp;
    const int by_warps = static_cast<int>(static_cast<unsigned int>(has.threads) / warp / warps);
    return std::min({has.blocks, by_warps, blocks_by_registers(code, has, warps),
                     blocks_by_shared(code, has, dynamic_shared)});
}

} // namespace sim

namespace sim::driver {

EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(OUT int *numBlocks, CUfunction func,
                                                            int blockSize, size_t dynamicSMemSize) {
    require(numBlocks != nullptr);
    *numBlocks = blocks_of(function_of(func), blockSize, dynamicSMemSize);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(OUT int *numBlocks,
                                                                     CUfunction func, int blockSize,
                                                                     size_t dynamicSMemSize,
                                                                     unsigned int flags) {
    require(numBlocks != nullptr && flags <= CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE);
    *numBlocks = blocks_of(function_of(func), blockSize, dynamicSMemSize);
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
    const Function &function = function_of(func);
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
    const unsigned int required = required_cluster(query.function);
    const bool large = settings_of(query.function).non_portable_cluster;
    *clusterSize = required != 0 ? static_cast<int>(required) : large ? 16 : 8;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuOccupancyMaxActiveClusters(OUT int *numClusters, CUfunction func,
                                             const CUlaunchConfig *config) {
    require(numClusters != nullptr);
    const ClusterQuery query = cluster_query(func, config);
    const Function &function = query.function;
    const unsigned int required = required_cluster(function);
    const CUlaunchAttribute *given = find_attribute(query.launch, launch_cluster);
    require(required != 0 || given != nullptr);
    std::uint64_t size = required;
    if (given != nullptr) {
        const auto &dimensions = given->value.clusterDim;
        size = std::uint64_t(dimensions.x) * dimensions.y * dimensions.z;
        require(size != 0 && (required == 0 || size == required),
                static_cast<CUresult>(912)); // INVALID_CLUSTER_SIZE
    }
    const CUdevice device = function.context->device;
    const int blocks = active_blocks(function.code, settings_of(function), device, query.block,
                                     config->sharedMemBytes);
    const auto all = static_cast<std::uint64_t>(blocks) *
                     static_cast<std::uint64_t>(Multiprocessor(device).count);
    const bool fits = size <= (settings_of(function).non_portable_cluster ? 16U : 8U);
    *numClusters = fits ? static_cast<int>(all / size) : 0;
    return CUDA_SUCCESS;
}

} // namespace sim::driver
