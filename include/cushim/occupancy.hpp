/* Occupancy: how many blocks of a kernel a device runs at the same time.
 *
 * The context selects the device, as in AnyKernel. Block sizes are in threads. Shared memory is in
 * bytes, and means the dynamic shared memory of the launch.
 *
 * Threads: any.
 * Context: see handle.hpp.
 * Errors: invalid_argument; wrong_context; the status of the CUDA call. For
 * clusters also requires_newer_driver, and requires_newer_headers before CUDA 11.8. */
#ifndef CUSHIM_OCCUPANCY_HPP
#define CUSHIM_OCCUPANCY_HPP

#include <cushim/context.hpp>
#include <cushim/kernel.hpp>
#include <cushim/launch.hpp>

namespace cushim {

/* The number of blocks that fit on one multiprocessor, possibly 0.
 * cuOccupancyMaxActiveBlocksPerMultiprocessor. */
CUSHIM_API Result<int> max_active_blocks(const Context &context, const AnyKernel &kernel,
                                         int block_size, std::size_t shared_bytes = 0) noexcept;

// What suggest_block() returns.
struct BlockSuggestion {
    int block_size = 0;    // threads
    int min_grid_size = 0; // the number of blocks that occupies the whole device
};

/* The block size with the highest occupancy, at most `limit` threads; 0: the kernel's maximum.
 * cuOccupancyMaxPotentialBlockSize. */
CUSHIM_API Result<BlockSuggestion> suggest_block(const Context &context, const AnyKernel &kernel,
                                                 std::size_t shared_bytes = 0,
                                                 int limit = 0) noexcept;

/* suggest_block() if the shared memory depends on the block size: the function returns the bytes
 * for a block size. It must not call CUDA, and must not throw. cuOccupancyMaxPotentialBlockSize. */
CUSHIM_API Result<BlockSuggestion> suggest_block_by(const Context &context, const AnyKernel &kernel,
                                                    CUoccupancyB2DSize shared_bytes_of,
                                                    int limit = 0) noexcept;

/* The dynamic shared memory available to each block if `blocks` blocks share a multiprocessor.
 * cuOccupancyAvailableDynamicSMemPerBlock. */
CUSHIM_API Result<std::size_t> available_shared_bytes(const Context &context,
                                                      const AnyKernel &kernel, int blocks,
                                                      int block_size) noexcept;

/* The largest cluster size for the kernel, in blocks.
 * cuOccupancyMaxPotentialClusterSize, since CUDA 11.7; devices with clusters. */
CUSHIM_API Result<int> max_cluster_size(const Context &context, const AnyKernel &kernel,
                                        const LaunchConfig &config) noexcept;

/* The number of clusters of such a launch that the device runs at the same time.
 * cuOccupancyMaxActiveClusters, since CUDA 11.7; devices with clusters. */
CUSHIM_API Result<int> max_active_clusters(const Context &context, const AnyKernel &kernel,
                                           const LaunchConfig &config) noexcept;

} // namespace cushim

#endif
