#include <cushim/graph_exec.hpp>

#include <cushim/graph.hpp>
#include <cushim/runtime_graph.hpp>

#include "exec_state.hpp"
#include "parameters.hpp"
#include "state.hpp"

namespace cushim {
namespace {

using detail::GraphExecState;
using detail::GraphState;

Result<GraphExecState *> state_of_exec(const GraphExec &exec) noexcept {
    auto *const state = static_cast<GraphExecState *>(detail::Access::state(exec));
    if (state == nullptr) {
        return Error::invalid_argument("the executable graph is empty");
    }
    return state;
}

/* A node of the graph, or of a graph nested in it. CUDA's documentation refers to nodes "in the
 * non-executable graph, from which the executable graph was instantiated". The sections
 * child_graph_nodes, grandchild_graph_nodes and body_nodes of cushim-conformance record that driver
 * 580 accepts nested nodes. CUDA checks whether the node existed at instantiation. */
Result<detail::ExecNode> exec_node(const GraphExecState &state, const GraphNode &node) noexcept {
    if (!state.identity) {
        return Error::invalid_argument("the nodes of an adopted executable graph are unknown");
    }
    const detail::GraphIdentity &identity = state.identity->identity_of(node);
    CUSHIM_TRY_VOID(detail::check_node(identity, node));
    return detail::ExecNode{node.native(), identity, *state.identity};
}

GraphExec own_exec(detail::NewState<GraphExecState> &state) noexcept {
    GraphExec exec;
    const CUgraphExec native = state->exec;
    detail::Access::set(exec, native, state.take());
    return exec;
}

Result<detail::NewState<GraphExecState>>
adopted(const Context &context, const detail::GraphApi &api, CUgraphExec exec) noexcept {
    CUSHIM_TRY_VOID(detail::require(context, "the context is empty"));
    if (exec == nullptr) {
        return Error::invalid_argument("the handle is null");
    }
    CUSHIM_TRY(auto state, detail::make_state<GraphExecState>(context, api, nullptr));
    state->exec = exec;
    return state;
}

Result<GraphExec> adopt_exec(const Context &context, const detail::GraphApi &api,
                             CUgraphExec exec) noexcept {
    CUSHIM_TRY(auto state, adopted(context, api, exec));
    return own_exec(state);
}

Result<GraphExec> borrow_exec(const Context &context, const detail::GraphApi &api,
                              CUgraphExec exec) noexcept {
    CUSHIM_TRY(auto state, adopted(context, api, exec));
    GraphExec borrowed = own_exec(state);
    state->owned.store(false, std::memory_order_relaxed);
    return borrowed;
}

// The node that CUDA reports as the cause of a failure.
Result<GraphNode> find_node(const GraphState &graph, CUgraphNode native) noexcept {
    return detail::with_memory(
        [&]() -> Result<GraphNode> { return graph.identity->find(graph.graph, native); });
}

Result<void> launch_now(GraphExecState &state, const Stream &stream) noexcept {
    CUSHIM_TRY_VOID(state.api.exec.launch(state.exec, stream.native()));
    if (!state.uses.empty()) {
        state.uses.launched(stream);
    }
    return {};
}

} // namespace

Result<GraphExec> Graph::instantiate(const InstantiateOptions &options,
                                     InstantiateFailure *failure) const noexcept {
    CUSHIM_TRY(GraphState *const graph, detail::state_of_graph(*this));
    if (options.upload != nullptr) {
        CUSHIM_TRY_VOID(detail::require(*options.upload, "the stream is empty"));
    }
    CUSHIM_TRY(auto state, detail::make_state<GraphExecState>(graph->shared_context(), graph->api(),
                                                              graph->identity));
    CUSHIM_TRY(const ContextScope scope, graph->enter());
    detail::NativeInstantiateFailure why;
    Result<void> done = graph->api().exec.instantiate(&state->exec, graph->graph, options, &why);
    if (!done) {
        if (failure != nullptr) {
            const Result<GraphNode> node = find_node(*graph, why.node);
            *failure = {why.result, node ? *node : GraphNode()};
        }
        return done.error();
    }
    return own_exec(state);
}

Result<GraphExec> GraphExec::adopt(const Context &context, CUgraphExec exec) noexcept {
    return adopt_exec(context, detail::driver_graphs, exec);
}

Result<GraphExec> GraphExec::borrow(const Context &context, CUgraphExec exec) noexcept {
    return borrow_exec(context, detail::driver_graphs, exec);
}

Result<GraphExec> rt::adopt_exec(const Context &context, CUgraphExec exec) noexcept {
    return cushim::adopt_exec(context, detail::runtime_graphs, exec);
}

Result<GraphExec> rt::borrow_exec(const Context &context, CUgraphExec exec) noexcept {
    return cushim::borrow_exec(context, detail::runtime_graphs, exec);
}

Api GraphExec::api() const noexcept {
    const auto state = state_of_exec(*this);
    return state ? (*state)->api.api : Api::loader;
}

Result<void> GraphExec::launch(const Stream &stream) const noexcept {
    CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
    CUSHIM_TRY_VOID(detail::require(stream, "the stream is empty"));
    // The driver launches without a current context; the runtime would initialize one.
    if (state->api.api == Api::driver) {
        return launch_now(*state, stream);
    }
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return launch_now(*state, stream);
}

Result<void> GraphExec::upload(const Stream &stream) const noexcept {
    CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
    CUSHIM_TRY_VOID(detail::require(stream, "the stream is empty"));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return state->api.exec.upload(state->exec, stream.native());
}

Result<GraphUpdate> GraphExec::update(const Graph &graph) const noexcept {
    CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
    CUSHIM_TRY(GraphState *const from, detail::state_of_graph(graph));
    if (&from->api() != &state->api) {
        return Error::unsupported_platform(
            "GraphExec::update: the graph was created by the other API");
    }
    CUSHIM_TRY(const ContextScope scope, state->enter());
    detail::NativeUpdate update;
    CUSHIM_TRY_VOID(state->api.exec.update(state->exec, from->graph, &update));
    if (update.result == GraphUpdateResult::success) {
        state->uses.end(); // CUDA has dropped the old resources and keeps the graph's
    }
    CUSHIM_TRY(const GraphNode node, find_node(*from, update.node));
    CUSHIM_TRY(const GraphNode source, find_node(*from, update.from));
    return GraphUpdate{update.result, node, source};
}

Result<void> GraphExec::set(const GraphNode &node, const detail::NodeParameters &parameters,
                            const detail::NodeUses &uses) const noexcept {
    CUSHIM_TRY(auto kept, detail::keep_uses(detail::NewUses(uses)));
    CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
    CUSHIM_TRY(const detail::ExecNode place, exec_node(*state, node));
    CUSHIM_TRY_VOID(detail::check_new_parameters(state->api, parameters));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    CUSHIM_TRY_VOID(state->uses.prepare(state->shared_context(), place, kept.get()));
    Result<void> done = state->api.exec_set(state->exec, node.native(), parameters, state->context);
    if (done) {
        if (std::holds_alternative<const detail::ChildGraphNode *>(parameters.kind())) {
            state->uses.end_inside(node.native());
        }
        state->uses.keep(node.native(), std::move(kept));
    } else if (detail::may_be_done(done.error())) {
        state->uses.keep_also(node.native(), std::move(kept));
    } else {
        state->uses.unprepare(node.native());
    }
    return done;
}

Result<void> GraphExec::set_signals(const GraphNode &node,
                                    std::span<const SemaphoreSignal> signals) const noexcept {
    return detail::with_semaphores<detail::SemaphoreSignalNode>(
        signals,
        [&](const detail::NodeParameters &parameters, const detail::NodeUses &uses) noexcept {
            return set(node, parameters, uses);
        });
}

Result<void> GraphExec::set_waits(const GraphNode &node,
                                  std::span<const SemaphoreWait> waits) const noexcept {
    return detail::with_semaphores<detail::SemaphoreWaitNode>(
        waits, [&](const detail::NodeParameters &parameters,
                   const detail::NodeUses &uses) noexcept { return set(node, parameters, uses); });
}

Result<void> GraphExec::set_child_graph_node(const GraphNode &node,
                                             const Graph &child) const noexcept {
    CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
    CUSHIM_TRY(GraphState *const inner, detail::state_of_graph(child));
    if (&inner->api() != &state->api) {
        return Error::unsupported_platform(
            "GraphExec::set_child_graph_node: the child graph was created by the other API");
    }
    CUSHIM_TRY_VOID(exec_node(*state, node));
    // The clone keeps the nodes' resources, which the outer graph or its owner may release.
    CUSHIM_TRY(const Graph clone, child.clone());
    detail::State *const uses[] = {detail::Access::state(clone)};
    return set(node, detail::ChildGraphNode{inner->graph}, {uses});
}

Result<void> GraphExec::set_enabled(const GraphNode &node, bool enabled) const noexcept {
    CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
    CUSHIM_TRY_VOID(exec_node(*state, node));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return state->api.exec.set_enabled(state->exec, node.native(), enabled);
}

Result<bool> GraphExec::is_enabled(const GraphNode &node) const noexcept {
    CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
    CUSHIM_TRY_VOID(exec_node(*state, node));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    bool enabled = false;
    CUSHIM_TRY_VOID(state->api.exec.is_enabled(state->exec, node.native(), &enabled));
    return enabled;
}

Result<unsigned long long> GraphExec::flags() const noexcept {
    CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    unsigned long long flags = 0;
    CUSHIM_TRY_VOID(state->api.exec.flags(state->exec, &flags));
    return flags;
}

} // namespace cushim
