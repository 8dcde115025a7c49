// What is known to be wrong with a node's parameters before CUDA sees them.
#pragma once

#include <cushim/graph_node.hpp>

#include <vector>

#include "base/with_memory.hpp"

namespace cushim::detail {

// A copy or a fill of no elements, which CUDA refuses.
bool is_of_nothing(const NodeParameters &parameters) noexcept;

// invalid_argument, with the numbers.
Result<void> check_parameters(const NodeParameters &parameters) noexcept;
// The same for a node that is there, and cannot become one that does nothing.
Result<void> check_new_parameters(const NodeParameters &parameters) noexcept;

// Calls use(parameters, uses) with the operations of semaphores, whose owners are kept.
template <class Operations, class Use>
auto with_semaphores(GraphNodeType type, const Operations &operations, const Use &use) noexcept
    -> decltype(use(NodeParameters(), NodeUses())) {
    return with_memory([&]() -> decltype(use(NodeParameters(), NodeUses())) {
        std::vector<SemaphoreOperation> told;
        std::vector<State *> owners;
        for (const auto &operation : operations) {
            told.push_back(operation.operation());
            owners.push_back(operation.operation().state);
        }
        const SemaphoreNode node{told.data(), told.size()};
        return use(NodeParameters(type, node), NodeUses{owners});
    });
}

} // namespace cushim::detail
