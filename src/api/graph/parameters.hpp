// Parameters of nodes of all types.
#pragma once

#include <cushim/graph_setters.hpp>

#include <vector>

#include "api.hpp"
#include "base/with_memory.hpp"

namespace cushim::detail {

// An empty copy or fill, which CUDA rejects.
inline bool is_of_nothing(const NodeParameters &parameters) noexcept {
    if (const auto *const fill = std::get_if<const PitchedFill *>(&parameters.kind())) {
        return (*fill)->to.extent.empty();
    }
    const auto *const copy = std::get_if<const PitchedCopy *>(&parameters.kind());
    return copy != nullptr && (*copy)->to.extent.empty() && (*copy)->from.extent.empty();
}

// invalid_argument with the numbers: an existing node cannot become empty.
inline Result<void> check_new_parameters(const GraphApi &api,
                                         const NodeParameters &parameters) noexcept {
    if (is_of_nothing(parameters)) {
        return Error::invalid_argument(
            "a node cannot copy or fill 0 elements; remove the node instead");
    }
    return api.check(parameters);
}

// Calls use(parameters, uses) with the operations on semaphores, whose owners are kept alive.
template <class Node, class Operations, class Use>
auto with_semaphores(const Operations &operations, const Use &use) noexcept {
    return with_memory([&]() {
        std::vector<SemaphoreOperation> told;
        std::vector<State *> owners;
        for (const auto &operation : operations) {
            told.push_back(operation.operation());
            owners.push_back(operation.operation().state);
        }
        return use(Node{told.data(), told.size()}, NodeUses{owners});
    });
}

} // namespace cushim::detail
