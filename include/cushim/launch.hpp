/* The configuration of a kernel launch: grid, block and attributes. */
#ifndef CUSHIM_LAUNCH_HPP
#define CUSHIM_LAUNCH_HPP

#include <cstddef>
#include <optional>
#include <span>

#include <cushim/detail/cpp20.hpp>
#include <cushim/detail/launch_types.hpp>

namespace cushim {

/* Numbers of blocks or threads in x, y and z, from integers of any type. A launch rejects a
 * number that CUDA cannot take (0, -1, over 32 bits); the error contains it. */
struct Dim3 {
    // Numbers that are not given are 1.
    constexpr Dim3() noexcept = default;
    template <detail::Integer X, detail::Integer Y = int, detail::Integer Z = int>
    constexpr Dim3(X in_x, Y in_y = 1, Z in_z = 1) noexcept
        : x(static_cast<long long>(in_x)), y(static_cast<long long>(in_y)),
          z(static_cast<long long>(in_z)) {}

    friend constexpr bool operator==(const Dim3 &, const Dim3 &) = default;

    long long x = 1; // blocks or threads in x
    long long y = 1; // in y
    long long z = 1; // in z
};

/* How a kernel is launched. Clusters, priorities and other attributes require a driver of
 * CUDA 11.6 and headers of CUDA 11.8. */
struct LaunchConfig {
    // A grid in x with at least one thread for each of `count` elements; a launch rejects a count
    // of 0.
    static constexpr LaunchConfig covering(std::size_t count,
                                           std::size_t block_size = 256) noexcept {
        LaunchConfig config;
        config.grid = detail::blocks_covering(count, block_size);
        config.block = block_size;
        return config;
    }

    // A grid with at least one thread for each element of a range of two or three dimensions; a
    // launch rejects one of 0. By default, blocks have 32 x 8 threads.
    static constexpr LaunchConfig covering(const Dim3 &counts,
                                           const Dim3 &block_size = {32, 8}) noexcept {
        LaunchConfig config;
        config.grid = {detail::blocks_covering(counts.x, block_size.x),
                       detail::blocks_covering(counts.y, block_size.y),
                       detail::blocks_covering(counts.z, block_size.z)};
        config.block = block_size;
        return config;
    }

    Dim3 grid = {};               // blocks
    Dim3 block = {};              // threads
    std::size_t shared_bytes = 0; // dynamic shared memory of a block

    // Size of a cluster in blocks; must divide the grid. Zeros: as the kernel was compiled. Devices
    // of compute capability 9.0 and newer.
    Dim3 cluster = {0, 0, 0};
    // All blocks run at the same time, and can synchronize with each other.
    bool cooperative = false;
    // Replaces the priority of the stream. Lower numbers are more urgent, as in StreamOptions.
    std::optional<int> priority = {};
    // May start before the previous kernel in the stream has ended; the kernel itself must wait for
    // it.
    bool programmatic_stream_serialization = false;
    // Attributes without a member here, as CUlaunchAttribute; read by the launch. At most 32,
    // including those of the members: more, or a null array, are invalid_argument.
    std::span<const detail::LaunchAttribute> more = {};
};

} // namespace cushim

#endif
