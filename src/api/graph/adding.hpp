// How every node is added.
#pragma once

#include "graph_node_handles.hpp"
#include "graph_state.hpp"
#include "graph_uses.hpp"

namespace cushim::detail {

// Adds a node by `add(place)`, which keeps what it uses.
template <class Add>
Result<GraphNode> add_keeping(GraphState &state, const GraphDependencies &dependencies,
                              NewUses &&uses, const Add &add) noexcept {
    NodeHandles before;
    CUSHIM_TRY_VOID(before.fill(*state.book, dependencies.nodes()));
    const bool is_new = !state.uses.has(uses);
    if (is_new) {
        CUSHIM_TRY_VOID(state.uses.prepare(state.api(), state.graph, uses));
    }
    CUgraphNode node = nullptr;
    CUSHIM_TRY_VOID(
        add(NodePlace{&node, state.graph, before.data(), before.size(), state.context}));
    if (is_new) {
        state.uses.keep(std::move(uses));
    }
    return state.book->node(node);
}

} // namespace cushim::detail
