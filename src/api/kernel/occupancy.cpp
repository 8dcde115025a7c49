#include <cushim/occupancy.hpp>

#include "base/call.hpp"
#include "base/ranges.hpp"
#include "context/in_context.hpp"
#include "launch_config.hpp"

namespace cushim {

using namespace detail;

namespace {

// Also for a library kernel, which CUDA accepts as a function here as in launches.
Result<CUfunction> function_of(const Context &context, const AnyKernel &kernel) noexcept {
    CUSHIM_TRY_VOID(kernel.check_context(context));
    return kernel.native();
}

Result<void> check_block(int block_size) noexcept {
    if (block_size <= 0) {
        return invalid_argument("block size %d is less than 1 thread", block_size);
    }
    return {};
}

Result<BlockSuggestion> suggest(const Context &context, const AnyKernel &kernel,
                                CUoccupancyB2DSize shared_bytes_of, std::size_t shared_bytes,
                                int limit) noexcept {
    CUSHIM_TRY(const CUfunction function, function_of(context, kernel));
    if (limit < 0) {
        return invalid_argument(
            "the limit of threads in a block, %d, is negative; pass 0 for the kernel's own limit",
            limit);
    }
    CUSHIM_TRY(const ContextScope scope, context.enter());
    BlockSuggestion best;
    CUSHIM_TRY_VOID(call<entry::cuOccupancyMaxPotentialBlockSize>(
        &best.min_grid_size, &best.block_size, function, shared_bytes_of, shared_bytes, limit));
    return best;
}

} // namespace

Result<int> max_active_blocks(const Context &context, const AnyKernel &kernel, int block_size,
                              std::size_t shared_bytes) noexcept {
    return named("max_active_blocks", [&]() -> Result<int> {
        CUSHIM_TRY(const CUfunction function, function_of(context, kernel));
        CUSHIM_TRY_VOID(check_block(block_size));
        CUSHIM_TRY(const ContextScope scope, context.enter());
        int blocks = 0;
        CUSHIM_TRY_VOID(call<entry::cuOccupancyMaxActiveBlocksPerMultiprocessor>(
            &blocks, function, block_size, shared_bytes));
        return blocks;
    });
}

Result<BlockSuggestion> suggest_block(const Context &context, const AnyKernel &kernel,
                                      std::size_t shared_bytes, int limit) noexcept {
    return named("suggest_block", suggest(context, kernel, nullptr, shared_bytes, limit));
}

Result<BlockSuggestion> suggest_block_by(const Context &context, const AnyKernel &kernel,
                                         CUoccupancyB2DSize shared_bytes_of, int limit) noexcept {
    return named("suggest_block_by", [&]() -> Result<BlockSuggestion> {
        if (shared_bytes_of == nullptr) {
            return Error::invalid_argument(
                "the size callback is null; for a fixed size use suggest_block()");
        }
        return suggest(context, kernel, shared_bytes_of, 0, limit);
    });
}

Result<std::size_t> available_shared_bytes(const Context &context, const AnyKernel &kernel,
                                           int blocks, int block_size) noexcept {
    return named("available_shared_bytes", [&]() -> Result<std::size_t> {
        CUSHIM_TRY(const CUfunction function, function_of(context, kernel));
        if (blocks <= 0) {
            return invalid_argument("number of blocks %d is less than 1", blocks);
        }
        CUSHIM_TRY_VOID(check_block(block_size));
        CUSHIM_TRY(const ContextScope scope, context.enter());
        std::size_t bytes = 0;
        CUSHIM_TRY_VOID(call<entry::cuOccupancyAvailableDynamicSMemPerBlock>(&bytes, function,
                                                                             blocks, block_size));
        return bytes;
    });
}

#if CUDA_VERSION >= 11080

namespace {

template <class Entry>
Result<int> query_clusters(const Context &context, const AnyKernel &kernel,
                           const LaunchConfig &config) noexcept {
    CUSHIM_TRY(const CUfunction function, function_of(context, kernel));
    NativeLaunch launch;
    if (const Result<void> filled = launch.fill(config, nullptr); !filled) {
        return explain_launch(filled.error(), kernel, context, config);
    }
    CUSHIM_TRY(const ContextScope scope, context.enter());
    int number = 0;
    CUSHIM_TRY_VOID(call<Entry>(&number, function, launch.get()));
    return number;
}

} // namespace

Result<int> max_cluster_size(const Context &context, const AnyKernel &kernel,
                             const LaunchConfig &config) noexcept {
    return named("max_cluster_size", query_clusters<entry::cuOccupancyMaxPotentialClusterSize>(
                                         context, kernel, config));
}

Result<int> max_active_clusters(const Context &context, const AnyKernel &kernel,
                                const LaunchConfig &config) noexcept {
    return named("max_active_clusters",
                 query_clusters<entry::cuOccupancyMaxActiveClusters>(context, kernel, config));
}

#else

Result<int> max_cluster_size(const Context &, const AnyKernel &, const LaunchConfig &) noexcept {
    return named("max_cluster_size", Error::requires_newer_headers(
                                         "cuOccupancyMaxPotentialClusterSize", Version::of(11, 8)));
}

Result<int> max_active_clusters(const Context &, const AnyKernel &, const LaunchConfig &) noexcept {
    return named("max_active_clusters",
                 Error::requires_newer_headers("cuOccupancyMaxActiveClusters", Version::of(11, 8)));
}

#endif

} // namespace cushim
