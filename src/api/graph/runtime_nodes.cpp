// Nodes of graphs by the runtime API: one struct for each type, which says what CUDA is told. They run in the
// context that is current when they are added or set.
#include "common_calls.hpp"
#include "interop/external_descriptions.hpp"
#include "kernel/launch_config.hpp"
#include "kernel_nodes.hpp"
#include "memory/pitched_copy.hpp"
#include "relatives.hpp"
#include "runtime.hpp"
#include "semaphore_nodes.hpp"

#include <bit>

namespace cushim::detail {
namespace {

void *pointer(unsigned long long address) noexcept {
    return reinterpret_cast<void *>(static_cast<std::uintptr_t>(address));
}

struct NoBatchMemOps {
    static Error error() noexcept { return lacks_batch_mem_ops(); }
};

struct EmptyCalls {
    static Result<void> add(const NodePlace &place, const NodeParameters &) noexcept {
        return CUSHIM_RUNTIME(cudaGraphAddEmptyNode, place.node, place.graph, place.dependencies,
                              place.count);
    }
    static Result<void> set(CUgraphNode, const NodeParameters &, CUcontext) noexcept {
        return Error::invalid_argument("an empty node has no parameters");
    }
    static Result<void> exec_set(CUgraphExec, CUgraphNode node, const NodeParameters &parameters,
                                 CUcontext context) noexcept {
        return set(node, parameters, context);
    }
};

// --- kernels: what the runtime takes for one since CUDA 12 is also the driver's CUkernel

#if CUDART_VERSION >= 12000
Result<cudaKernelNodeParams> native_kernel(const KernelNode &node) noexcept {
    if (!node.kernel.is_of_library()) {
        return Error::unsupported_platform(
            "the runtime API has no nodes of a module's kernels: load it as a library, or use a "
            "graph of the driver API");
    }
    const LaunchSizes sizes = native_sizes(node.config); // checked before
    cudaKernelNodeParams native{};
    native.func = node.kernel.native();
    native.gridDim = {sizes.grid.x, sizes.grid.y, sizes.grid.z};
    native.blockDim = {sizes.block.x, sizes.block.y, sizes.block.z};
    native.sharedMemBytes = sizes.shared_bytes;
    native.kernelParams = node.arguments;
    return native;
}

static_assert(int(cudaLaunchAttributePriority) == int(CU_LAUNCH_ATTRIBUTE_PRIORITY));
static_assert(int(cudaLaunchAttributeCooperative) == int(CU_LAUNCH_ATTRIBUTE_COOPERATIVE));
static_assert(int(cudaLaunchAttributeClusterDimension) ==
              int(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));
static_assert(sizeof(cudaLaunchAttributeValue) == sizeof(NodeAttributeValue));

Result<void> get_attribute(CUgraphNode node, unsigned int id, NodeAttributeValue *value) noexcept {
    return CUSHIM_RUNTIME(cudaGraphKernelNodeGetAttribute, node,
                          static_cast<cudaLaunchAttributeID>(id),
                          reinterpret_cast<cudaLaunchAttributeValue *>(value));
}

Result<void> set_attribute(CUgraphNode node, unsigned int id,
                           const NodeAttributeValue &value) noexcept {
    return CUSHIM_RUNTIME(cudaGraphKernelNodeSetAttribute, node,
                          static_cast<cudaLaunchAttributeID>(id),
                          reinterpret_cast<const cudaLaunchAttributeValue *>(&value));
}

constexpr AttributeCalls attributes = {get_attribute, set_attribute};

struct KernelCalls {
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        const auto &kernel = parameters.as<KernelNode>();
        CUSHIM_TRY(const auto native, native_kernel(kernel));
        CUSHIM_TRY_VOID(CUSHIM_RUNTIME(cudaGraphAddKernelNode, place.node, place.graph,
                                       place.dependencies, place.count, &native));
        Result<void> done = set_attributes(attributes, *place.node, kernel.config);
        if (!done) {
            (void)runtime_graphs.destroy_node(*place.node);
        }
        return done;
    }
    static Result<void> set(CUgraphNode node, const NodeParameters &parameters,
                            CUcontext context) noexcept {
        const auto &kernel = parameters.as<KernelNode>();
        CUSHIM_TRY(const auto native, native_kernel(kernel));
        return change_kernel(attributes, {node, kernel, context}, [&]() noexcept {
            return CUSHIM_RUNTIME(cudaGraphKernelNodeSetParams, node, &native);
        });
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node,
                                 const NodeParameters &parameters, CUcontext context) noexcept {
        const auto &kernel = parameters.as<KernelNode>();
        CUSHIM_TRY(const auto native, native_kernel(kernel));
        CUSHIM_TRY_VOID(require_same_attributes(attributes, {node, kernel, context}));
        return CUSHIM_RUNTIME(cudaGraphExecKernelNodeSetParams, exec, node, &native);
    }
};
#else
struct NoLoadedKernels {
    static Error error() noexcept {
        return Error::unsupported_platform("the runtime API before CUDA 12 has no nodes of kernels "
                                           "that are loaded: use a graph of the driver API");
    }
};
using KernelCalls = LackingCalls<NoLoadedKernels>;
#endif

// --- copies and fills

// Without arrays all widths are in bytes.
cudaPitchedPtr native_of(const PitchedView &view, std::size_t width) noexcept {
    return {pointer(view.address), view.pitch.row, width, view.pitch.layer};
}

cudaMemcpyKind native_of(CopyKind kind) noexcept {
    switch (kind) {
    case CopyKind::host_to_device:
        return cudaMemcpyHostToDevice;
    case CopyKind::device_to_host:
        return cudaMemcpyDeviceToHost;
    case CopyKind::device_to_device:
        break;
    }
    return cudaMemcpyDefault; // of whatever devices
}

cudaMemcpy3DParms native_copy(const NodeParameters &parameters) noexcept {
    const auto &copy = parameters.as<PitchedCopy>();
    const Extent &extent = copy.to.extent;
    const std::size_t width = extent.width * copy.element.size;
    cudaMemcpy3DParms native{};
    native.srcPtr = native_of(copy.from, width);
    native.dstPtr = native_of(copy.to, width);
    native.extent = {width, extent.height, extent.depth};
    native.kind = native_of(copy.kind);
    return native;
}

struct MemcpyCalls {
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        const auto native = native_copy(parameters);
        return CUSHIM_RUNTIME(cudaGraphAddMemcpyNode, place.node, place.graph, place.dependencies,
                              place.count, &native);
    }
    static Result<void> set(CUgraphNode node, const NodeParameters &parameters,
                            CUcontext) noexcept {
        const auto native = native_copy(parameters);
        return CUSHIM_RUNTIME(cudaGraphMemcpyNodeSetParams, node, &native);
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node,
                                 const NodeParameters &parameters, CUcontext) noexcept {
        const auto native = native_copy(parameters);
        return CUSHIM_RUNTIME(cudaGraphExecMemcpyNodeSetParams, exec, node, &native);
    }
};

cudaMemsetParams native_fill(const NodeParameters &parameters) noexcept {
    const auto &fill = parameters.as<PitchedFill>();
    cudaMemsetParams native{};
    native.dst = pointer(fill.to.address);
    native.pitch = fill.to.pitch.row;
    native.value = fill.value;
    native.elementSize = static_cast<unsigned int>(fill.element.size);
    native.width = fill.to.extent.width;
    native.height = fill.to.extent.height * fill.to.extent.depth;
    return native;
}

struct MemsetCalls {
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        const auto native = native_fill(parameters);
        return CUSHIM_RUNTIME(cudaGraphAddMemsetNode, place.node, place.graph, place.dependencies,
                              place.count, &native);
    }
    static Result<void> set(CUgraphNode node, const NodeParameters &parameters,
                            CUcontext) noexcept {
        const auto native = native_fill(parameters);
        return CUSHIM_RUNTIME(cudaGraphMemsetNodeSetParams, node, &native);
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node,
                                 const NodeParameters &parameters, CUcontext) noexcept {
        const auto native = native_fill(parameters);
        return CUSHIM_RUNTIME(cudaGraphExecMemsetNodeSetParams, exec, node, &native);
    }
};

// --- what has a function, a graph or an event

cudaHostNodeParams native_host(const NodeParameters &parameters) noexcept {
    const auto &host = parameters.as<HostNode>();
    cudaHostNodeParams native{};
    native.fn = host.function;
    native.userData = host.user;
    return native;
}

struct HostCalls {
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        const auto native = native_host(parameters);
        return CUSHIM_RUNTIME(cudaGraphAddHostNode, place.node, place.graph, place.dependencies,
                              place.count, &native);
    }
    static Result<void> set(CUgraphNode node, const NodeParameters &parameters,
                            CUcontext) noexcept {
        const auto native = native_host(parameters);
        return CUSHIM_RUNTIME(cudaGraphHostNodeSetParams, node, &native);
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node,
                                 const NodeParameters &parameters, CUcontext) noexcept {
        const auto native = native_host(parameters);
        return CUSHIM_RUNTIME(cudaGraphExecHostNodeSetParams, exec, node, &native);
    }
};

struct ChildGraphCalls {
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        const RelativesGuard guard;
        return CUSHIM_RUNTIME(cudaGraphAddChildGraphNode, place.node, place.graph,
                              place.dependencies, place.count,
                              parameters.as<ChildGraphNode>().graph);
    }
    static Result<void> set(CUgraphNode, const NodeParameters &, CUcontext) noexcept {
        return Error::unsupported_platform("the graph in a node cannot be set, but changed");
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node,
                                 const NodeParameters &parameters, CUcontext) noexcept {
        const RelativesGuard guard;
        return CUSHIM_RUNTIME(cudaGraphExecChildGraphNodeSetParams, exec, node,
                              parameters.as<ChildGraphNode>().graph);
    }
};

struct EventRecordCalls {
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        return CUSHIM_RUNTIME(cudaGraphAddEventRecordNode, place.node, place.graph,
                              place.dependencies, place.count, parameters.as<EventNode>().event);
    }
    static Result<void> set(CUgraphNode node, const NodeParameters &parameters,
                            CUcontext) noexcept {
        return CUSHIM_RUNTIME(cudaGraphEventRecordNodeSetEvent, node,
                              parameters.as<EventNode>().event);
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node,
                                 const NodeParameters &parameters, CUcontext) noexcept {
        return CUSHIM_RUNTIME(cudaGraphExecEventRecordNodeSetEvent, exec, node,
                              parameters.as<EventNode>().event);
    }
};

struct EventWaitCalls {
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        return CUSHIM_RUNTIME(cudaGraphAddEventWaitNode, place.node, place.graph,
                              place.dependencies, place.count, parameters.as<EventNode>().event);
    }
    static Result<void> set(CUgraphNode node, const NodeParameters &parameters,
                            CUcontext) noexcept {
        return CUSHIM_RUNTIME(cudaGraphEventWaitNodeSetEvent, node,
                              parameters.as<EventNode>().event);
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node,
                                 const NodeParameters &parameters, CUcontext) noexcept {
        return CUSHIM_RUNTIME(cudaGraphExecEventWaitNodeSetEvent, exec, node,
                              parameters.as<EventNode>().event);
    }
};

// --- external semaphores: the driver's structs under other names

template <class Runtime, class Driver>
constexpr bool same_operations =
    sizeof(Runtime) == sizeof(Driver) &&
    offsetof(Runtime, params.fence.value) == offsetof(Driver, params.fence.value) &&
    offsetof(Runtime, params.nvSciSync) == offsetof(Driver, params.nvSciSync) &&
    offsetof(Runtime, params.keyedMutex.key) == offsetof(Driver, params.keyedMutex.key) &&
    offsetof(Runtime, flags) == offsetof(Driver, flags);
static_assert(
    same_operations<cudaExternalSemaphoreSignalParams, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS>);
static_assert(
    same_operations<cudaExternalSemaphoreWaitParams, CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS>);
static_assert(offsetof(cudaExternalSemaphoreWaitParams, params.keyedMutex.timeoutMs) ==
              offsetof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, params.keyedMutex.timeoutMs));
static_assert(int(cudaExternalSemaphoreSignalSkipNvSciBufMemSync) ==
              int(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC));
static_assert(int(cudaExternalSemaphoreWaitSkipNvSciBufMemSync) ==
              int(CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC));

struct RuntimeSemaphores {
    using Semaphore = cudaExternalSemaphore_t;
    static Semaphore semaphore(CUexternalSemaphore handle) noexcept {
        return reinterpret_cast<Semaphore>(handle);
    }
};

struct SignalTraits : RuntimeSemaphores {
    using Node = cudaExternalSemaphoreSignalNodeParams;
    using Operation = cudaExternalSemaphoreSignalParams;
    static Operation operation(const SemaphoreOperation &of) noexcept {
        return std::bit_cast<Operation>(signal_parameters(of));
    }
    static Result<void> add(const NodePlace &place, const Node &node) noexcept {
        return CUSHIM_RUNTIME(cudaGraphAddExternalSemaphoresSignalNode, place.node, place.graph,
                              place.dependencies, place.count, &node);
    }
    static Result<void> set(CUgraphNode node, const Node &to) noexcept {
        return CUSHIM_RUNTIME(cudaGraphExternalSemaphoresSignalNodeSetParams, node, &to);
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node, const Node &to) noexcept {
        return CUSHIM_RUNTIME(cudaGraphExecExternalSemaphoresSignalNodeSetParams, exec, node, &to);
    }
};

struct WaitTraits : RuntimeSemaphores {
    using Node = cudaExternalSemaphoreWaitNodeParams;
    using Operation = cudaExternalSemaphoreWaitParams;
    static Operation operation(const SemaphoreOperation &of) noexcept {
        return std::bit_cast<Operation>(wait_parameters(of));
    }
    static Result<void> add(const NodePlace &place, const Node &node) noexcept {
        return CUSHIM_RUNTIME(cudaGraphAddExternalSemaphoresWaitNode, place.node, place.graph,
                              place.dependencies, place.count, &node);
    }
    static Result<void> set(CUgraphNode node, const Node &to) noexcept {
        return CUSHIM_RUNTIME(cudaGraphExternalSemaphoresWaitNodeSetParams, node, &to);
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node, const Node &to) noexcept {
        return CUSHIM_RUNTIME(cudaGraphExecExternalSemaphoresWaitNodeSetParams, exec, node, &to);
    }
};

// --- memory that is freed

struct MemFreeCalls : UnchangeableCalls {
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        return CUSHIM_RUNTIME(cudaGraphAddMemFreeNode, place.node, place.graph, place.dependencies,
                              place.count, pointer(parameters.as<MemFreeNode>().address));
    }
};

template <class Calls>
constexpr NodeCalls calls = {&Calls::add, &Calls::set, &Calls::exec_set};

} // namespace

const NodeCalls &runtime_node_calls(GraphNodeType type) noexcept {
    switch (type) {
    case GraphNodeType::kernel:
        return calls<KernelCalls>;
    case GraphNodeType::memcpy:
        return calls<MemcpyCalls>;
    case GraphNodeType::memset:
        return calls<MemsetCalls>;
    case GraphNodeType::host:
        return calls<HostCalls>;
    case GraphNodeType::child_graph:
        return calls<ChildGraphCalls>;
    case GraphNodeType::event_record:
        return calls<EventRecordCalls>;
    case GraphNodeType::event_wait:
        return calls<EventWaitCalls>;
    case GraphNodeType::semaphore_signal:
        return calls<SemaphoreCalls<SignalTraits>>;
    case GraphNodeType::semaphore_wait:
        return calls<SemaphoreCalls<WaitTraits>>;
    case GraphNodeType::batch_mem_op:
        return calls<LackingCalls<NoBatchMemOps>>;
    case GraphNodeType::mem_free:
        return calls<MemFreeCalls>;
    default:
        return calls<EmptyCalls>;
    }
}

} // namespace cushim::detail
