#include <cushim/launch.hpp>

#include <cushim/kernel.hpp>

#include <cstring>
#include <limits>

#include "base/call.hpp"
#include "base/ranges.hpp"
#include "context/in_context.hpp"
#include "context/wrong_context.hpp"
#include "launch_config.hpp"

namespace cushim {
namespace detail {
namespace {

constexpr unsigned int largest = std::numeric_limits<unsigned int>::max();

bool fits(long long number) noexcept {
    return number > 0 && number <= static_cast<long long>(largest);
}

bool fits(const Dim3 &sizes) noexcept {
    return fits(sizes.x) && fits(sizes.y) && fits(sizes.z);
}

bool to_native(const Dim3 &from, Dimensions &to) noexcept {
    to = native_sizes(from);
    return fits(from);
}

Error unfit(const char *what, const Dim3 &of) noexcept {
    return invalid_argument("%s size %lld x %lld x %lld is out of range", what, of.x, of.y, of.z);
}

constexpr Dim3 no_cluster(0, 0, 0);

} // namespace

bool sizes_fit(const LaunchConfig &config) noexcept {
    return fits(config.grid) && fits(config.block) && config.shared_bytes <= largest;
}

bool to_native(const LaunchConfig &config, LaunchSizes &sizes) noexcept {
    sizes.shared_bytes = static_cast<unsigned int>(config.shared_bytes);
    return to_native(config.grid, sizes.grid) && to_native(config.block, sizes.block) &&
           config.shared_bytes <= largest;
}

Error unfit_sizes(const LaunchConfig &config) noexcept {
    if (!fits(config.grid)) {
        return unfit("grid", config.grid);
    }
    if (!fits(config.block)) {
        return unfit("block", config.block);
    }
    return invalid_argument("shared memory size %zu exceeds the limit of %u", config.shared_bytes,
                            largest);
}

bool has_attributes(const LaunchConfig &config) noexcept {
    return config.cluster != no_cluster || config.priority.is_set() ||
           config.programmatic_stream_serialization || config.more.size() != 0;
}

#if CUDA_VERSION >= 11080
static_assert(sizeof(CUlaunchAttribute) == 72, "the size that LaunchAttributes assumes");

Result<void> NativeLaunch::fill(const LaunchConfig &config, CUstream stream) noexcept {
    LaunchSizes sizes;
    if (!to_native(config, sizes)) {
        return unfit_sizes(config);
    }
    config_.gridDimX = sizes.grid.x;
    config_.gridDimY = sizes.grid.y;
    config_.gridDimZ = sizes.grid.z;
    config_.blockDimX = sizes.block.x;
    config_.blockDimY = sizes.block.y;
    config_.blockDimZ = sizes.block.z;
    config_.sharedMemBytes = sizes.shared_bytes;
    config_.hStream = stream;
    config_.attrs = attributes_;
    if (config.cluster != no_cluster) {
        CUSHIM_TRY_VOID(add_cluster(config.cluster));
    }
    if (config.cooperative) {
        add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).value.cooperative = 1;
    }
    if (config.priority.is_set()) {
        add(CU_LAUNCH_ATTRIBUTE_PRIORITY).value.priority = config.priority.value();
    }
    if (config.programmatic_stream_serialization) {
        add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            .value.programmaticStreamSerializationAllowed = 1;
    }
    return add_others(config.more);
}

CUlaunchAttribute &NativeLaunch::add(CUlaunchAttributeID id) noexcept {
    CUlaunchAttribute &added = attributes_[config_.numAttrs++];
    added = {};
    added.id = id;
    return added;
}

Result<void> NativeLaunch::add_cluster(const Dim3 &cluster) noexcept {
    Dimensions blocks;
    if (!to_native(cluster, blocks)) {
        return unfit("cluster", cluster);
    }
    auto &value = add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).value.clusterDim;
    value.x = blocks.x;
    value.y = blocks.y;
    value.z = blocks.z;
    return {};
}

Result<void> NativeLaunch::add_others(const LaunchAttributes &others) noexcept {
    const std::size_t room = capacity - config_.numAttrs;
    if (others.size() > room) {
        return invalid_argument(
            "number of additional launch attributes, %zu, exceeds the limit of %zu", others.size(),
            room);
    }
    if (others.size() != 0 && others.data() == nullptr) {
        return invalid_argument("the launch attributes are null, their number is %zu",
                                others.size());
    }
    if (others.size() != 0) {
        std::memcpy(attributes_ + config_.numAttrs, others.data(),
                    others.size() * sizeof(CUlaunchAttribute));
        config_.numAttrs += static_cast<unsigned int>(others.size());
    }
    return {};
}
#endif

namespace {

// `of` is the context of the kernel's module; null if unknown.
Result<void> launched(const Stream &stream, const FailedCall &call, CUcontext of) noexcept {
    if (call.status == CUDA_SUCCESS) {
        return {};
    }
    return failure_in(stream, call,
                      "the stream belongs to another context than the kernel's module",
                      [of](CUcontext its) { return of == nullptr || of == its; });
}

// Like CUSHIM_DRIVER, for a launch.
#define LAUNCH(stream_, of_, function, ...)                                                        \
    detail::launched(stream_, CUSHIM_FAILED_CALL(function, driver().function(__VA_ARGS__)), of_)

Result<void> launch_with_attributes([[maybe_unused]] const AnyKernel &kernel,
                                    [[maybe_unused]] CUcontext of,
                                    [[maybe_unused]] const Stream &stream,
                                    [[maybe_unused]] const LaunchConfig &config,
                                    [[maybe_unused]] void **arguments) noexcept {
#if CUDA_VERSION >= 11080
    NativeLaunch native;
    CUSHIM_TRY_VOID(native.fill(config, stream.native()));
    return LAUNCH(stream, of, cuLaunchKernelEx, native.get(), kernel.native(), arguments, nullptr);
#else
    return Error::requires_newer_headers("cuLaunchKernelEx", Version::of(11, 8));
#endif
}

} // namespace
} // namespace detail

Result<void> AnyKernel::launch_unchecked(const Stream &stream, const LaunchConfig &config,
                                         void **arguments) const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, "the kernel is empty"));
    CUSHIM_TRY_VOID(detail::require(stream, "the stream is empty"));
    if (detail::has_attributes(config)) {
        return detail::launch_with_attributes(*this, value().context, stream, config, arguments);
    }
    detail::LaunchSizes sizes;
    if (!detail::to_native(config, sizes)) {
        return detail::unfit_sizes(config);
    }
    const auto &[grid, block, shared] = sizes;
    if (config.cooperative) {
        return LAUNCH(stream, value().context, cuLaunchCooperativeKernel, native(), grid.x, grid.y,
                      grid.z, block.x, block.y, block.z, shared, stream.native(), arguments);
    }
    return LAUNCH(stream, value().context, cuLaunchKernel, native(), grid.x, grid.y, grid.z,
                  block.x, block.y, block.z, shared, stream.native(), arguments, nullptr);
}

} // namespace cushim
