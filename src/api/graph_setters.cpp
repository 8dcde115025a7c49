#include <cushim/graph_setters.hpp>

#include <cushim/graph.hpp>
#include <cushim/graph_exec.hpp>

#include "graph_parameters.hpp"

namespace cushim::detail {

template <class Derived>
Result<void> NodeSetters<Derived>::set_semaphore_signal_node(
    const GraphNode &node, std::span<const SemaphoreSignal> signals) const noexcept {
    return with_semaphores(GraphNodeType::semaphore_signal, signals,
                           [&](const NodeParameters &parameters, const NodeUses &uses) noexcept {
                               return self().set(node, parameters, uses);
                           });
}

template <class Derived>
Result<void>
NodeSetters<Derived>::set_semaphore_wait_node(const GraphNode &node,
                                              std::span<const SemaphoreWait> waits) const noexcept {
    return with_semaphores(GraphNodeType::semaphore_wait, waits,
                           [&](const NodeParameters &parameters, const NodeUses &uses) noexcept {
                               return self().set(node, parameters, uses);
                           });
}

template <class Derived>
Result<void> NodeSetters<Derived>::set_batch_mem_op_node(
    const GraphNode &node, std::span<const CUstreamBatchMemOpParams> operations) const noexcept {
    return self().set(node, BatchMemOpNode{operations.data(), operations.size()}, {});
}

template <class Derived>
Result<void> NodeSetters<Derived>::set_host_closure(const GraphNode &node,
                                                    Closure closure) const noexcept {
    if (closure.object == nullptr) {
        return Error::make({.kind = ErrorKind::out_of_memory, .detail = "no host memory"});
    }
    return self().set(node, HostNode{closure.call, closure.object}, {{}, closure});
}

template <class Derived>
Result<void> NodeSetters<Derived>::set_event_node(GraphNodeType type, const GraphNode &node,
                                                  const Event &event) const noexcept {
    State *const uses[] = {state_of(&event)};
    return self().set(node, {type, EventNode{event.native()}}, {uses});
}

template class NodeSetters<Graph>;
template class NodeSetters<GraphExec>;

} // namespace cushim::detail
