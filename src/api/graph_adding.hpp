// How every node is added.
#pragma once

#include "graph_node_handles.hpp"
#include "graph_state.hpp"
#include "graph_uses.hpp"

namespace cushim::detail {

// Adds a node by `add(place)`, and takes it back where the graph cannot keep what it uses.
template <class Add>
Result<GraphNode> add_keeping(GraphState &state, const GraphDependencies &dependencies,
                              PendingUses &uses, const Add &add) noexcept {
    NodeHandles before;
    CUSHIM_TRY_VOID(before.fill(*state.book, dependencies.nodes()));
    CUgraphNode node = nullptr;
    CUSHIM_TRY_VOID(
        add(NodePlace{&node, state.graph, before.data(), before.size(), state.context}));
    Result<void> kept = uses.give_to(state.graph);
    if (!kept) {
        (void)state.api().destroy_node(node);
        return kept.error();
    }
    auto named = with_memory([&]() -> Result<GraphNode> { return state.book->node(node); });
    if (!named) {
        (void)state.api().destroy_node(node);
    }
    return named;
}

} // namespace cushim::detail
