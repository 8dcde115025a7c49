// The state behind Graph. That behind GraphExec is in exec_state.hpp.
#pragma once

#include <cushim/graph.hpp>

#include "api.hpp"
#include "base/ranges.hpp"
#include "base/release_later.hpp"
#include "base/with_memory.hpp"
#include "captures.hpp"
#include "context/in_context.hpp"
#include "identity.hpp"
#include "kept_resources.hpp"

namespace cushim::detail {

// Destroys a graph or an executable graph. The runtime is called only in the context, since it
// would otherwise initialize the primary one. The driver needs no context and accepts the runtime's
// handles, also after a reset, when the context cannot be entered.
template <class ByDriver, class ByRuntime, class Handle>
Destroyed destroy_by(const InContext &in, Api api, Handle handle) noexcept {
    if (api == Api::runtime && !in.InContext::is_gone()) [[unlikely]] {
        const auto scope = ContextScope::enter(in.context);
        if (scope) {
            const RelativesGuard guard;
            return {call<ByRuntime>(handle), handle};
        }
        report_teardown(not_entered(scope.error(), in.context));
    }
    const RelativesGuard guard;
    return {call<ByDriver>(handle), handle};
}

struct GraphState final : InContext {
    GraphState(const Context &in, std::shared_ptr<GraphIdentity> of) noexcept
        : InContext(in, InCapture::safe), identity(std::move(of)) {}
    ~GraphState() override {
        if (is_captured_into) {
            forget_target(*this);
        }
    }

    Destroyed destroy() noexcept override {
        identity->end();
        return destroy_by<entry::cuGraphDestroy, entry::cudaGraphDestroy>(*this, api(), graph);
    }
    // A reset destroys the objects in the context, but not graphs.
    bool is_gone() const noexcept override { return false; }
    Api api() const noexcept { return identity->api; }
    // What the nodes use: the outermost graph keeps it.
    KeptResources &uses() noexcept { return outermost->own_uses_; }
    // Calls `copy`, which copies the graph, so that CUDA does not keep the resources for the copy.
    template <class Copy>
    auto copied(const Copy &copy) noexcept -> decltype(copy()) {
        return own_uses_.without(copy);
    }

    const std::shared_ptr<GraphIdentity> identity;
    CUgraph graph = nullptr;
    // For a graph nested in a node, which is never owned; the graph around it is kept alive.
    GraphState *outermost = this;
    KeepAlive keep_outer;
    bool is_captured_into = false; // note_capture() was called
    InstantiateFailure failure;    // of the last instantiate() that failed

  private:
    KeptResources own_uses_{graph, identity->id, generation};
};

// Null for an empty Graph.
inline GraphState *any_state_of(const Graph &graph) noexcept {
    return static_cast<GraphState *>(Access::state(graph));
}
// invalid_argument for an empty Graph, with this text, and for a graph inside a destroyed node.
inline Result<GraphState *> state_of_graph(const Graph &graph,
                                           const char *empty = "the Graph is empty") noexcept {
    GraphState *const state = any_state_of(graph);
    if (state == nullptr) {
        return Error::invalid_argument(empty);
    }
    if (!state->identity->is_alive()) {
        return Error::invalid_argument("the node that contains this graph was destroyed");
    }
    return state;
}

// A Graph that CUDA has created or lent, or that is nested in a node of `around`.
Result<NewState<GraphState>> make_graph_state(const Context &context, Api api) noexcept;
Result<Graph> graph_inside(GraphState &around, CUgraphNode node, CUgraph graph) noexcept;
inline Graph own_graph(NewState<GraphState> &state) noexcept {
    GraphState *const owned = state.take();
    release_before_exit(owned->api()); // such graphs are destroyed on cushim's thread, too
    Graph graph;
    Access::set(graph, owned->graph, owned);
    return graph;
}

// Its last owner destroys nothing.
inline Graph lend_graph(NewState<GraphState> &state) noexcept {
    Graph graph = own_graph(state);
    Access::state(graph)->owned.store(false, std::memory_order_relaxed);
    return graph;
}

// invalid_argument unless the name refers to a node of this graph. `what` is the argument.
Result<void> check_node(const GraphIdentity &identity, const GraphNode &node,
                        const char *what = "the node") noexcept;

// unsupported_platform: the other graph belongs to the other API.
Error other_api(Api api, const char *graph, const char *other) noexcept;

} // namespace cushim::detail
