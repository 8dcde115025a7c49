// The states behind Graph and GraphExec.
#pragma once

#include <cushim/graph.hpp>

#include <unordered_map>

#include "api.hpp"
#include "base/ranges.hpp"
#include "base/with_memory.hpp"
#include "context/in_context.hpp"
#include "identity.hpp"
#include "kept_resources.hpp"
#include "registry.hpp"

namespace cushim::detail {

// The runtime is called only in the context, since it would otherwise initialize the primary one.
// The driver needs no context and accepts the runtime's handles.
inline Destroyed destroy_graph(const GraphApi &api, CUcontext context, CUgraph graph) noexcept {
    const auto scope = ContextScope::enter(context);
    if (scope) {
        return api.destroy(graph);
    }
    report_teardown(not_entered(scope.error(), context));
    return driver_graphs.destroy(graph);
}

struct GraphState final : InContext {
    GraphState(const Context &in, std::shared_ptr<GraphIdentity> of) noexcept
        : InContext(in, InCapture::safe), identity(std::move(of)) {}

    Destroyed destroy() noexcept override {
        known.forget();
        identity->end();
        // After a reset the graph still exists, but its context cannot be entered.
        return InContext::is_gone() ? driver_graphs.destroy(graph)
                                    : destroy_graph(api(), context, graph);
    }
    // A reset destroys the objects in the context, but not graphs.
    bool is_gone() const noexcept override { return false; }
    const GraphApi &api() const noexcept { return identity->api; }
    // What the nodes use: the outermost graph keeps it.
    KeptResources &uses() noexcept { return outermost->own_uses_; }
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
    // The conditional node of each condition. The node may be destroyed, or not exist yet.
    std::unordered_map<unsigned long long, GraphNode> condition_users;

  private:
    KeptResources own_uses_{graph};
};

// invalid_argument for an empty Graph, and for a nested graph whose node is destroyed.
[[gnu::cold]] Error no_state_of_graph(const Graph &graph, const char *empty) noexcept;
// The same, but null.
inline GraphState *living_state_of(const Graph &graph) noexcept {
    auto *const state = static_cast<GraphState *>(Access::state(graph));
    return state != nullptr && state->identity->is_alive() ? state : nullptr;
}
inline Result<GraphState *>
state_of_graph(const Graph &graph, const char *empty = "the Graph holds no graph") noexcept {
    GraphState *const state = living_state_of(graph);
    if (state == nullptr) [[unlikely]] {
        return no_state_of_graph(graph, empty);
    }
    return state;
}

// A Graph that CUDA has created or lent, or that is nested in a node of `around`.
Result<NewState<GraphState>> make_graph_state(const Context &context, const GraphApi &api) noexcept;
Graph own_graph(NewState<GraphState> &state) noexcept;
Result<Graph> borrow_graph(const Context &context, const GraphApi &api, CUgraph graph) noexcept;
Result<Graph> graph_inside(GraphState &around, CUgraphNode node, CUgraph graph) noexcept;

// invalid_argument unless the name refers to a node of this graph. `what` is the argument.
Result<void> check_node(const GraphIdentity &identity, const GraphNode &node,
                        const char *what = "the node") noexcept;

// unsupported_platform: the other graph belongs to the other API.
Error other_api(const GraphApi &api, const char *graph, const char *other) noexcept;

} // namespace cushim::detail
