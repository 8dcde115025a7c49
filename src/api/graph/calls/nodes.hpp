// Node types: checks, structs and calls of each. Compiled for each API: graph.hpp.
#pragma once

#include <bit>
#include <vector>

#include "base/ranges.hpp"
#include "base/with_memory.hpp"
#include "graph/kernel_nodes.hpp"
#include "graph/parameters.hpp"
#include "graph/relatives.hpp"
#include "interop/external_descriptions.hpp"
#include "kernel/launch_config.hpp"
#include "memory/pitched_copy.hpp"

namespace cushim::detail {
namespace {

Result<void> destroy_node(CUgraphNode node) noexcept;

/* The operations of the node type with these parameters:
 *     is_added_anywhere(node)               whether no context need be current
 *     is_plain(node)                        whether it is not empty, check() succeeds and call()
 *                                           suffices, as for most nodes; may be false although
 *                                           this is so
 *     is_checked_late                       whether is_plain() comes after the question for the
 *                                           context, which is shorter
 *     check(node)                           invalid_argument for errors that can be detected here
 *     with_native(node, context, use)       use(parameters) with CUDA's parameters
 *     call(place, parameters)               CUDA's function that adds the node
 *     succeeded(call), result(call, node, context)
 *                                           what call() returned
 *     add(place, parameters)                the same for nodes that need more; only for kernels
 *     set(node, parameters, context), exec_set(exec, node, parameters, context) */
template <class Node>
struct Kind;

struct AnyKind {
    static constexpr bool is_checked_late = false;
    static bool is_added_anywhere(const auto &node) noexcept {
        return detail::is_added_anywhere(node);
    }
    static bool is_plain(const auto &) noexcept { return true; }
    static Result<void> check(const auto &) noexcept { return {}; }
    static auto with_native(const auto &node, CUcontext, const auto &use) noexcept {
        return use(node);
    }
    static bool succeeded(const auto &call) noexcept { return static_cast<bool>(call); }
    static Result<void> result(const auto &call, const auto &, CUcontext) noexcept { return call; }
};

// Types that an API or its headers lack: each call fails with Lacking::error().
template <class Lacking>
struct LackingKind : AnyKind {
    static Result<void> call(const NodePlace &, const auto &) noexcept { return Lacking::error(); }
    static Result<void> set(CUgraphNode, const auto &, CUcontext) noexcept {
        return Lacking::error();
    }
    static Result<void> exec_set(CUgraphExec, CUgraphNode, const auto &, CUcontext) noexcept {
        return Lacking::error();
    }
};

// The three functions of a type: GraphAdd{kind}Node, Graph{kind}Node{Set},
// GraphExec{kind}Node{Set}.
#define CUSHIM_ADD(kind, and_context)                                                              \
    static auto call(const NodePlace &place, const auto &parameters) noexcept {                    \
        return CUSHIM_GRAPH_CALL(GraphAdd##kind##Node, place.node, place.graph,                    \
                                 place.dependencies, place.count,                                  \
                                 parameters and_context(place.context));                           \
    }
#define CUSHIM_EXEC_SET(kind, Set, and_context)                                                    \
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node, const auto &parameters,       \
                                 [[maybe_unused]] CUcontext current) noexcept {                    \
        return CUSHIM_GRAPH(GraphExec##kind##Node##Set, exec, node,                                \
                            parameters and_context(current));                                      \
    }
#define CUSHIM_ADD_AND_SET(kind, Set, and_context)                                                 \
    CUSHIM_ADD(kind, and_context)                                                                  \
    static Result<void> set(CUgraphNode node, const auto &parameters, CUcontext) noexcept {        \
        return CUSHIM_GRAPH(Graph##kind##Node##Set, node, parameters);                             \
    }                                                                                              \
    CUSHIM_EXEC_SET(kind, Set, and_context)
#define CUSHIM_NO_CONTEXT(context)

template <>
struct Kind<EmptyNode> : AnyKind {
    static auto call(const NodePlace &place, const EmptyNode &) noexcept {
        return CUSHIM_GRAPH_CALL(GraphAddEmptyNode, place.node, place.graph, place.dependencies,
                                 place.count);
    }
    static Result<void> set(CUgraphNode, const EmptyNode &, CUcontext) noexcept {
        return Error::invalid_argument("an empty node has no parameters");
    }
    static Result<void> exec_set(CUgraphExec, CUgraphNode node, const EmptyNode &empty,
                                 CUcontext context) noexcept {
        return set(node, empty, context);
    }
};

// --- kernels: their structs and calls are in the API's own header

#ifdef CUSHIM_GRAPH_LACKS_KERNELS
struct LackingKernels {
    static Error error() noexcept { return lacks_kernels(); }
};
using KernelCalls = LackingKind<LackingKernels>;
#else
using AttributeId = CUSHIM_EITHER(CUkernelNodeAttrID, cudaLaunchAttributeID);
using AttributeValue = CUSHIM_EITHER(CUkernelNodeAttrValue, cudaLaunchAttributeValue);

Result<void> get_attribute(CUgraphNode node, unsigned int id, NodeAttributeValue *value) noexcept {
    return CUSHIM_GRAPH(GraphKernelNodeGetAttribute, node, static_cast<AttributeId>(id),
                        reinterpret_cast<AttributeValue *>(value));
}

Result<void> set_attribute(CUgraphNode node, unsigned int id,
                           const NodeAttributeValue &value) noexcept {
    return CUSHIM_GRAPH(GraphKernelNodeSetAttribute, node, static_cast<AttributeId>(id),
                        reinterpret_cast<const AttributeValue *>(&value));
}

constexpr KernelNodeCalls kernel_calls = {get_attribute, set_attribute, set_kernel};

Result<void> with_limits(Result<void> &&done, const KernelNode &node, CUcontext context) noexcept {
    return done ? Result<void>()
                : explain_launch(done.error(), node.kernel, Context::borrow(context), node.config);
}

Result<void> check_kernel(const KernelNode &node, CUcontext context) noexcept {
    CUSHIM_TRY_VOID(require_kernel(node));
    return sizes_fit(node.config) ? Result<void>()
                                  : with_limits(unfit_sizes(node.config), node, context);
}

struct KernelCalls : AnyKind {
    static bool is_plain(const KernelNode &node) noexcept {
        return accepts_kernel(node) && are_usual_sizes(node.config) &&
               !asks_for_attributes(node.config);
    }
    [[gnu::always_inline]] static auto call(const NodePlace &place,
                                            const KernelNode &kernel) noexcept {
        return add_kernel(place, kernel);
    }
    template <class Status>
    static bool succeeded(Status status) noexcept {
        return status == Status{};
    }
    static Result<void> result(auto status, const KernelNode &kernel, CUcontext context) noexcept {
        return with_limits(added_kernel(status, kernel), kernel, context);
    }
    static Result<void> add(const NodePlace &place, const KernelNode &kernel) noexcept {
        CUSHIM_TRY_VOID(check_kernel(kernel, place.context));
        CUSHIM_TRY_VOID(result(call(place, kernel), kernel, place.context));
        if (!asks_for_attributes(kernel.config)) {
            return {};
        }
        Result<void> done = set_asked_attributes(kernel_calls, *place.node, kernel.config);
        if (!done) {
            (void)destroy_node(*place.node);
        }
        return done;
    }
    static Result<void> set(CUgraphNode node, const KernelNode &kernel,
                            CUcontext context) noexcept {
        CUSHIM_TRY_VOID(check_kernel(kernel, context));
        return with_limits(change_kernel(kernel_calls, {node, kernel, context}), kernel, context);
    }
    static Result<void> exec_set(CUgraphExec exec, CUgraphNode node, const KernelNode &kernel,
                                 CUcontext context) noexcept {
        CUSHIM_TRY_VOID(check_kernel(kernel, context));
        CUSHIM_TRY_VOID(require_same_attributes(kernel_calls, {node, kernel, context}));
        return with_limits(exec_set_kernel(exec, node, kernel, context), kernel, context);
    }
};
#endif

template <>
struct Kind<KernelNode> : KernelCalls {
    static bool is_plain(const KernelNode &node) noexcept {
        return node.kernel.native() != nullptr && KernelCalls::is_plain(node);
    }
    static Result<void> check(const KernelNode &node) noexcept {
        return require(node.kernel, "the Kernel holds no kernel");
    }
};

// --- copies and fills

template <>
struct Kind<PitchedCopy> : AnyKind {
    static bool is_plain(const PitchedCopy &copy) noexcept { return detail::is_plain(copy); }
    static Result<void> check(const PitchedCopy &copy) noexcept { return detail::check(copy); }
    static auto with_native(const PitchedCopy &copy, CUcontext, const auto &use) noexcept {
        const auto native = native_copy(copy);
        return use(&native);
    }
    CUSHIM_ADD_AND_SET(Memcpy, SetParams, CUSHIM_AND_CONTEXT)
};

// The operations of the pitched one, which the compiler shortens for one row.
template <class Linear, class Pitched>
struct LinearKind : Kind<Pitched> {
    static bool is_plain(const Linear &node) noexcept {
        return Kind<Pitched>::is_plain(pitched(node));
    }
    static Result<void> check(const Linear &node) noexcept {
        return Kind<Pitched>::check(pitched(node));
    }
    static auto with_native(const Linear &node, CUcontext context, const auto &use) noexcept {
        return Kind<Pitched>::with_native(pitched(node), context, use);
    }
};

template <>
struct Kind<Copy> : LinearKind<Copy, PitchedCopy> {
    static bool is_plain(const Copy &copy) noexcept {
        return copy.to_size == copy.from_size && LinearKind::is_plain(copy); // shorter so
    }
};

template <>
struct Kind<PitchedFill> : AnyKind {
    static bool is_plain(const PitchedFill &fill) noexcept { return detail::is_plain(fill); }
    // CUDA's node supports rows, but not layers.
    static Result<void> check(const PitchedFill &fill) noexcept {
        CUSHIM_TRY_VOID(detail::check(fill));
        const auto &[address, extent, pitch] = fill.to;
        if (extent.depth > 1 && pitch.layer != extent.height) {
            return invalid_argument("layer pitch %zu rows, height %zu rows: the layers of a memset "
                                    "node must be adjacent; add a memset node for each layer",
                                    pitch.layer, extent.height);
        }
        return {};
    }
    static auto with_native(const PitchedFill &fill, CUcontext, const auto &use) noexcept {
        CUSHIM_EITHER(CUDA_MEMSET_NODE_PARAMS, cudaMemsetParams) native{};
        native.dst = native_pointer(fill.to.address);
        native.pitch = fill.to.pitch.row;
        native.value = fill.value;
        native.elementSize = static_cast<unsigned int>(fill.element.size);
        native.width = fill.to.extent.width;
        native.height = fill.to.extent.height * fill.to.extent.depth;
        return use(&native);
    }
    CUSHIM_ADD_AND_SET(Memset, SetParams, CUSHIM_AND_CONTEXT)
};

template <>
struct Kind<Fill> : LinearKind<Fill, PitchedFill> {};

// --- nodes with a function, a graph or an event

template <>
struct Kind<HostNode> : AnyKind {
    static bool is_plain(const HostNode &host) noexcept { return host.function != nullptr; }
    static Result<void> check(const HostNode &host) noexcept {
        return is_plain(host) ? Result<void>() : no_host_memory(); // for the closure
    }
    static auto with_native(const HostNode &host, CUcontext, const auto &use) noexcept {
        CUSHIM_EITHER(CUDA_HOST_NODE_PARAMS, cudaHostNodeParams) native{};
        native.fn = host.function;
        native.userData = host.user;
        return use(&native);
    }
    CUSHIM_ADD_AND_SET(Host, SetParams, CUSHIM_NO_CONTEXT)
};

template <>
struct Kind<ChildGraphNode> : AnyKind {
    static auto with_native(const ChildGraphNode &node, CUcontext, const auto &use) noexcept {
        const RelativesGuard guard;
        return use(node.graph);
    }
    CUSHIM_ADD(ChildGraph, CUSHIM_NO_CONTEXT)
    static Result<void> set(CUgraphNode, CUgraph, CUcontext) noexcept {
        return Error::unsupported_platform(
            "the child graph cannot be replaced; change its nodes through Graph::child_graph()");
    }
    CUSHIM_EXEC_SET(ChildGraph, SetParams, CUSHIM_NO_CONTEXT)
};

struct EventKind : AnyKind {
    static bool is_plain(const auto &node) noexcept { return node.event != nullptr; }
    static Result<void> check(const auto &node) noexcept {
        if (!is_plain(node)) {
            return Error::invalid_argument("the Event holds no event");
        }
        return {};
    }
    static auto with_native(const auto &node, CUcontext, const auto &use) noexcept {
        return use(node.event);
    }
};

template <>
struct Kind<EventRecordNode> : EventKind {
    CUSHIM_ADD_AND_SET(EventRecord, SetEvent, CUSHIM_NO_CONTEXT)
};

template <>
struct Kind<EventWaitNode> : EventKind {
    CUSHIM_ADD_AND_SET(EventWait, SetEvent, CUSHIM_NO_CONTEXT)
};

// --- external semaphores

using NativeSemaphore = CUSHIM_EITHER(CUexternalSemaphore, cudaExternalSemaphore_t);

// CUDA copies the arrays. The runtime's structs equal the driver's under other names.
template <class Native, auto &parameters_of>
struct SemaphoreKind : AnyKind {
    static bool is_plain(const auto &) noexcept { return false; }
    template <GraphNodeType type>
    static Result<void> check(const SemaphoreNode<type> &node) noexcept {
        constexpr const char *name = type == GraphNodeType::semaphore_signal ? "signals" : "waits";
        if (node.count == 0) {
            return invalid_argument("0 %s passed, minimum 1", name);
        }
        for (std::size_t index = 0; index < node.count; ++index) {
            if (node.operations[index].semaphore == nullptr) {
                return invalid_argument("%s[%zu] holds no semaphore", name, index);
            }
        }
        return {};
    }
    static Result<void> with_native(const auto &node, CUcontext, const auto &use) noexcept {
        return with_memory([&]() -> Result<void> {
            Native native{};
            using Operation = std::remove_cvref_t<decltype(native.paramsArray[0])>;
            std::vector<NativeSemaphore> semaphores;
            std::vector<Operation> operations;
            for (std::size_t index = 0; index < node.count; ++index) {
                const SemaphoreOperation &operation = node.operations[index];
                semaphores.push_back(reinterpret_cast<NativeSemaphore>(operation.semaphore));
                operations.push_back(std::bit_cast<Operation>(parameters_of(operation)));
            }
            native.extSemArray = semaphores.data();
            native.paramsArray = operations.data();
            native.numExtSems = static_cast<unsigned int>(node.count);
            return use(&native);
        });
    }
};

template <>
struct Kind<SemaphoreSignalNode>
    : SemaphoreKind<CUSHIM_EITHER(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS,
                                  cudaExternalSemaphoreSignalNodeParams),
                    signal_parameters> {
    CUSHIM_ADD_AND_SET(ExternalSemaphoresSignal, SetParams, CUSHIM_NO_CONTEXT)
};

template <>
struct Kind<SemaphoreWaitNode> : SemaphoreKind<CUSHIM_EITHER(CUDA_EXT_SEM_WAIT_NODE_PARAMS,
                                                             cudaExternalSemaphoreWaitNodeParams),
                                               wait_parameters> {
    CUSHIM_ADD_AND_SET(ExternalSemaphoresWait, SetParams, CUSHIM_NO_CONTEXT)
};

// --- memory operations, and memory that is freed

#ifdef CUSHIM_GRAPH_LACKS_BATCH_MEM_OPS
struct LackingBatchMemOps {
    static Error error() noexcept { return lacks_batch_mem_ops("cuGraphAddBatchMemOpNode"); }
};
using BatchMemOpCalls = LackingKind<LackingBatchMemOps>;
#else
struct BatchMemOpCalls : AnyKind {
    // CUDA does not modify the array.
    static auto with_native(const BatchMemOpNode &batch, CUcontext context,
                            const auto &use) noexcept {
        CUDA_BATCH_MEM_OP_NODE_PARAMS native{};
        native.ctx = context;
        native.count = static_cast<unsigned int>(batch.count);
        native.paramArray = const_cast<CUstreamBatchMemOpParams *>(batch.operations);
        return use(&native);
    }
    CUSHIM_ADD_AND_SET(BatchMemOp, SetParams, CUSHIM_NO_CONTEXT)
};
#endif

template <>
struct Kind<BatchMemOpNode> : BatchMemOpCalls {
    static bool is_plain(const BatchMemOpNode &node) noexcept { return node.count != 0; }
    static Result<void> check(const BatchMemOpNode &node) noexcept {
        if (!is_plain(node)) {
            return Error::invalid_argument("0 operations passed, minimum 1");
        }
        return {};
    }
};

template <>
struct Kind<MemFreeNode> : AnyKind {
    static bool is_plain(const MemFreeNode &node) noexcept { return node.address != 0; }
    static Result<void> check(const MemFreeNode &node) noexcept {
        if (!is_plain(node)) {
            return Error::invalid_argument("the GraphAllocation holds no memory");
        }
        return {};
    }
    static auto with_native(const MemFreeNode &node, CUcontext, const auto &use) noexcept {
        return use(native_pointer(node.address));
    }
    CUSHIM_ADD(MemFree, CUSHIM_NO_CONTEXT)
    static Result<void> set(CUgraphNode, const auto &, CUcontext) noexcept {
        return Error::unsupported_platform("memory nodes cannot be changed");
    }
    static Result<void> exec_set(CUgraphExec, CUgraphNode node, const auto &parameters,
                                 CUcontext context) noexcept {
        return set(node, parameters, context);
    }
};

// --- all types

Result<void> check_node_parameters(const NodeParameters &parameters) noexcept {
    return parameters.visit(
        []<class Node>(const Node &node) noexcept { return Kind<Node>::check(node); });
}

Result<void> set_node(CUgraphNode of, const NodeParameters &parameters,
                      CUcontext context) noexcept {
    return parameters.visit([&]<class Node>(const Node &node) noexcept {
        return Kind<Node>::with_native(node, context, [&](const auto &native) noexcept {
            return Kind<Node>::set(of, native, context);
        });
    });
}

Result<void> exec_set_node(CUgraphExec exec, CUgraphNode of, const NodeParameters &parameters,
                           CUcontext context) noexcept {
    return parameters.visit([&]<class Node>(const Node &node) noexcept {
        return Kind<Node>::with_native(node, context, [&](const auto &native) noexcept {
            return Kind<Node>::exec_set(exec, of, native, context);
        });
    });
}

} // namespace
} // namespace cushim::detail
