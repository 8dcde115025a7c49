// Parameters of nodes of all types.
#pragma once

#include <cushim/graph_setters.hpp>

#include <vector>

#include "api.hpp"
#include "base/ranges.hpp"
#include "base/with_memory.hpp"

namespace cushim::detail {

// The function that adds a node of this kind.
inline const char *added_by(std::size_t kind) noexcept {
    static constexpr NodeFunctions functions = {CUSHIM_NODE_FUNCTIONS("Graph::add_")};
    return functions[kind];
}

// An empty copy or fill, which CUDA rejects.
constexpr bool is_of_nothing(const auto &) noexcept {
    return false;
}
constexpr bool is_of_nothing(const Fill &fill) noexcept {
    return fill.size == 0;
}
constexpr bool is_of_nothing(const PitchedFill &fill) noexcept {
    return fill.to.extent.empty();
}
constexpr bool is_of_nothing(const Copy &copy) noexcept {
    return copy.to_size == 0 && copy.from_size == 0;
}
constexpr bool is_of_nothing(const PitchedCopy &copy) noexcept {
    return copy.to.extent.empty() && copy.from.extent.empty();
}

// invalid_argument: an existing node cannot become empty, but there is a remedy.
inline Result<void> check_new_parameters(const GraphApi &api, const NodeParameters &parameters,
                                         const char *remedy) noexcept {
    if (parameters.visit([](const auto &node) noexcept { return is_of_nothing(node); })) {
        const bool is_copy = parameters.is<Copy>() || parameters.is<PitchedCopy>();
        return invalid_argument("the %s has 0 elements; %s", is_copy ? "copy" : "fill", remedy);
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
