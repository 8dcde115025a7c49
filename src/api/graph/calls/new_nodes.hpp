// Adding nodes of all types. Compiled for each API: graph.hpp.
#pragma once

#include <array>

#include "context/in_context.hpp"
#include "graph/adding.hpp"
#include "nodes.hpp"

namespace cushim::detail {
namespace {

template <class Node>
[[gnu::cold]] AddedNode named_by_kind(Result<GraphNode> &&added) noexcept {
    return added_node(named(std::move(added), added_by(NodeParameters::kind_of<Node>)));
}

template <class Node>
Result<void> add_at(const NodePlace &place, const Node &node) noexcept {
    return Kind<Node>::with_native(node, place.context, [&](const auto &native) -> Result<void> {
        if constexpr (requires { Kind<Node>::add(place, native); }) {
            return Kind<Node>::add(place, native);
        } else {
            return Kind<Node>::result(Kind<Node>::call(place, native), node, place.context);
        }
    });
}

// Adds any node whose resources are kept.
template <class Node>
Result<GraphNode> add_to(GraphState &state, NodesBefore before, const Node &node) noexcept {
    if (is_of_nothing(node)) {
        return add_to(state, before, EmptyNode());
    }
    CUSHIM_TRY_VOID(Kind<Node>::check(node));
    return add_after(state, before, [&](const NodePlace &place) noexcept -> Result<void> {
        if (Kind<Node>::is_added_anywhere(node)) {
            return add_at(place, node);
        }
        CUSHIM_TRY(const ContextScope scope, ContextScope::enter(place.context));
        return add_at(place, node);
    });
}

// Adds any node.
template <class Node>
[[gnu::noinline]] AddedNode add_any_node(GraphState &state, NodesBefore before, const Node &node,
                                         const NodeUses &uses) noexcept {
    if (!are_kept(state.uses().number(), uses)) {
        return add_using(state, before, node, uses);
    }
    return named_by_kind<Node>(add_to(state, before, node));
}

// After a call that failed. The node is copied, so that the compiler need not store the other one.
template <class Node, class Call>
[[gnu::cold, gnu::noinline]] AddedNode not_added(Call call, Node node, CUcontext context) noexcept {
    return named_by_kind<Node>(Kind<Node>::result(call, node, context).error());
}

// `asked` receives the status of the call, `current` the context.
[[gnu::always_inline]] inline bool is_current(const GraphState &state, CUresult &asked,
                                              CUcontext &current) noexcept {
    asked = driver().cuCtxGetCurrent(&current);
    return asked == CUDA_SUCCESS && current == state.context;
}

template <class Node>
[[gnu::cold, gnu::noinline]] AddedNode not_asked(CUresult status) noexcept {
    return named_by_kind<Node>(failure(status, entry::cuCtxGetCurrent::name));
}

// The nodes that a new one waits for, and their handles, which are determined late, since calls may
// come between. Three classes with the same functions. is_in() is false if a node of the graph was
// destroyed, or one of these may belong to another graph or API.
struct HandlesBefore {
    const CUgraphNode *handles;
    std::size_t count;
};
struct NoneBefore {
    const GraphNode *none;

    [[gnu::always_inline]] bool is_in(const GraphIdentity &identity,
                                      Api by = CUSHIM_GRAPH_API) const noexcept {
        return identity.whole_id(by) == identity.id;
    }
    HandlesBefore handles() const noexcept { return {nullptr, 0}; }
    NodesBefore nodes() const noexcept { return {nullptr, 0}; }
};
struct OneBefore {
    const GraphNode *node;

    [[gnu::always_inline]] bool is_in(const GraphIdentity &identity,
                                      Api by = CUSHIM_GRAPH_API) const noexcept {
        return identity.whole_id(by) == GraphAccess::name(*node);
    }
    HandlesBefore handles() const noexcept { return {GraphAccess::handle(*node), 1}; }
    NodesBefore nodes() const noexcept { return {node, 1}; }
};
// A few nodes; is_in() is also false if there are more.
class FewBefore {
  public:
    explicit FewBefore(NodesBefore nodes) noexcept : nodes_(nodes) {}

    [[gnu::always_inline]] bool is_in(const GraphIdentity &identity) noexcept {
        const unsigned long long id = identity.whole_id(CUSHIM_GRAPH_API);
        if (nodes_.count == 1) [[likely]] {
            return GraphAccess::name(*nodes_.nodes) == id;
        }
        if (nodes_.count > copies_.size() || id != identity.id) [[unlikely]] {
            return false;
        }
        for (std::size_t index = 0; index < nodes_.count; ++index) {
            if (GraphAccess::name(nodes_.nodes[index]) != id) [[unlikely]] {
                return false;
            }
            copies_[index] = nodes_.nodes[index].native();
        }
        return true;
    }
    [[gnu::always_inline]] HandlesBefore handles() const noexcept {
        return nodes_.count == 1
                   ? HandlesBefore{GraphAccess::handle(*nodes_.nodes), 1}
                   : HandlesBefore{nodes_.count != 0 ? copies_.data() : nullptr, nodes_.count};
    }
    NodesBefore nodes() const noexcept { return nodes_; }

  private:
    NodesBefore nodes_;
    std::array<CUgraphNode, 16> copies_;
};

// Adds a node after those, which exist, as do all nodes of the graph; the graph keeps what it uses,
// and the context is current if CUDA needs it. The only frame between headers and CUDA, so it is
// written for speed.
template <class Node, class Of = Kind<Node>>
[[gnu::always_inline]] inline AddedNode add_plain_node(GraphState &state, const auto &before,
                                                       const Node &node) noexcept {
    const HandlesBefore handles = before.handles();
    CUgraphNode added = nullptr;
    const NodePlace place{&added, state.graph, handles.handles, handles.count, state.context};
    const auto call = Of::with_native(
        node, place.context, [&](const auto &native) noexcept { return Of::call(place, native); });
    if (!Of::succeeded(call)) [[unlikely]] {
        return not_added(call, node, state.context);
    }
    return {added, state.uses_number()};
}

// Adds a node whose resources are kept.
template <class Node, class Of = Kind<Node>>
[[gnu::always_inline]] inline AddedNode add_kept_node(GraphState &state, const auto &before,
                                                      const Node &node) noexcept {
    CUresult asked = CUDA_SUCCESS;
    CUcontext current = nullptr; // here, so that CUDA's struct is not in the same place of the
                                 // stack: the compiler would keep the address in a register
    const bool is_usual = Of::is_checked_late
                              ? is_current(state, asked, current) && Of::is_plain(node)
                              : Of::is_plain(node) && (Of::is_added_anywhere(node) ||
                                                       is_current(state, asked, current));
    if (!is_usual) [[unlikely]] {
        return asked == CUDA_SUCCESS ? add_any_node(state, before.nodes(), node, no_uses)
                                     : not_asked<Node>(asked);
    }
    return add_plain_node<Node, Of>(state, before, node);
}

// Adds any node after those, if the graph keeps what it uses.
template <class Node>
[[gnu::always_inline]] inline AddedNode add_after(GraphState &state, auto checked,
                                                  NodesBefore before, const Node &node,
                                                  const auto &uses) noexcept {
    if (!checked.is_in(*state.identity) ||
        !(std::is_empty_v<Node> || are_kept(state.uses().number(), uses))) [[unlikely]] {
        return add_any_node(state, before, node, uses);
    }
    return add_kept_node(state, checked, node);
}

// The functions of a kind in GraphApi::add and add_after_one.
template <class Node>
AddedNode add_node_of(GraphState &state, NodesBefore before, NodeParameters parameters,
                      const NodeUses &uses) noexcept {
    return add_after(state, FewBefore(before), before, parameters.as<Node>(), uses);
}
template <class Node>
AddedNode add_node_of_after_one(GraphState &state, NodesBefore before, NodeParameters parameters,
                                const NodeUses &uses) noexcept {
    return add_after(state, OneBefore{before.nodes}, before, parameters.as<Node>(), uses);
}

template <class... Node>
constexpr auto add_nodes(NodeKinds<Node...>) noexcept {
    return GraphApi::AddNodes{add_node_of<Node>...};
}
template <class... Node>
constexpr auto add_nodes_after_one(NodeKinds<Node...>) noexcept {
    return GraphApi::AddNodes{add_node_of_after_one<Node>...};
}

} // namespace
} // namespace cushim::detail
