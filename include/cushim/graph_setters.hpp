/* Functions that change a node of a graph or of an executable graph. */
#ifndef CUSHIM_GRAPH_SETTERS_HPP
#define CUSHIM_GRAPH_SETTERS_HPP

#include <cassert>
#include <cstddef>
#include <span>
#include <type_traits>

#include <cushim/detail/closure.hpp>
#include <cushim/detail/copy_2d.hpp>
#include <cushim/detail/error.hpp>
#include <cushim/detail/kernel_arguments.hpp>
#include <cushim/detail/node_copies.hpp>
#include <cushim/detail/node_uses.hpp>
#include <cushim/detail/semaphore_operation.hpp>
#include <cushim/event.hpp>
#include <cushim/external_semaphore.hpp>
#include <cushim/graph_node.hpp>
#include <cushim/kernel.hpp>
#include <cushim/launch.hpp>

namespace cushim {

class GraphExec;

namespace detail {

// \cond
struct EmptyNode {};
struct KernelNode {
    const AnyKernel &kernel;
    const LaunchConfig &config;
    void **arguments;
};
template <GraphNodeType type>
struct EventNode {
    CUevent event;
};
using EventRecordNode = EventNode<GraphNodeType::event_record>;
using EventWaitNode = EventNode<GraphNodeType::event_wait>;
struct ChildGraphNode {
    CUgraph graph;
};
struct HostNode {
    void (*function)(void *); // null if the closure could not be allocated
    void *user;
};
template <GraphNodeType type>
struct SemaphoreNode {
    const SemaphoreOperation *operations;
    std::size_t count;
};
using SemaphoreSignalNode = SemaphoreNode<GraphNodeType::semaphore_signal>;
using SemaphoreWaitNode = SemaphoreNode<GraphNodeType::semaphore_wait>;
struct BatchMemOpNode {
    const CUstreamBatchMemOpParams *operations;
    std::size_t count;
};
struct MemFreeNode {
    CUdeviceptr address;
};

// The types of parameters.
template <class... Node>
struct NodeKinds {
    static constexpr std::size_t count = sizeof...(Node);
};

/* The parameters of a node of any kind. A view of two words, which calls pass in registers. */
class NodeParameters {
  public:
    using Kinds = NodeKinds<EmptyNode, KernelNode, Copy, PitchedCopy, Fill, PitchedFill, HostNode,
                            ChildGraphNode, EventRecordNode, EventWaitNode, SemaphoreSignalNode,
                            SemaphoreWaitNode, BatchMemOpNode, MemFreeNode>;
    // The position of a type in Kinds.
    template <class Node>
    static constexpr std::size_t kind_of = [] {
        return []<class... Each>(NodeKinds<Each...>) {
            std::size_t kind = 0;
            (void)((std::is_same_v<Node, Each> || (++kind, false)) || ...);
            return kind;
        }(Kinds());
    }();

    template <class Node>
        requires(kind_of<Node> != Kinds::count)
    NodeParameters(const Node &node) noexcept : node_(&node), kind_(kind_of<Node>) {}

    std::size_t kind() const noexcept { return kind_; }
    template <class Node>
    bool is() const noexcept {
        return kind_ == kind_of<Node>;
    }
    // Of this kind, which builds with assertions check.
    template <class Node>
    const Node &as() const noexcept {
        assert(is<Node>());
        return *static_cast<const Node *>(node_);
    }
    // Calls use(node) with the parameters in their type.
    template <class Use>
    auto visit(const Use &use) const noexcept {
        return visit(Kinds(), use);
    }

  private:
    template <class... Node, class Use>
    auto visit(NodeKinds<Node...>, const Use &use) const noexcept {
        decltype(use(EmptyNode())) result{};
        (void)((is<Node>() && (result = use(as<Node>()), true)) || ...);
        return result;
    }

    const void *node_;
    std::size_t kind_;
};

// The public functions for nodes of each kind, by the index of the kind.
using NodeFunctions = const char * [NodeParameters::Kinds::count];
#define CUSHIM_NODE_FUNCTIONS(prefix)                                                              \
    prefix "empty_node", prefix "kernel_node", prefix "memcpy_node", prefix "memcpy_node",         \
        prefix "memset_node", prefix "memset_node", prefix "host_node", prefix "child_graph_node", \
        prefix "event_record_node", prefix "event_wait_node", prefix "semaphore_signal_node",      \
        prefix "semaphore_wait_node", prefix "batch_mem_op_node", prefix "mem_free_node"

// Calls use(node, uses) with a host node that calls the function.
template <class Function, class Use>
auto with_host_node(Function &&function, const Use &use) noexcept {
    using Object = std::decay_t<Function>;
    if constexpr (FitsIntoPointer<Object>) {
        return use(HostNode{call_in_pointer<Object>, in_pointer<Object>(function)}, no_uses);
    } else {
        const Closure closure = make_closure(static_cast<Function &&>(function));
        return use(HostNode{closure.object != nullptr ? closure.call : nullptr, closure.object},
                   NodeUses{{}, &closure});
    }
}
// \endcond

/* The setters that Graph and GraphExec share. Each takes the arguments of the
 * Graph::add_...() function for that type of node, which stays the same. On failure the node is
 * unchanged.
 *
 * In an executable graph, `node` is a node of the graph that it was instantiated from, which must
 * still exist. Later launches use the new parameters; the graph itself does not change. The node
 * uses the context of the executable graph afterwards.
 *
 * `node` may also belong to a graph inside that graph, at any depth: to child_graph(), which is not
 * the graph that was copied into the node, or to the body of a conditional node. CUDA documents
 * only nodes of the graph itself; driver 580 accepts these, too, older drivers were not tested. If
 * a driver rejects a node, such as one that was added after the instantiation, its status is
 * returned.
 *
 * A kernel's configuration is replaced as a whole: the node is cooperative, or has a cluster or a
 * priority, only if the new configuration says so. Attributes of LaunchConfig::more stay until they
 * are set again. In an executable graph a kernel keeps its attributes: unsupported_platform unless
 * the configuration equals that of the node in the graph. cuGraphKernelNodeGetAttribute,
 * ...SetAttribute.
 *
 * cuGraph...NodeSetParams, cuGraphExec...NodeSetParams, since the same version as the nodes; for
 * events CUDA 11.1, for semaphores CUDA 11.2. */
template <class Derived>
class NodeSetters { // exports no symbol: an instantiation with a hidden class is hidden
  public:
    // Replaces the kernel, the configuration and the arguments. See Graph::add_kernel_node().
    template <class... Parameters, class... Arguments>
        requires(arguments_fit<TypeList<Arguments...>, TypeList<Parameters...>>)
    Result<void> set_kernel_node(const GraphNode &node, const Kernel<void(Parameters...)> &kernel,
                                 const LaunchConfig &config,
                                 const Arguments &...arguments) const noexcept {
        return named(kernel.with_arguments(
                         [&](void **pointers) noexcept {
                             const States uses(kernel, arguments...);
                             return self().set(node, KernelNode{kernel, config, pointers}, {uses});
                         },
                         arguments...),
                     std::is_same_v<Derived, GraphExec> ? "GraphExec::set_kernel_node"
                                                        : "Graph::set_kernel_node");
    }

    // Replaces a copy by one of the same kind and between the same types of memory;
    // invalid_argument if it has 0 elements. See Graph::add_memcpy_node().
    template <LastingMemory To, LastingMemory From>
        requires CopyableTo<To, From>
    Result<void> set_memcpy_node(const GraphNode &node, To &&to, From &&from) const noexcept {
        const States uses(to, from);
        return self().set(node, copy_between(view_of(to), view_of(from)), {uses});
    }

    // Replaces the memory and the value of a fill. See Graph::add_memset_node().
    template <Fillable To>
    Result<void> set_memset_node(const GraphNode &node, const To &to,
                                 const ElementOf<To> &value) const noexcept {
        const States uses(to);
        return self().set(node, fill_with(view_of(to), value), {uses});
    }

    // Replaces the function of a host node. See Graph::add_host_node().
    template <HostFunction Function>
    Result<void> set_host_node(const GraphNode &node, Function &&function) const noexcept {
        return with_host_node(static_cast<Function &&>(function),
                              [&](const HostNode &parameters, const NodeUses &uses) noexcept {
                                  return self().set(node, parameters, uses);
                              });
    }

    // Replaces the event that a node records. In an executable graph, fails with
    // CUDA_ERROR_INVALID_VALUE (1) unless the event belongs to the same context as the previous
    // one.
    Result<void> set_event_record_node(const GraphNode &node, const Event &event) const noexcept {
        return set_event_node<EventRecordNode>(node, event);
    }
    // Replaces the event that a node waits for. In an executable graph, fails with
    // CUDA_ERROR_INVALID_VALUE (1) unless the event belongs to the same context as the previous
    // one.
    Result<void> set_event_wait_node(const GraphNode &node, const Event &event) const noexcept {
        return set_event_node<EventWaitNode>(node, event);
    }

    // Replaces the signals of a node; their number must not change.
    Result<void>
    set_semaphore_signal_node(const GraphNode &node,
                              std::span<const SemaphoreSignal> signals) const noexcept {
        return self().set_signals(node, signals);
    }
    // Replaces the waits of a node; their number must not change.
    Result<void> set_semaphore_wait_node(const GraphNode &node,
                                         std::span<const SemaphoreWait> waits) const noexcept {
        return self().set_waits(node, waits);
    }

    // Replaces the operations of a node. See Graph::add_batch_mem_op_node().
    Result<void>
    set_batch_mem_op_node(const GraphNode &node,
                          std::span<const CUstreamBatchMemOpParams> operations) const noexcept {
        return self().set(node, BatchMemOpNode{operations.data(), operations.size()}, {});
    }

  private:
    const Derived &self() const noexcept { return static_cast<const Derived &>(*this); }

    template <class Node>
    Result<void> set_event_node(const GraphNode &node, const Event &event) const noexcept {
        const States uses(event);
        return self().set(node, Node{event.native()}, {uses});
    }
};

} // namespace detail
} // namespace cushim

#endif
