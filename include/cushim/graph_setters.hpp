/* What nodes are made from, and changing what they do: of a graph, and of an executable graph. */
#ifndef CUSHIM_GRAPH_SETTERS_HPP
#define CUSHIM_GRAPH_SETTERS_HPP

#include <type_traits>
#include <variant>

#include <cushim/graph_node.hpp>

namespace cushim {

class Graph;

namespace detail {

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
    void (*function)(void *);
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

/* Parameters of a node, of whichever kind. A view. */
class NodeParameters {
  public:
    // Pointers that are not null.
    using Kinds =
        std::variant<const EmptyNode *, const KernelNode *, const PitchedCopy *,
                     const PitchedFill *, const HostNode *, const ChildGraphNode *,
                     const EventRecordNode *, const EventWaitNode *, const SemaphoreSignalNode *,
                     const SemaphoreWaitNode *, const BatchMemOpNode *, const MemFreeNode *>;

    template <class Node>
    requires std::is_constructible_v<Kinds, const Node *> NodeParameters(const Node &node)
    noexcept : kind_(&node) {}

    const Kinds &kind() const noexcept { return kind_; }

  private:
    Kinds kind_;
};

/* What Graph and GraphExec have in common. Each takes what the graph's add_...() of that type takes; the
 * node stays what it is. In an executable graph it is a node of the graph that it was instantiated from, which must
 * still be there; launches from then on do the new thing, and the graph is not changed.
 *
 * It may also be one of a graph inside that one, at any depth: of child_graph(), which is another than the graph
 * that was copied into the node, or of a conditional node's body. CUDA's documentation knows only of nodes of the
 * graph itself; driver 580 takes these, too, and older ones were not asked. What a driver does not take, such as a
 * node that was added after the graph was instantiated, answers its error. The node works in the executable
 * graph's context from then on.
 *
 * Where it fails, the node is what it was. The configuration of a kernel is the whole of it: a node is cooperative,
 * or has a cluster or a priority, only as long as the last one says so; attributes of LaunchConfig::more stay until
 * they are named again. An executable graph's kernel keeps the attributes that it has: unsupported_platform unless
 * the configuration asks for those of the graph's node. cuGraphKernelNodeGetAttribute, ...SetAttribute.
 *
 * cuGraph...NodeSetParams, cuGraphExec...NodeSetParams, since the nodes themselves; for events CUDA 11.1,
 * for semaphores CUDA 11.2. */
// Nothing in it is exported: what a template makes of a hidden class is hidden, too.
template <class Derived>
class NodeSetters {
  public:
    template <class... Parameters, class... Arguments>
    requires(arguments_fit<TypeList<Arguments...>, TypeList<Parameters...>>)
        Result<void> set_kernel_node(const GraphNode &node,
                                     const Kernel<void(Parameters...)> &kernel,
                                     const LaunchConfig &config, const Arguments &...arguments)
    const noexcept {
        return kernel.with_arguments(
            [&](void **pointers) noexcept {
                State *const uses[] = {state_of(&kernel),
                                       state_of(__builtin_addressof(arguments))...};
                return self().set(node, KernelNode{kernel, config, pointers}, {uses});
            },
            arguments...);
    }

    // Of the same kind and memory types; not of nothing.
    template <LastingMemory To, LastingMemory From>
    requires CopyableTo<To, From> Result<void> set_memcpy_node(const GraphNode &node, To &&to,
                                                               From &&from)
    const noexcept {
        State *const uses[] = {state_of(&to), state_of(&from)};
        return self().set(node, copy_between(view_of(to), view_of(from)), {uses});
    }

    template <Fillable To>
    Result<void> set_memset_node(const GraphNode &node, const To &to,
                                 const ElementOf<To> &value) const noexcept {
        State *const uses[] = {state_of(&to)};
        return self().set(node, fill_with(view_of(to), value), {uses});
    }

    template <HostFunction Function>
    Result<void> set_host_node(const GraphNode &node, Function &&function) const noexcept {
        const Closure closure = make_closure(static_cast<Function &&>(function));
        if (closure.object == nullptr) {
            return no_host_memory();
        }
        return self().set(node, HostNode{closure.call, closure.object}, {{}, closure});
    }

    // In an executable graph: an event of the context that the node's has, else status 1.
    Result<void> set_event_record_node(const GraphNode &node, const Event &event) const noexcept {
        return set_event_node<EventRecordNode>(node, event);
    }
    Result<void> set_event_wait_node(const GraphNode &node, const Event &event) const noexcept {
        return set_event_node<EventWaitNode>(node, event);
    }

    // As many as the node has.
    Result<void>
    set_semaphore_signal_node(const GraphNode &node,
                              std::span<const SemaphoreSignal> signals) const noexcept {
        return self().set_signals(node, signals);
    }
    Result<void> set_semaphore_wait_node(const GraphNode &node,
                                         std::span<const SemaphoreWait> waits) const noexcept {
        return self().set_waits(node, waits);
    }

    Result<void>
    set_batch_mem_op_node(const GraphNode &node,
                          std::span<const CUstreamBatchMemOpParams> operations) const noexcept {
        return self().set(node, BatchMemOpNode{operations.data(), operations.size()}, {});
    }

  private:
    const Derived &self() const noexcept { return static_cast<const Derived &>(*this); }

    template <class Node>
    Result<void> set_event_node(const GraphNode &node, const Event &event) const noexcept {
        State *const uses[] = {state_of(&event)};
        return self().set(node, Node{event.native()}, {uses});
    }
};

} // namespace detail
} // namespace cushim

#endif
