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

// Destroys a graph or an executable graph of the runtime, which is called only in the context,
// since it would otherwise initialize the primary one. The driver accepts the runtime's handles.
template <class ByDriver, class ByRuntime, class Handle>
[[gnu::cold]] Destroyed destroy_by_runtime(const InContext &in, Handle handle) noexcept {
    const auto scope = ContextScope::enter(in.context);
    if (scope) {
        return destroy_guarded<ByRuntime>(handle);
    }
    report_teardown(not_entered(scope.error(), in.context));
    return destroy_guarded<ByDriver>(handle);
}

// The driver needs no context, also after a reset, when the context cannot be entered.
template <class ByDriver, class ByRuntime, class Handle>
Destroyed destroy_by(const InContext &in, Api api, Handle handle) noexcept {
    if (api == Api::runtime && !in.InContext::is_gone()) [[unlikely]] {
        return destroy_by_runtime<ByDriver, ByRuntime>(in, handle);
    }
    return destroy_guarded<ByDriver>(handle);
}

struct GraphState final : InContext {
    GraphState(const Context &in, Api of) noexcept
        : InContext(in, InCapture::safe), api(of), id(GraphIdentity::next_id()) {}
    // Of a graph nested in a node of `around`.
    GraphState(GraphState &around, std::shared_ptr<GraphIdentity> nested) noexcept
        : InContext(around, InCapture::safe), api(around.api), id(nested->id),
          outermost(around.outermost), keep_outer(&around), identity_(std::move(nested)) {}
    ~GraphState() override {
        if (is_captured_into) {
            forget_target(*this);
        }
    }

    Destroyed destroy() noexcept override {
        if (identity_ != nullptr) {
            identity_->end();
        }
        return destroy_by<entry::cuGraphDestroy, entry::cudaGraphDestroy>(*this, api, graph);
    }
    // A reset destroys the objects in the context, but not graphs.
    bool is_gone() const noexcept override { return false; }
    // What the nodes use: the outermost graph keeps it.
    KeptResources &uses() noexcept { return outermost->own_uses_; }
    // Calls `copy`, which copies the graph, and whether CUDA keeps the resources for the copy.
    template <class Copy>
    auto copied(const Copy &copy, bool is_kept_by_cuda = false) noexcept -> decltype(copy()) {
        return own_uses_.copied(copy, is_kept_by_cuda);
    }

    bool is_alive() const noexcept { return identity_ == nullptr || identity_->is_alive(); }
    // See GraphIdentity. The name of a null handle is empty.
    GraphNode name(CUgraphNode native) const noexcept {
        return native == nullptr      ? GraphNode()
               : identity_ != nullptr ? identity_->name(native)
                                      : GraphAccess::node(native, id);
    }
    bool has(const GraphNode &node) const noexcept {
        return identity_ != nullptr ? identity_->has(node) : GraphAccess::name(node) == id;
    }
    // invalid_argument unless it is an existing node of this graph. `what` is the argument.
    Result<void> check(const GraphNode &node, const char *what = "the node") const noexcept {
        return has(node) ? Result<void>() : not_of_graph(node, id, what);
    }
    // Throws std::bad_alloc.
    const std::shared_ptr<GraphIdentity> &identity() {
        if (identity_ == nullptr) {
            identity_ = std::make_shared<GraphIdentity>(api, id);
        }
        return identity_;
    }

    const Api api;
    const unsigned long long id; // see GraphIdentity
    CUgraph graph = nullptr;
    // For a graph nested in a node, which is never owned; the graph around it is kept alive.
    GraphState *const outermost = this;
    const KeepAlive keep_outer;
    bool is_captured_into = false; // note_capture() was called
    InstantiateFailure failure;    // of the last instantiate() that failed

  private:
    std::shared_ptr<GraphIdentity> identity_; // null until it is needed
    KeptResources own_uses_{graph, id, generation};
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
    if (!state->is_alive()) {
        return Error::invalid_argument("the node that contains this graph was destroyed");
    }
    return state;
}

// A Graph that CUDA has created or lent, or that is nested in a node of `around`.
Result<NewState<GraphState>> make_graph_state(const Context &context, Api api) noexcept;
Result<Graph> graph_inside(GraphState &around, CUgraphNode node, CUgraph graph) noexcept;
inline Graph own_graph(NewState<GraphState> &state) noexcept {
    GraphState *const owned = state.take();
    release_before_exit(owned->api); // such graphs are destroyed on cushim's thread, too
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

// unsupported_platform: the other graph belongs to the other API.
Error other_api(Api api, const char *graph, const char *other) noexcept;

} // namespace cushim::detail
