// How every node is added.
#pragma once

#include "kept_resources.hpp"
#include "node_handles.hpp"
#include "state.hpp"

namespace cushim::detail {

// Adds a node by `add(place)`, which keeps what it uses.
template <class Add>
Result<GraphNode> add_keeping(GraphState &state, const GraphDependencies &dependencies,
                              NewUses &&uses, const Add &add) noexcept {
    NodeHandles before;
    CUSHIM_TRY_VOID(before.fill(*state.identity, dependencies));
    const bool is_new = !state.uses.has(uses);
    if (is_new) {
        CUSHIM_TRY_VOID(state.uses.prepare(state.api(), state.graph, uses));
    }
    CUgraphNode node = nullptr;
    const Result<void> added =
        add(NodePlace{&node, state.graph, before.data(), before.size(), state.context});
    if (is_new && (added || may_be_done(added.error()))) {
        state.uses.keep(std::move(uses));
    }
    CUSHIM_TRY_VOID(added);
    return state.identity->node(node);
}

} // namespace cushim::detail
