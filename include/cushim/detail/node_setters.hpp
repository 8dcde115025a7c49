/* Functions that change a node of a graph or of an executable graph. */
#ifndef CUSHIM_DETAIL_NODE_SETTERS_HPP
#define CUSHIM_DETAIL_NODE_SETTERS_HPP

#include <span>
#include <type_traits>

#include <cushim/detail/copy.hpp>
#include <cushim/detail/node_kinds.hpp>
#include <cushim/event.hpp>

namespace cushim {

class GraphExec;

namespace detail {

/* The setters that Graph and GraphExec share. Each takes the arguments of the
 * Graph::add_...() function for that type of node, which stays the same. On failure the node is
 * unchanged.
 *
 * In an executable graph, `node` is a node of the graph that it was instantiated from, which must
 * still exist. Later launches use the new parameters; the graph itself does not change. The node
 * uses the context of the executable graph afterwards.
 *
 * `node` may also belong to a graph inside that graph, at any depth: to child_graph_params(), which
 * is not the graph that was copied into the node, or to the body of a conditional node. CUDA
 * documents only nodes of the graph itself; driver 580 accepts these, too, older drivers were not
 * tested. If a driver rejects a node, such as one that was added after the instantiation, its
 * status is returned.
 *
 * A kernel's configuration is replaced as a whole: the node is cooperative, or has a cluster or a
 * priority, only if the new configuration says so. Attributes of LaunchConfig::more stay until they
 * are set again. In an executable graph a kernel keeps its attributes: unsupported_platform unless
 * the configuration has exactly the attributes of the node in the graph. While a program sets the
 * same kernel with the same attributes again, they need not be read again: do not change them in
 * the graph meanwhile.
 * cuGraphKernelNodeGetAttribute, ...SetAttribute.
 *
 * cuGraph...NodeSetParams, cuGraphExec...NodeSetParams, since the same version as the nodes; for
 * events CUDA 11.1, for semaphores CUDA 11.2. */
template <class Derived>
class NodeSetters { // exports no symbol: an instantiation with a hidden class is hidden
  public:
    // Replaces the kernel, the configuration and the arguments. See Graph::add_kernel_node().
    template <class... Parameters, class... Arguments>
        requires(arguments_fit<TypeList<ArgumentType<Arguments>...>, TypeList<Parameters...>>)
    Result<void> set_kernel_node(const GraphNode &node, const Kernel<void(Parameters...)> &kernel,
                                 const LaunchConfig &config, Arguments &&...arguments) noexcept {
        return kernel.with_arguments(
            std::is_same_v<Derived, GraphExec> ? "GraphExec::set_kernel_node"
                                               : "Graph::set_kernel_node",
            [&](void **pointers) noexcept {
                return set(node, KernelNode{kernel, config, pointers},
                           {States(kernel, arguments...)});
            },
            arguments...);
    }
    template <class... Parameters, class... Arguments,
              class Misfit =
                  detail::Misfit<TypeList<ArgumentType<Arguments>...>, TypeList<Parameters...>>>
        requires(!std::is_void_v<Misfit>)
    Result<void> set_kernel_node(const GraphNode &, const Kernel<void(Parameters...)> &,
                                 const LaunchConfig &, Arguments &&...) noexcept = delete;

    // Replaces a copy by one of the same kind and between the same types of memory;
    // invalid_argument if it has 0 elements. See Graph::add_memcpy_node().
    template <LastingMemory To, LastingMemory From>
        requires CopyableTo<To, From>
    Result<void> set_memcpy_node(const GraphNode &node, To &&to, From &&from) noexcept {
        return set(node, pitched_copy(to, from), {States(to, from)});
    }
    template <class To, class From, class Misfit = CopyMisfit<To, From>>
        requires MisfitCopy<To, From>
    Result<void> set_memcpy_node(const GraphNode &, To &&, From &&) noexcept = delete;

    // Replaces the memory and the value of a fill. See Graph::add_memset_node().
    template <FillableByNode To>
    Result<void> set_memset_node(const GraphNode &node, To &&to,
                                 const ElementOf<To> &value) noexcept {
        return set(node, pitched_fill(to, value), {States(to)});
    }
    template <class To, class Value, class Misfit = FillMisfit<To, Value>>
        requires MisfitFillByNode<To, Value>
    Result<void> set_memset_node(const GraphNode &, To &&, const Value &) noexcept = delete;

    // Replaces the function of a host node. See Graph::add_host_node().
    template <HostFunction Function>
    Result<void> set_host_node(const GraphNode &node, Function &&function) noexcept {
        return with_host_node(static_cast<Function &&>(function),
                              [&](const HostNode &call, const NodeUses &uses) noexcept {
                                  return set(node, call, uses);
                              });
    }

    // Replace the event that a node records, or waits for. In an executable graph, they fail with
    // CUDA_ERROR_INVALID_VALUE (1) unless the event belongs to the same context as the previous
    // one.
    Result<void> set_event_record_node(const GraphNode &node, const Event &event) noexcept {
        return set(node, EventRecordNode{event.native()}, {States(event)});
    }
    Result<void> set_event_wait_node(const GraphNode &node, const Event &event) noexcept {
        return set(node, EventWaitNode{event.native()}, {States(event)});
    }

    // Replace the signals or the waits of a node; their number must not change.
    Result<void> set_semaphore_signal_node(const GraphNode &node,
                                           std::span<const SemaphoreSignal> operations) noexcept {
        return set(node, SemaphoreSignalNode{operations});
    }
    Result<void> set_semaphore_wait_node(const GraphNode &node,
                                         std::span<const SemaphoreWait> operations) noexcept {
        return set(node, SemaphoreWaitNode{operations});
    }

    // Replaces the operations of a node. See Graph::add_batch_mem_op_node().
    Result<void>
    set_batch_mem_op_node(const GraphNode &node,
                          std::span<const CUstreamBatchMemOpParams> operations) noexcept {
        return set(node, BatchMemOpNode{operations});
    }

  private:
    Result<void> set(const GraphNode &node, const NodeParameters &to,
                     const NodeUses &uses = no_uses) noexcept {
        return static_cast<Derived &>(*this).set(node, to, uses);
    }
};

} // namespace detail
} // namespace cushim

#endif
