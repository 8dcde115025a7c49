// The rules for changes of executable graphs: which parameters may change, and to what.
#include "graph/graph_change.hpp"
#include "engine/memory.hpp"
#include "graph/graph_nodes.hpp"
#include "interop/external.hpp"
#include "kernel/launch.hpp"
#include "memory/memset.hpp"

#include <algorithm>
#include <cstring>

namespace sim {
namespace {

enum Result {
    fine = 0,
    function_changed = 7, // in an unsupported way
    parameters_changed = 5,
    not_supported = 6,
    attributes_changed = 8,
};

constexpr unsigned long long node_priority_flag = 8;

const CUlaunchAttributeValue *attribute(const KernelLaunch &launch, CUlaunchAttributeID id) {
    for (const CUlaunchAttribute &each : launch.attributes) {
        if (each.id == id) {
            return &each.value;
        }
    }
    return nullptr;
}

bool cooperative(const KernelLaunch &launch) {
    const auto *value = attribute(launch, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    return value != nullptr && value->cooperative != 0;
}

int priority(const KernelLaunch &launch) {
    const auto *value = attribute(launch, CU_LAUNCH_ATTRIBUTE_PRIORITY);
    return value != nullptr ? value->priority : 0;
}

int kernel_problem(const NodeContent &from, const NodeContent &to, unsigned long long flags) {
    const CUctx_st *before = kernel_context(from), *after = kernel_context(to);
    if (before != nullptr && after != nullptr && before != after) {
        return function_changed;
    }
    const auto &old_launch = std::any_cast<const KernelLaunch &>(from.work.parameters);
    const auto &new_launch = std::any_cast<const KernelLaunch &>(to.work.parameters);
    if (Registry::get().ended_with_context(old_launch.function)) {
        return function_changed;
    }
    if (cooperative(old_launch) != cooperative(new_launch) ||
        ((flags & node_priority_flag) != 0 && priority(old_launch) != priority(new_launch))) {
        return attributes_changed;
    }
    return fine;
}

// Properties of a memory location that cannot change.
struct Place {
    bool array = false, host = false;
    int device = -1;
    const CUctx_st *context = nullptr;
    bool operator==(const Place &) const = default;
};

Place place_of(std::uintptr_t address) {
    const Range *range = AddressSpace::get().find(address);
    if (range == nullptr || range->on_host()) {
        return {false, true, -1, nullptr};
    }
    return {false, false, range->device, range->context};
}

Place place_of(CUmemorytype type, const void *host, CUdeviceptr device, CUarray array) {
    if (type == CU_MEMORYTYPE_ARRAY) {
        return {true, false, -1, reinterpret_cast<const Object *>(array)->context};
    }
    return place_of(type == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uintptr_t>(host)
                                               : static_cast<std::uintptr_t>(device));
}

// Whether the parameters name a destroyed array, whose location is unknown.
bool has_dead_array(const CUDA_MEMCPY3D_PEER &copy) {
    const auto dead = [](CUmemorytype type, CUarray array) {
        return type == CU_MEMORYTYPE_ARRAY && Registry::get().find(array) == nullptr;
    };
    return dead(copy.srcMemoryType, copy.srcArray) || dead(copy.dstMemoryType, copy.dstArray);
}

int copy_problem(const NodeContent &from, const NodeContent &to) {
    const auto &a = std::any_cast<const CUDA_MEMCPY3D_PEER &>(from.work.parameters);
    const auto &b = std::any_cast<const CUDA_MEMCPY3D_PEER &>(to.work.parameters);
    if (has_dead_array(a) || has_dead_array(b)) {
        return parameters_changed;
    }
    const bool same = place_of(a.srcMemoryType, a.srcHost, a.srcDevice, a.srcArray) ==
                          place_of(b.srcMemoryType, b.srcHost, b.srcDevice, b.srcArray) &&
                      place_of(a.dstMemoryType, a.dstHost, a.dstDevice, a.dstArray) ==
                          place_of(b.dstMemoryType, b.dstHost, b.dstDevice, b.dstArray);
    return same ? fine : parameters_changed;
}

int memset_problem(const NodeContent &from, const NodeContent &to) {
    const auto &a = std::any_cast<const MemsetParameters &>(from.work.parameters);
    const auto &b = std::any_cast<const MemsetParameters &>(to.work.parameters);
    if (a.height != b.height) {
        explain("Memset height cannot be changed. Original: %zu, New: %zu", a.height, b.height);
    }
    const bool two_dimensional = a.height > 1;
    const bool same_dimensions = a.width == b.width && a.height == b.height && a.pitch == b.pitch &&
                                 a.element_size == b.element_size;
    if ((two_dimensional && !same_dimensions) || a.height != b.height ||
        !(place_of(static_cast<std::uintptr_t>(a.address)) ==
          place_of(static_cast<std::uintptr_t>(b.address)))) {
        return parameters_changed;
    }
    return fine;
}

int batch_problem(const NodeContent &from, const NodeContent &to) {
    const auto &a =
        std::any_cast<const std::vector<CUstreamBatchMemOpParams> &>(from.work.parameters);
    const auto &b =
        std::any_cast<const std::vector<CUstreamBatchMemOpParams> &>(to.work.parameters);
    const bool same =
        from.context == to.context && from.batch_flags == to.batch_flags &&
        std::equal(a.begin(), a.end(), b.begin(), b.end(),
                   [](const auto &x, const auto &y) { return x.operation == y.operation; });
    return same ? fine : parameters_changed;
}

template <class Operations>
int semaphore_problem(const NodeContent &from, const NodeContent &to) {
    const auto &a = std::any_cast<const Operations &>(from.work.parameters);
    const auto &b = std::any_cast<const Operations &>(to.work.parameters);
    return a.semaphores.size() == b.semaphores.size() ? fine : parameters_changed;
}

// A graph may contain events of any context, but an event cannot be changed in an executable graph.
// That of an event that was destroyed with its context is unknown.
int event_problem(const NodeContent &from, const NodeContent &to) {
    if (from.context == to.context || to.context == nullptr) {
        return fine;
    }
    explain("Event context cannot change during update");
    return parameters_changed;
}

int condition_problem(const Conditional &from, const Conditional &to) {
    return from.type == to.type && from.size == to.size ? fine : parameters_changed;
}

} // namespace

int change_problem(const Step &step, const NodeContent &to, unsigned long long flags) {
    const NodeContent &from = step.content;
    if (from.condition) {
        return condition_problem(*from.condition, *to.condition);
    }
    switch (from.work.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return kernel_problem(from, to, flags);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return copy_problem(from, to);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return memset_problem(from, to);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return batch_problem(from, to);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
        return semaphore_problem<SemaphoreSignals>(from, to);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        return semaphore_problem<SemaphoreWaits>(from, to);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return event_problem(from, to);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return from.allocation == to.allocation ? fine
                                                : not_supported; // the address belongs to the node
    default:
        return fine;
    }
}

} // namespace sim
