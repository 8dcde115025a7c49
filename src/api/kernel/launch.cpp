#include <cushim/launch.hpp>

#include <cushim/kernel.hpp>
#include <cushim/occupancy.hpp>

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

bool to_native(const Dim3 &from, Dimensions &to) noexcept {
    to = native_sizes(from);
    return fits(from);
}

bool is_positive(const Dim3 &sizes) noexcept {
    return sizes.x > 0 && sizes.y > 0 && sizes.z > 0;
}

// Without a device, the limit is that of the CUDA call.
Error unfit(const char *what, const Dim3 &of) noexcept {
    if (is_positive(of)) {
        return invalid_argument("%s size %lld x %lld x %lld exceeds the limit of %u in each "
                                "dimension",
                                what, of.x, of.y, of.z, largest);
    }
    const bool is_empty_grid = what[0] == 'g' && of.x >= 0 && of.y >= 0 && of.z >= 0;
    return invalid_argument("%s size %lld x %lld x %lld: each dimension must be at least 1%s", what,
                            of.x, of.y, of.z,
                            is_empty_grid ? "; skip the launch if there are no elements" : "");
}

} // namespace

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
    return invalid_argument("dynamic shared memory size of %zu bytes exceeds the limit of %u "
                            "bytes",
                            config.shared_bytes, largest);
}

#if CUDA_VERSION >= 11080
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
    if (config.priority) {
        add(CU_LAUNCH_ATTRIBUTE_PRIORITY).value.priority = *config.priority;
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

Result<void> NativeLaunch::add_others(std::span<const CUlaunchAttribute> others) noexcept {
    const std::size_t room = capacity - config_.numAttrs;
    if (others.size() > room) {
        return invalid_argument(
            "the number of launch attributes in LaunchConfig::more, %zu, exceeds the limit of %zu",
            others.size(), room);
    }
    if (!others.empty() && others.data() == nullptr) {
        return invalid_argument("LaunchConfig::more is null, but its size is %zu", others.size());
    }
    if (!others.empty()) {
        std::memcpy(attributes_ + config_.numAttrs, others.data(),
                    others.size() * sizeof(CUlaunchAttribute));
        config_.numAttrs += static_cast<unsigned int>(others.size());
    }
    return {};
}
#endif

namespace {

// --- what a refused launch exceeds

struct Limits {
    long long block_threads, block[3], grid[3], shared_bytes;
};

// Of the kernel on the device of the context.
Result<Limits> limits_of(const AnyKernel &kernel, const Context &context) noexcept {
    CUSHIM_TRY(const Device device, context.device());
    CUSHIM_TRY(const KernelAttributes of_kernel, kernel.attributes(context));
    Limits limits{};
    limits.block_threads = of_kernel.max_threads_per_block;
    limits.shared_bytes = of_kernel.max_dynamic_shared_bytes;
    for (int axis = 0; axis < 3; ++axis) {
        CUSHIM_TRY(limits.block[axis], device.attribute(static_cast<CUdevice_attribute>(
                                           CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + axis)));
        CUSHIM_TRY(limits.grid[axis], device.attribute(static_cast<CUdevice_attribute>(
                                          CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + axis)));
    }
    return limits;
}

bool exceeds(const Dim3 &size, const long long (&limit)[3]) noexcept {
    return size.x > limit[0] || size.y > limit[1] || size.z > limit[2];
}

// Also for an error of unfit_sizes(), whose limit is not that of the device.
Error too_large(const Error &error, const char *what, const Dim3 &of,
                const long long (&limit)[3]) noexcept {
    return reworded(error, "%s size %lld x %lld x %lld exceeds the limits %lld x %lld x %lld", what,
                    of.x, of.y, of.z, limit[0], limit[1], limit[2]);
}

Error explain_sizes(const Error &error, const LaunchConfig &config, const Limits &limits) noexcept {
    const Dim3 &block = config.block;
    if (exceeds(config.grid, limits.grid)) {
        return too_large(error, "grid", config.grid, limits.grid);
    }
    if (exceeds(block, limits.block)) {
        return too_large(error, "block", block, limits.block);
    }
    const long long threads = block.x * block.y * block.z;
    if (threads > limits.block_threads) {
        return reworded(error,
                        "block size %lld x %lld x %lld (%lld threads) exceeds the kernel's limit "
                        "of %lld threads",
                        block.x, block.y, block.z, threads, limits.block_threads);
    }
    if (config.shared_bytes > static_cast<std::size_t>(limits.shared_bytes)) {
        return reworded(
            error,
            "dynamic shared memory size of %zu bytes exceeds the kernel's limit of %lld bytes; "
            "raise it with AnyKernel::set_max_dynamic_shared_bytes()",
            config.shared_bytes, limits.shared_bytes);
    }
    return error;
}

Error explain_cooperative(const Error &error, const AnyKernel &kernel, const Context &context,
                          const LaunchConfig &config) noexcept {
    const Dim3 &block = config.block, &grid = config.grid;
    const auto device = context.device();
    const auto multiprocessors =
        device ? device->attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) : Result<int>(0);
    const auto blocks = max_active_blocks(
        context, kernel, static_cast<int>(block.x * block.y * block.z), config.shared_bytes);
    if (!multiprocessors || !blocks) {
        return error;
    }
    return explained(error,
                     "cooperative grid size %lld x %lld x %lld exceeds the limit of %d blocks that "
                     "run at the same time",
                     grid.x, grid.y, grid.z, *blocks * *multiprocessors);
}

constexpr int invalid_cluster_size = 912; // older headers lack it

bool divides(const Dim3 &cluster, const Dim3 &grid) noexcept {
    return grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0;
}

Error explain_cluster(const Error &error, const AnyKernel &kernel, const Context &context,
                      const LaunchConfig &config) noexcept {
    const Dim3 &cluster = config.cluster, &grid = config.grid;
    if (cluster == no_cluster) {
        return error;
    }
    if (!divides(cluster, grid)) {
        return explained(error,
                         "cluster size %lld x %lld x %lld does not divide the grid size %lld x "
                         "%lld x %lld",
                         cluster.x, cluster.y, cluster.z, grid.x, grid.y, grid.z);
    }
    // CUDA refuses this query, too, for a cluster that is too large.
    LaunchConfig without_cluster = config;
    without_cluster.cluster = no_cluster;
    const auto most = max_cluster_size(context, kernel, without_cluster);
    if (!most || cluster.x * cluster.y * cluster.z <= *most) {
        return error;
    }
    // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, which headers before 11.8 do not declare
    const auto attribute = static_cast<CUfunction_attribute>(14);
    const Result<int> non_portable = kernel.attribute(context, attribute);
    const char *const remedy =
        non_portable && *non_portable == 0
            ? "; some devices allow more after AnyKernel::set_attribute() of "
              "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED"
            : "";
    return explained(error,
                     "cluster size %lld x %lld x %lld exceeds the kernel's limit of %d blocks%s",
                     cluster.x, cluster.y, cluster.z, *most, remedy);
}

// False for errors of this library, except about sizes that CUDA's parameters cannot hold.
bool has_limit(const Error &error, const LaunchConfig &config) noexcept {
    return error.status() != CUDA_SUCCESS ||
           (error.kind() == ErrorKind::invalid_argument && is_positive(config.grid) &&
            is_positive(config.block));
}

} // namespace

Error explain_launch(const Error &error, const AnyKernel &kernel, const Context &context,
                     const LaunchConfig &config) noexcept {
    if (!has_limit(error, config)) {
        return error;
    }
    switch (error.status()) {
    case CUDA_SUCCESS:
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: {
        const auto limits = limits_of(kernel, context);
        return limits ? explain_sizes(error, config, *limits) : error;
    }
    case invalid_cluster_size:
        return explain_cluster(error, kernel, context, config);
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
        return explain_cooperative(error, kernel, context, config);
    default:
        return error;
    }
}

namespace {

// With the limits in the stream's context.
Error not_launched(const Error &error, const AnyKernel &kernel, const Stream &stream,
                   const LaunchConfig &config) noexcept {
    CUcontext context = nullptr;
    return has_limit(error, config) &&
                   status_of<entry::cuStreamGetCtx_v1>(stream.native(), &context) == CUDA_SUCCESS
               ? explain_launch(error, kernel, Context::borrow(context), config)
               : error;
}

// `of` is the context that the kernel's module belongs to; null if unknown.
[[gnu::cold]] Error not_launched(const Error &error, const AnyKernel &kernel, CUcontext of,
                                 const Stream &stream, const LaunchConfig &config) noexcept {
    const Error made =
        failure_of_stream(error, stream, "the kernel's module", of, ordinal_of(kernel));
    return made.kind() != ErrorKind::wrong_context ? not_launched(made, kernel, stream, config)
                                                   : made;
}

Result<void> launch_with_attributes([[maybe_unused]] const AnyKernel &kernel,
                                    [[maybe_unused]] const Stream &stream,
                                    [[maybe_unused]] const LaunchConfig &config,
                                    [[maybe_unused]] void **arguments) noexcept {
#if CUDA_VERSION >= 11080
    NativeLaunch native;
    CUSHIM_TRY_VOID(native.fill(config, stream.native()));
    return call<entry::cuLaunchKernelEx>(native.get(), kernel.native(), arguments, nullptr);
#else
    return Error::requires_newer_headers("cuLaunchKernelEx", Version::of(11, 8));
#endif
}

[[gnu::always_inline]] inline Result<void> launch(const AnyKernel &kernel, CUcontext of,
                                                  const Stream &stream, const LaunchConfig &config,
                                                  void **arguments) noexcept {
    CUSHIM_TRY_VOID(require(kernel, "the Kernel is empty"));
    CUSHIM_TRY_VOID(require(stream, "the Stream is empty"));
    const auto with_reason = [&](const Result<void> &launched) -> Result<void> {
        if (!launched) [[unlikely]] {
            return not_launched(launched.error(), kernel, of, stream, config);
        }
        return {};
    };
    if (has_attributes(config)) {
        return with_reason(launch_with_attributes(kernel, stream, config, arguments));
    }
    LaunchSizes sizes;
    if (!to_native(config, sizes)) {
        return with_reason(unfit_sizes(config));
    }
    const auto &[grid, block, shared] = sizes;
    if (config.cooperative) {
        return with_reason(call<entry::cuLaunchCooperativeKernel>(
            kernel.native(), grid.x, grid.y, grid.z, block.x, block.y, block.z, shared,
            stream.native(), arguments));
    }
    return with_reason(call<entry::cuLaunchKernel>(kernel.native(), grid.x, grid.y, grid.z, block.x,
                                                   block.y, block.z, shared, stream.native(),
                                                   arguments, nullptr));
}

} // namespace
} // namespace detail

using namespace detail;

Result<void> AnyKernel::launch_unchecked(const Stream &stream, const LaunchConfig &config,
                                         void **arguments) const noexcept {
    return named("AnyKernel::launch_unchecked",
                 [&] { return launch(*this, value().context, stream, config, arguments); });
}

Result<void> AnyKernel::launch_typed(const Stream &stream, const LaunchConfig &config,
                                     void **arguments) const noexcept {
    return named("Kernel::launch",
                 [&] { return launch(*this, value().context, stream, config, arguments); });
}

} // namespace cushim
