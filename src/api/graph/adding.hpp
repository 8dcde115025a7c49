// Converts node names to CUDA handles; the common parts of adding and setting nodes.
#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <new>
#include <span>

#include "kept_resources.hpp"
#include "state.hpp"

namespace cushim::detail {

// How an error names an element: "edges[2].from".
struct ArrayName {
    const char *array;
    const char *member = "";
};
inline Result<void> check_element(const GraphIdentity &identity, std::span<const GraphNode> nodes,
                                  const GraphNode &node, const ArrayName &name) noexcept {
    char element[60];
    std::snprintf(element, sizeof element, "%s[%zu]%s", name.array,
                  static_cast<std::size_t>(&node - nodes.data()), name.member);
    return check_node(identity, node, element);
}

// Handles of existing nodes; many of them are stored on the heap.
class NodeHandles {
  public:
    Result<void> fill(const GraphIdentity &identity, const NodesBefore &dependencies) noexcept {
        if (dependencies.count == no_nodes_stored) {
            return no_host_memory();
        }
        return fill(identity, {dependencies.nodes, dependencies.count}, {"dependencies"});
    }
    Result<void> fill(const GraphIdentity &identity, std::span<const GraphNode> nodes,
                      const ArrayName &name) noexcept {
        CUgraphNode *to = few_.data();
        if (nodes.size() > few_.size()) {
            many_.reset(new (std::nothrow) CUgraphNode[nodes.size()]);
            to = many_.get();
            if (to == nullptr) {
                return no_host_memory();
            }
        }
        for (const GraphNode &node : nodes) {
            if (!node || !identity.has(node)) {
                return check_element(identity, nodes, node, name); // returns the reason
            }
            to[count_++] = node.native();
        }
        return {};
    }

    // Null without nodes, as CUDA requires.
    const CUgraphNode *data() const noexcept {
        return count_ == 0 ? nullptr : many_ ? many_.get() : few_.data();
    }
    std::size_t size() const noexcept { return count_; }

  private:
    std::array<CUgraphNode, 16> few_;
    std::unique_ptr<CUgraphNode[]> many_;
    std::size_t count_ = 0;
};

// Adds a node by `add(place)`.
template <class Add>
Result<GraphNode> add_after(GraphState &state, const NodesBefore &dependencies,
                            const Add &add) noexcept {
    NodeHandles before;
    CUSHIM_TRY_VOID(before.fill(*state.identity, dependencies));
    CUgraphNode node = nullptr;
    CUSHIM_TRY_VOID(
        add(NodePlace{&node, state.graph, before.data(), before.size(), state.context}));
    return state.identity->name(node);
}

// Adds a node by one of the tables of AddNode, to any_state_of() a graph.
[[gnu::cold]] AddedNode not_added(const GraphState *state, NodeParameters parameters,
                                  const NodeUses &uses) noexcept;
template <GraphApi::AddNodes GraphApi::*add>
[[gnu::always_inline]] inline AddedNode add_node_by(GraphState *state, NodesBefore before,
                                                    NodeParameters parameters,
                                                    const NodeUses &uses) noexcept {
    if (!is_living(state)) [[unlikely]] {
        return not_added(state, parameters, uses);
    }
    return (state->api().*add)[parameters.kind()](*state, before, parameters, uses);
}

// Adds a node by its AddNode, and keeps the resources that it uses alive.
AddedNode add_using(GraphState &state, NodesBefore before, NodeParameters parameters,
                    const NodeUses &uses) noexcept;

// Changes a node by `change()`, and keeps the resources that it then uses alive.
template <class Change>
auto keeping(GraphState &state, NewUses &&uses,
             const Change &change) noexcept -> decltype(change()) {
    CUSHIM_TRY_VOID(state.uses().prepare(uses));
    auto changed = change();
    if (changed || may_be_done(changed.error())) {
        state.uses().keep(std::move(uses));
    }
    return changed;
}

} // namespace cushim::detail
