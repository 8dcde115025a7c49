#include "parameters.hpp"

#include "base/ranges.hpp"
#include "context/in_context.hpp"
#include "kernel/launch_config.hpp"
#include "memory/pitched_copy.hpp"

namespace cushim::detail {
namespace {

Result<void> check(const KernelNode &node) noexcept {
    CUSHIM_TRY_VOID(require(node.kernel, "the kernel is empty"));
    LaunchSizes ignored;
    if (!to_native(node.config, ignored)) {
        return unfit_sizes(node.config);
    }
    return {};
}

// CUDA's node has rows, and no layers.
Result<void> check_rows(const PitchedFill &fill) noexcept {
    CUSHIM_TRY_VOID(check(fill));
    const auto &[address, extent, pitch] = fill.to;
    if (extent.depth > 1 && pitch.layer != extent.height) {
        return invalid_argument("a node that fills %zu layers of %zu rows, %zu rows apart",
                                extent.depth, extent.height, pitch.layer);
    }
    return {};
}

Result<void> check(const SemaphoreNode &node) noexcept {
    if (node.count == 0) {
        return Error::invalid_argument("a semaphore node without semaphores");
    }
    for (std::size_t index = 0; index < node.count; ++index) {
        if (node.operations[index].semaphore == nullptr) {
            return Error::invalid_argument("the semaphore is empty");
        }
    }
    return {};
}

} // namespace

bool is_of_nothing(const NodeParameters &parameters) noexcept {
    switch (parameters.type()) {
    case GraphNodeType::memcpy: {
        const auto &copy = parameters.as<PitchedCopy>();
        return copy.to.extent.empty() && copy.from.extent.empty();
    }
    case GraphNodeType::memset:
        return parameters.as<PitchedFill>().to.extent.empty();
    default:
        return false;
    }
}

Result<void> check_parameters(const NodeParameters &parameters) noexcept {
    switch (parameters.type()) {
    case GraphNodeType::kernel:
        return check(parameters.as<KernelNode>());
    case GraphNodeType::memcpy:
        return check(parameters.as<PitchedCopy>());
    case GraphNodeType::memset:
        return check_rows(parameters.as<PitchedFill>());
    case GraphNodeType::batch_mem_op:
        if (parameters.as<BatchMemOpNode>().count == 0) {
            return Error::invalid_argument("a node without memory operations");
        }
        return {};
    case GraphNodeType::mem_free:
        if (parameters.as<MemFreeNode>().address == 0) {
            return Error::invalid_argument("the allocation is none");
        }
        return {};
    case GraphNodeType::event_record:
    case GraphNodeType::event_wait:
        if (parameters.as<EventNode>().event == nullptr) {
            return Error::invalid_argument("the event is empty");
        }
        return {};
    case GraphNodeType::semaphore_signal:
    case GraphNodeType::semaphore_wait:
        return check(parameters.as<SemaphoreNode>());
    default:
        return {};
    }
}

Result<void> check_new_parameters(const NodeParameters &parameters) noexcept {
    if (is_of_nothing(parameters)) {
        return Error::invalid_argument("a node cannot be made one of nothing");
    }
    return check_parameters(parameters);
}

} // namespace cushim::detail
