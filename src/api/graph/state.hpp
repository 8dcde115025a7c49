// The states behind Graph and GraphExec.
#pragma once

#include <cushim/graph.hpp>

#include "api.hpp"
#include "base/ranges.hpp"
#include "base/release_later.hpp"
#include "base/with_memory.hpp"
#include "context/in_context.hpp"
#include "destroy_by.hpp"
#include "identity.hpp"
#include "kept_resources.hpp"
#include "registry.hpp"

namespace cushim::detail {

struct GraphState final : InContext {
    GraphState(const Context &in, std::shared_ptr<GraphIdentity> of) noexcept
        : InContext(in, InCapture::safe), identity(std::move(of)) {}

    Destroyed destroy() noexcept override {
        known.forget();
        identity->end();
        return destroy_by(*this, api(),
                          [this](const GraphApi &by) noexcept { return by.destroy(graph); });
    }
    // A reset destroys the objects in the context, but not graphs.
    bool is_gone() const noexcept override { return false; }
    const GraphApi &api() const noexcept { return identity->api; }
    // What the nodes use: the outermost graph keeps it.
    KeptResources &uses() noexcept { return outermost->own_uses_; }
    // identity->id.
    unsigned long long uses_number() const noexcept { return own_uses_.number(); }
    // Calls `copy`, which copies the graph, so that CUDA does not keep the resources for the copy.
    template <class Copy>
    auto copied(const Copy &copy) noexcept -> decltype(copy()) {
        return own_uses_.without(copy);
    }

    const std::shared_ptr<GraphIdentity> identity;
    CUgraph graph = nullptr;
    // For a graph nested in a node: the outer graph, kept alive. Such a graph is never owned.
    GraphState *outer = nullptr;
    GraphState *outermost = this;
    KeepAlive keep_outer;
    GraphRegistryEntry known{*this};

  private:
    KeptResources own_uses_{graph, identity->id, generation};
};

static_assert(spare_kind(sizeof(GraphState)) < spare_kinds, "threads keep its memory");

// Null for an empty Graph; that of a nested graph whose node is destroyed is not living.
inline GraphState *any_state_of(const Graph &graph) noexcept {
    return static_cast<GraphState *>(Access::state(graph));
}
inline bool is_living(const GraphState *state) noexcept {
    return state != nullptr && state->identity->is_alive();
}
// invalid_argument for a state that is not living.
[[gnu::cold]] Error not_living(const GraphState *state,
                               const char *empty = "the Graph holds no graph") noexcept;
// Null for these.
inline GraphState *living_state_of(const Graph &graph) noexcept {
    GraphState *const state = any_state_of(graph);
    return is_living(state) ? state : nullptr;
}
inline Result<GraphState *>
state_of_graph(const Graph &graph, const char *empty = "the Graph holds no graph") noexcept {
    GraphState *const state = any_state_of(graph);
    if (!is_living(state)) [[unlikely]] {
        return not_living(state, empty);
    }
    return state;
}

// A Graph that CUDA has created or lent, or that is nested in a node of `around`.
Result<NewState<GraphState>> make_graph_state(const Context &context, const GraphApi &api) noexcept;
Result<Graph> borrow_graph(const Context &context, const GraphApi &api, CUgraph graph) noexcept;
Result<Graph> graph_inside(GraphState &around, CUgraphNode node, CUgraph graph) noexcept;
inline Graph own_graph(NewState<GraphState> &state) noexcept {
    GraphState *const owned = state.take();
    owned->known.know(owned->graph);
    release_before_exit(owned->api().api); // such graphs are destroyed on cushim's thread, too
    Graph graph;
    Access::set(graph, owned->graph, owned);
    return graph;
}

// invalid_argument unless the name refers to a node of this graph. `what` is the argument.
Result<void> check_node(const GraphIdentity &identity, const GraphNode &node,
                        const char *what = "the node") noexcept;

// unsupported_platform: the other graph belongs to the other API.
Error other_api(const GraphApi &api, const char *graph, const char *other) noexcept;

} // namespace cushim::detail
