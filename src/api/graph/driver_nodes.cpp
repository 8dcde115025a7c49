// Nodes of graphs by the driver API: one struct for each type, which says what CUDA is told.
#include "base/with_memory.hpp"
#include "common_calls.hpp"
#include "driver.hpp"
#include "interop/external_descriptions.hpp"
#include "kernel/launch_config.hpp"
#include "kernel_nodes.hpp"
#include "memory/pitched_copy.hpp"
#include "relatives.hpp"
#include "semaphore_nodes.hpp"

#include <vector>

namespace cushim::detail {
namespace {

struct EmptyCalls {
    static Result<void> add(const NodePlace &place, const NodeParameters &) noexcept {
        return CUSHIM_DRIVER(cuGraphAddEmptyNode, place.node, place.graph, place.dependencies,
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

// --- kernels: the older struct for a module's, the newer one for a library's

template <class Native>
Native kernel_of(const KernelNode &node) noexcept {
    const LaunchSizes sizes = native_sizes(node.config); // checked before
    Native native{};
    native.gridDimX = sizes.grid.x;
    native.gridDimY = sizes.grid.y;
    native.gridDimZ = sizes.grid.z;
    native.blockDimX = sizes.block.x;
    native.blockDimY = sizes.block.y;
    native.blockDimZ = sizes.block.z;
    native.sharedMemBytes = sizes.shared_bytes;
    native.kernelParams = node.arguments;
    return native;
}

CUDA_KERNEL_NODE_PARAMS_v1 module_kernel(const KernelNode &node) noexcept {
    auto native = kernel_of<CUDA_KERNEL_NODE_PARAMS_v1>(node);
    native.func = node.kernel.native();
    return native;
}

#if CUDA_VERSION >= 12000
CUDA_KERNEL_NODE_PARAMS_v2 library_kernel(const KernelNode &node, CUcontext context) noexcept {
    auto native = kernel_of<CUDA_KERNEL_NODE_PARAMS_v2>(node);
    native.kern = reinterpret_cast<CUkernel>(node.kernel.native());
    native.ctx = context;
    return native;
}
#endif

Result<void> get_attribute(CUgraphNode node, unsigned int id, NodeAttributeValue *value) noexcept {
    return CUSHIM_DRIVER(cuGraphKernelNodeGetAttribute, node, static_cast<CUkernelNodeAttrID>(id),
                         reinterpret_cast<CUkernelNodeAttrValue *>(value));
}

Result<void> set_attribute(CUgraphNode node, unsigned int id,
                           const NodeAttributeValue &value) noexcept {
    return CUSHIM_DRIVER(cuGraphKernelNodeSetAttribute, node, static_cast<CUkernelNodeAttrID>(id),
                         reinterpret_cast<const CUkernelNodeAttrValue *>(&value));
}

constexpr AttributeCalls attributes = {get_attribute, set_attribute};

struct KernelCalls {
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        const auto &kernel = parameters.as<KernelNode>();
        CUSHIM_TRY_VOID(add_plain(place, kernel));
        Result<void> done = set_attributes(attributes, *place.node, kernel.config);
        if (!done) {
            (void)driver_graphs.destroy_node(*place.node);
        }
        return done;
    }
    static Result<void> set(CUgraphNode node, const NodeParameters &parameters,
                            CUcontext context) noexcept {
        const auto &kernel = parameters.as<KernelNode>();
        return change_kernel(attributes, {node, kernel, context},
                             [&]() noexcept { return set_plain(node, kernel, context); });
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node,
                                 const NodeParameters &parameters, CUcontext context) noexcept {
        const auto &kernel = parameters.as<KernelNode>();
        CUSHIM_TRY_VOID(require_same_attributes(attributes, {node, kernel, context}));
#if CUDA_VERSION >= 12000
        if (kernel.kernel.is_of_library()) {
            const auto native = library_kernel(kernel, context);
            return CUSHIM_DRIVER(cuGraphExecKernelNodeSetParams, exec, node, &native);
        }
#endif
        const auto native = module_kernel(kernel);
        return CUSHIM_DRIVER(cuGraphExecKernelNodeSetParams_v1, exec, node, &native);
    }

  private:
    static Result<void> add_plain(const NodePlace &place, const KernelNode &kernel) noexcept {
#if CUDA_VERSION >= 12000
        if (kernel.kernel.is_of_library()) {
            const auto native = library_kernel(kernel, place.context);
            return CUSHIM_DRIVER(cuGraphAddKernelNode, place.node, place.graph, place.dependencies,
                                 place.count, &native);
        }
#endif
        const auto native = module_kernel(kernel);
        return CUSHIM_DRIVER(cuGraphAddKernelNode_v1, place.node, place.graph, place.dependencies,
                             place.count, &native);
    }
    static Result<void> set_plain(CUgraphNode node, const KernelNode &kernel,
                                  [[maybe_unused]] CUcontext context) noexcept {
#if CUDA_VERSION >= 12000
        if (kernel.kernel.is_of_library()) {
            const auto native = library_kernel(kernel, context);
            return CUSHIM_DRIVER(cuGraphKernelNodeSetParams, node, &native);
        }
#endif
        const auto native = module_kernel(kernel);
        return CUSHIM_DRIVER(cuGraphKernelNodeSetParams_v1, node, &native);
    }
};

// --- copies and fills

struct MemcpyCalls {
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        const auto native = parameters_3d(parameters.as<PitchedCopy>());
        return CUSHIM_DRIVER(cuGraphAddMemcpyNode, place.node, place.graph, place.dependencies,
                             place.count, &native, place.context);
    }
    static Result<void> set(CUgraphNode node, const NodeParameters &parameters,
                            CUcontext) noexcept {
        const auto native = parameters_3d(parameters.as<PitchedCopy>());
        return CUSHIM_DRIVER(cuGraphMemcpyNodeSetParams, node, &native);
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node,
                                 const NodeParameters &parameters, CUcontext context) noexcept {
        const auto native = parameters_3d(parameters.as<PitchedCopy>());
        return CUSHIM_DRIVER(cuGraphExecMemcpyNodeSetParams, exec, node, &native, context);
    }
};

struct MemsetCalls {
    static CUDA_MEMSET_NODE_PARAMS native_of(const NodeParameters &parameters) noexcept {
        const auto &fill = parameters.as<PitchedFill>();
        CUDA_MEMSET_NODE_PARAMS native{};
        native.dst = static_cast<CUdeviceptr>(fill.to.address);
        native.pitch = fill.to.pitch.row;
        native.value = fill.value;
        native.elementSize = static_cast<unsigned int>(fill.element.size);
        native.width = fill.to.extent.width;
        native.height = fill.to.extent.height * fill.to.extent.depth;
        return native;
    }
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        const auto native = native_of(parameters);
        return CUSHIM_DRIVER(cuGraphAddMemsetNode, place.node, place.graph, place.dependencies,
                             place.count, &native, place.context);
    }
    static Result<void> set(CUgraphNode node, const NodeParameters &parameters,
                            CUcontext) noexcept {
        const auto native = native_of(parameters);
        return CUSHIM_DRIVER(cuGraphMemsetNodeSetParams, node, &native);
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node,
                                 const NodeParameters &parameters, CUcontext context) noexcept {
        const auto native = native_of(parameters);
        return CUSHIM_DRIVER(cuGraphExecMemsetNodeSetParams, exec, node, &native, context);
    }
};

// --- what has a function, a graph or an event

struct HostCalls {
    static CUDA_HOST_NODE_PARAMS native_of(const NodeParameters &parameters) noexcept {
        const auto &host = parameters.as<HostNode>();
        CUDA_HOST_NODE_PARAMS native{};
        native.fn = host.function;
        native.userData = host.user;
        return native;
    }
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        const auto native = native_of(parameters);
        return CUSHIM_DRIVER(cuGraphAddHostNode, place.node, place.graph, place.dependencies,
                             place.count, &native);
    }
    static Result<void> set(CUgraphNode node, const NodeParameters &parameters,
                            CUcontext) noexcept {
        const auto native = native_of(parameters);
        return CUSHIM_DRIVER(cuGraphHostNodeSetParams, node, &native);
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node,
                                 const NodeParameters &parameters, CUcontext) noexcept {
        const auto native = native_of(parameters);
        return CUSHIM_DRIVER(cuGraphExecHostNodeSetParams, exec, node, &native);
    }
};

struct ChildGraphCalls {
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        const RelativesGuard guard;
        return CUSHIM_DRIVER(cuGraphAddChildGraphNode, place.node, place.graph, place.dependencies,
                             place.count, parameters.as<ChildGraphNode>().graph);
    }
    static Result<void> set(CUgraphNode, const NodeParameters &, CUcontext) noexcept {
        return Error::unsupported_platform("the graph in a node cannot be set, but changed");
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node,
                                 const NodeParameters &parameters, CUcontext) noexcept {
        const RelativesGuard guard;
        return CUSHIM_DRIVER(cuGraphExecChildGraphNodeSetParams, exec, node,
                             parameters.as<ChildGraphNode>().graph);
    }
};

struct EventRecordCalls {
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        return CUSHIM_DRIVER(cuGraphAddEventRecordNode, place.node, place.graph, place.dependencies,
                             place.count, parameters.as<EventNode>().event);
    }
    static Result<void> set(CUgraphNode node, const NodeParameters &parameters,
                            CUcontext) noexcept {
        return CUSHIM_DRIVER(cuGraphEventRecordNodeSetEvent, node,
                             parameters.as<EventNode>().event);
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node,
                                 const NodeParameters &parameters, CUcontext) noexcept {
        return CUSHIM_DRIVER(cuGraphExecEventRecordNodeSetEvent, exec, node,
                             parameters.as<EventNode>().event);
    }
};

struct EventWaitCalls {
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        return CUSHIM_DRIVER(cuGraphAddEventWaitNode, place.node, place.graph, place.dependencies,
                             place.count, parameters.as<EventNode>().event);
    }
    static Result<void> set(CUgraphNode node, const NodeParameters &parameters,
                            CUcontext) noexcept {
        return CUSHIM_DRIVER(cuGraphEventWaitNodeSetEvent, node, parameters.as<EventNode>().event);
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node,
                                 const NodeParameters &parameters, CUcontext) noexcept {
        return CUSHIM_DRIVER(cuGraphExecEventWaitNodeSetEvent, exec, node,
                             parameters.as<EventNode>().event);
    }
};

// --- external semaphores

struct DriverSemaphores {
    using Semaphore = CUexternalSemaphore;
    static Semaphore semaphore(CUexternalSemaphore handle) noexcept { return handle; }
};

struct SignalTraits : DriverSemaphores {
    using Node = CUDA_EXT_SEM_SIGNAL_NODE_PARAMS;
    using Operation = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS;
    static Operation operation(const SemaphoreOperation &of) noexcept {
        return signal_parameters(of);
    }
    static Result<void> add(const NodePlace &place, const Node &node) noexcept {
        return CUSHIM_DRIVER(cuGraphAddExternalSemaphoresSignalNode, place.node, place.graph,
                             place.dependencies, place.count, &node);
    }
    static Result<void> set(CUgraphNode node, const Node &to) noexcept {
        return CUSHIM_DRIVER(cuGraphExternalSemaphoresSignalNodeSetParams, node, &to);
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node, const Node &to) noexcept {
        return CUSHIM_DRIVER(cuGraphExecExternalSemaphoresSignalNodeSetParams, exec, node, &to);
    }
};

struct WaitTraits : DriverSemaphores {
    using Node = CUDA_EXT_SEM_WAIT_NODE_PARAMS;
    using Operation = CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS;
    static Operation operation(const SemaphoreOperation &of) noexcept {
        return wait_parameters(of);
    }
    static Result<void> add(const NodePlace &place, const Node &node) noexcept {
        return CUSHIM_DRIVER(cuGraphAddExternalSemaphoresWaitNode, place.node, place.graph,
                             place.dependencies, place.count, &node);
    }
    static Result<void> set(CUgraphNode node, const Node &to) noexcept {
        return CUSHIM_DRIVER(cuGraphExternalSemaphoresWaitNodeSetParams, node, &to);
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node, const Node &to) noexcept {
        return CUSHIM_DRIVER(cuGraphExecExternalSemaphoresWaitNodeSetParams, exec, node, &to);
    }
};

// --- memory operations, and memory that is freed

#if CUDA_VERSION >= 11070
struct BatchMemOpCalls {
    // CUDA only reads the array.
    static CUDA_BATCH_MEM_OP_NODE_PARAMS native_of(const NodeParameters &parameters,
                                                   CUcontext context) noexcept {
        const auto &batch = parameters.as<BatchMemOpNode>();
        CUDA_BATCH_MEM_OP_NODE_PARAMS native{};
        native.ctx = context;
        native.count = static_cast<unsigned int>(batch.count);
        native.paramArray = const_cast<CUstreamBatchMemOpParams *>(batch.operations);
        return native;
    }
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        const auto native = native_of(parameters, place.context);
        return CUSHIM_DRIVER(cuGraphAddBatchMemOpNode, place.node, place.graph, place.dependencies,
                             place.count, &native);
    }
    static Result<void> set(CUgraphNode node, const NodeParameters &parameters,
                            CUcontext context) noexcept {
        const auto native = native_of(parameters, context);
        return CUSHIM_DRIVER(cuGraphBatchMemOpNodeSetParams, node, &native);
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node,
                                 const NodeParameters &parameters, CUcontext context) noexcept {
        const auto native = native_of(parameters, context);
        return CUSHIM_DRIVER(cuGraphExecBatchMemOpNodeSetParams, exec, node, &native);
    }
};
#else
struct NoBatchMemOps {
    static Error error() noexcept {
        return Error::requires_newer_headers("cuGraphAddBatchMemOpNode", Version::of(11, 7));
    }
};
using BatchMemOpCalls = LackingCalls<NoBatchMemOps>;
#endif

struct MemFreeCalls : UnchangeableCalls {
    static Result<void> add(const NodePlace &place, const NodeParameters &parameters) noexcept {
        return CUSHIM_DRIVER(cuGraphAddMemFreeNode, place.node, place.graph, place.dependencies,
                             place.count, parameters.as<MemFreeNode>().address);
    }
};

template <class Calls>
constexpr NodeCalls calls = {&Calls::add, &Calls::set, &Calls::exec_set};

} // namespace

const NodeCalls &driver_node_calls(GraphNodeType type) noexcept {
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
        return calls<BatchMemOpCalls>;
    case GraphNodeType::mem_free:
        return calls<MemFreeCalls>;
    default:
        return calls<EmptyCalls>;
    }
}

} // namespace cushim::detail
