// The driver's form of a launch configuration.
#pragma once

#include <cushim/driver_table.hpp>
#include <cushim/launch.hpp>
#include <cushim/result.hpp>

namespace cushim::detail {

struct Dimensions {
    unsigned int x, y, z;
};

struct LaunchSizes {
    Dimensions grid, block;
    unsigned int shared_bytes;
};

// For sizes that are known to fit.
constexpr Dimensions native_sizes(const Dim3 &from) noexcept {
    return {static_cast<unsigned int>(from.x), static_cast<unsigned int>(from.y),
            static_cast<unsigned int>(from.z)};
}
constexpr LaunchSizes native_sizes(const LaunchConfig &config) noexcept {
    return {native_sizes(config.grid), native_sizes(config.block),
            static_cast<unsigned int>(config.shared_bytes)};
}

// Whether all three sizes are positive and fit into an unsigned int, without a branch.
constexpr bool fits(const Dim3 &sizes) noexcept {
    constexpr auto bits = [](long long size) noexcept {
        const auto number = static_cast<unsigned long long>(size);
        return number | (number - 1);
    };
    return (bits(sizes.x) | bits(sizes.y) | bits(sizes.z)) >> 32 == 0;
}
// Whether all sizes are positive and within the limits.
constexpr bool sizes_fit(const LaunchConfig &config) noexcept {
    return fits(config.grid) && fits(config.block) &&
           static_cast<unsigned long long>(config.shared_bytes) >> 32 == 0;
}
// False if a size is out of range. Not a Result, because every launch calls it, and copying a
// Result costs more than the rest of the wrapper.
bool to_native(const LaunchConfig &config, LaunchSizes &sizes) noexcept;
// The error for such a size, with the numbers.
Error unfit_sizes(const LaunchConfig &config) noexcept;

// The error of a launch or a kernel node that CUDA or unfit_sizes() rejects, with the limit of the
// kernel or its device that the configuration exceeds.
Error explain_launch(const Error &error, const AnyKernel &kernel, const Context &context,
                     const LaunchConfig &config) noexcept;

constexpr Dim3 no_cluster(0, 0, 0);

// Whether the configuration exceeds the parameters of cuLaunchKernel and cuLaunchCooperativeKernel.
inline bool has_attributes(const LaunchConfig &config, bool others = false) noexcept {
    const Dim3 &cluster = config.cluster;
    const auto counts = static_cast<unsigned long long>(cluster.x | cluster.y | cluster.z);
    const bool flags =
        config.priority.has_value() | config.programmatic_stream_serialization | others;
    return (counts | config.more.size() | static_cast<unsigned long long>(flags)) != 0;
}
// The same for cuLaunchKernel alone.
inline bool asks_for_attributes(const LaunchConfig &config) noexcept {
    return has_attributes(config, config.cooperative);
}

#if CUDA_VERSION >= 11080
// Filled in place, since the configuration points to the attributes.
class NativeLaunch {
  public:
    NativeLaunch() noexcept = default;
    NativeLaunch(const NativeLaunch &) = delete;
    NativeLaunch &operator=(const NativeLaunch &) = delete;

    Result<void> fill(const LaunchConfig &config, CUstream stream) noexcept;
    const CUlaunchConfig *get() const noexcept { return &config_; }

  private:
    CUlaunchAttribute &add(CUlaunchAttributeID id) noexcept;
    Result<void> add_cluster(const Dim3 &cluster) noexcept;
    Result<void> add_others(std::span<const CUlaunchAttribute> others) noexcept;

    static constexpr unsigned int capacity = 32;
    CUlaunchConfig config_ = {};
    CUlaunchAttribute attributes_[capacity];
};
#endif

} // namespace cushim::detail
