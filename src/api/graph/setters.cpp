// Semaphores of nodes that are there, of graphs and of executable graphs.
#include <cushim/graph.hpp>
#include <cushim/graph_exec.hpp>

#include "parameters.hpp"

namespace cushim {

using detail::NodeParameters;
using detail::NodeUses;
using detail::with_semaphores;

Result<void> Graph::set_signals(const GraphNode &node,
                                std::span<const SemaphoreSignal> signals) const noexcept {
    return with_semaphores(GraphNodeType::semaphore_signal, signals,
                           [&](const NodeParameters &parameters, const NodeUses &uses) noexcept {
                               return set(node, parameters, uses);
                           });
}

Result<void> Graph::set_waits(const GraphNode &node,
                              std::span<const SemaphoreWait> waits) const noexcept {
    return with_semaphores(GraphNodeType::semaphore_wait, waits,
                           [&](const NodeParameters &parameters, const NodeUses &uses) noexcept {
                               return set(node, parameters, uses);
                           });
}

Result<void> GraphExec::set_signals(const GraphNode &node,
                                    std::span<const SemaphoreSignal> signals) const noexcept {
    return with_semaphores(GraphNodeType::semaphore_signal, signals,
                           [&](const NodeParameters &parameters, const NodeUses &uses) noexcept {
                               return set(node, parameters, uses);
                           });
}

Result<void> GraphExec::set_waits(const GraphNode &node,
                                  std::span<const SemaphoreWait> waits) const noexcept {
    return with_semaphores(GraphNodeType::semaphore_wait, waits,
                           [&](const NodeParameters &parameters, const NodeUses &uses) noexcept {
                               return set(node, parameters, uses);
                           });
}

} // namespace cushim
