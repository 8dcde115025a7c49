/* Occupancy: how much of a kernel a device runs at the same time.
 *
 * The context is the one whose device is meant, as for AnyKernel's functions. Sizes of blocks are in
 * threads, of shared memory in bytes, and shared memory is what a launch asks for on top of the kernel's
 * own.
 *
 * Threads: any. Needs no current context and does not change it.
 * Errors: invalid_argument with the numbers, wrong_context, and what the calls answer; of clusters
 * requires_newer_driver, and requires_newer_headers before CUDA 11.8. */
#ifndef CUSHIM_OCCUPANCY_HPP
#define CUSHIM_OCCUPANCY_HPP

#include <cushim/context.hpp>
#include <cushim/kernel.hpp>
#include <cushim/launch.hpp>

namespace cushim {

/* How many blocks one multiprocessor holds; 0 where it cannot hold one.
 * cuOccupancyMaxActiveBlocksPerMultiprocessor, since CUDA 6.5. */
CUSHIM_API Result<int> max_active_blocks(const Context &context, const AnyKernel &kernel,
                                         int block_size, std::size_t shared_bytes = 0) noexcept;

struct BlockSuggestion {
    int block_size = 0;
    int min_grid_size = 0; // blocks that keep the whole device busy
};

/* The block that keeps a multiprocessor busiest, of at most `limit` threads; 0: as many as the kernel
 * allows. cuOccupancyMaxPotentialBlockSize, since CUDA 6.5. */
CUSHIM_API Result<BlockSuggestion> suggest_block(const Context &context, const AnyKernel &kernel,
                                                 std::size_t shared_bytes = 0,
                                                 int limit = 0) noexcept;

/* The same where the shared memory depends on the block: a function tells how much each size needs. It
 * must not call CUDA, nor throw. */
CUSHIM_API Result<BlockSuggestion> suggest_block_by(const Context &context, const AnyKernel &kernel,
                                                    CUoccupancyB2DSize shared_bytes_of,
                                                    int limit = 0) noexcept;

/* How much shared memory each of so many blocks on a multiprocessor can have.
 * cuOccupancyAvailableDynamicSMemPerBlock, since CUDA 11.0. */
CUSHIM_API Result<std::size_t> available_shared_bytes(const Context &context,
                                                      const AnyKernel &kernel, int blocks,
                                                      int block_size) noexcept;

/* The largest cluster that the kernel can be launched in, in blocks.
 * cuOccupancyMaxPotentialClusterSize, since CUDA 11.7; devices with clusters. */
CUSHIM_API Result<int> max_cluster_size(const Context &context, const AnyKernel &kernel,
                                        const LaunchConfig &config) noexcept;

/* How many clusters of such a launch the device runs at the same time.
 * cuOccupancyMaxActiveClusters, since CUDA 11.7; devices with clusters. */
CUSHIM_API Result<int> max_active_clusters(const Context &context, const AnyKernel &kernel,
                                           const LaunchConfig &config) noexcept;

} // namespace cushim

#endif
