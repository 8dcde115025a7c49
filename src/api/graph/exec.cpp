#include <cushim/graph_exec.hpp>

#include <cushim/graph.hpp>
#include <cushim/runtime_graph.hpp>

#include "context/current_call.hpp"
#include "context/in_context.hpp"
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
        return Error::invalid_argument("the GraphExec holds no executable graph");
    }
    return state;
}

/* A node of the graph, or of a graph nested in it. CUDA's documentation refers to nodes "in the
 * non-executable graph, from which the executable graph was instantiated". The sections
 * child_graph_nodes, grandchild_graph_nodes and body_nodes of cushim-conformance record that driver
 * 580 accepts nested nodes. CUDA checks whether the node existed at instantiation. */
Result<detail::ExecNode> exec_node(const GraphExecState &state, const GraphNode &node) noexcept {
    if (!state.identity) {
        return Error::invalid_argument(
            "the executable graph is adopted or borrowed, and its nodes are unknown; create it "
            "with Graph::instantiate()");
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
    CUSHIM_TRY_VOID(detail::require(context, "the Context holds no context"));
    if (exec == nullptr) {
        return Error::invalid_argument("the handle is null");
    }
    CUSHIM_TRY(auto state, detail::make_state<GraphExecState>(context, api));
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
    state->is_kept_by_cuda = true;
    state->owned.store(false, std::memory_order_relaxed);
    return borrowed;
}

Error explain(const Error &error, InstantiateResult result) noexcept {
    switch (result) {
    case InstantiateResult::invalid_structure:
        return detail::explained(error,
                                 "the structure of the graph is invalid; it may have a cycle");
    case InstantiateResult::node_operation_not_supported:
        return detail::explained(error,
                                 "a node is not supported in a graph that device code launches");
    case InstantiateResult::multiple_contexts:
        return detail::explained(
            error, "the nodes of a graph that device code launches must use one context");
    case InstantiateResult::conditional_handle_unused:
        return detail::explained(error, "a condition of the graph has no conditional node; pass it "
                                        "to add_if_node(), add_while_node() or add_switch_node()");
    default:
        return error;
    }
}

// Calls `copy`, which returns whether it copied the graph to the executable graph. If so,
// the latter keeps the graph's resources alive.
template <class Copy>
Result<void> copy_with_uses(GraphExecState &state, GraphState &graph, const Copy &copy) noexcept {
    if ((state.is_kept_by_cuda && graph.outer == nullptr) || !graph.uses().any()) {
        CUSHIM_TRY(const bool copied, copy());
        if (copied && state.uses) {
            state.uses->keep(nullptr);
        }
        return {};
    }
    CUSHIM_TRY_VOID(state.make_uses());
    CUSHIM_TRY(auto kept, detail::keep_uses(graph.uses().share()));
    const Result<bool> copied = graph.copied(copy);
    if (copied && *copied) {
        state.uses->keep(std::move(kept));
    } else if (!copied && state.owned.load(std::memory_order_relaxed) &&
               detail::may_be_done(copied.error())) {
        state.uses->keep_also(std::move(kept)); // it may be updated
    }
    CUSHIM_TRY_VOID(copied);
    return {};
}

// The node that CUDA reports as the cause of a failure.
Result<GraphNode> find_node(const GraphState &graph, CUgraphNode native) noexcept {
    return detail::with_memory(
        [&]() -> Result<GraphNode> { return graph.identity->find(graph.graph, native); });
}

[[gnu::noinline]] Result<void>
instantiate_with_uses(GraphExecState *state, GraphState *graph, const InstantiateOptions &options,
                      detail::NativeInstantiateFailure *why) noexcept {
    return copy_with_uses(*state, *graph, [&]() noexcept -> Result<bool> {
        CUSHIM_TRY_VOID(graph->api().exec.instantiate(&state->exec, graph->graph, options, why));
        return true;
    });
}

[[gnu::cold]] Error not_instantiated(const Error &error, const GraphState &graph,
                                     const detail::NativeInstantiateFailure &why,
                                     InstantiateFailure *failure) noexcept {
    if (failure != nullptr) {
        const Result<GraphNode> node = find_node(graph, why.node);
        *failure = {why.result, node ? *node : GraphNode()};
    }
    return explain(error, why.result);
}

// In the context of the graph.
[[gnu::noinline]] Result<void> instantiate_in(GraphExecState *state, GraphState *graph,
                                              const InstantiateOptions &options,
                                              InstantiateFailure *failure) noexcept {
    detail::NativeInstantiateFailure why;
    Result<void> done =
        graph->uses().any()
            ? instantiate_with_uses(state, graph, options, &why)
            : graph->api().exec.instantiate(&state->exec, graph->graph, options, &why);
    if (!done) [[unlikely]] {
        return not_instantiated(done.error(), *graph, why, failure);
    }
    return done;
}

Result<void> set_in(const GraphExec &exec, const GraphNode &node,
                    const detail::NodeParameters &parameters,
                    std::unique_ptr<detail::KeptUses> kept) noexcept {
    CUSHIM_TRY(GraphExecState *const state, state_of_exec(exec));
    CUSHIM_TRY(const detail::ExecNode place, exec_node(*state, node));
    CUSHIM_TRY_VOID(detail::check_new_parameters(
        state->api, parameters, "to skip the node, call GraphExec::set_enabled()"));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    if (kept) {
        CUSHIM_TRY_VOID(state->make_uses());
        CUSHIM_TRY_VOID(state->uses->prepare(place));
    }
    Result<void> done = state->api.exec_set(state->exec, node.native(), parameters, state->context);
    if (!state->uses) {
        return done;
    }
    if (done) {
        if (parameters.is<detail::ChildGraphNode>()) {
            state->uses->end_inside(node.native());
        }
        state->uses->keep(node.native(), std::move(kept));
    } else if (detail::may_be_done(done.error())) {
        state->uses->keep_also(node.native(), std::move(kept));
    } else {
        state->uses->unprepare(node.native());
    }
    return done;
}

Error not_launched(const Error &error, const Stream &stream) noexcept {
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    const bool is_captured =
        error.status() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
        driver().cuStreamIsCapturing(stream.native(), &capture) == CUDA_SUCCESS &&
        capture != CU_STREAM_CAPTURE_STATUS_NONE;
    return is_captured
               ? detail::explained(error, "the stream is being captured; add the graph with "
                                          "Graph::add_child_graph_node()")
               : error;
}

// Enabling or reading a node that is always enabled.
Error explain_enabling(const Error &error, const GraphExecState &state,
                       const GraphNode &node) noexcept {
    GraphNodeType type{};
    const bool is_known = error.status() == CUDA_ERROR_INVALID_VALUE &&
                          state.api.read.node_type(node.native(), &type).has_value();
    if (!is_known || type == GraphNodeType::kernel || type == GraphNodeType::memcpy ||
        type == GraphNodeType::memset) {
        return error;
    }
    return detail::explained(
        error, "the node has type %s; only kernel, memcpy and memset nodes can be disabled",
        to_text(type).c_str());
}

} // namespace

Result<GraphExec> Graph::instantiate(const InstantiateOptions &options,
                                     InstantiateFailure *failure) const noexcept {
    GraphState *const graph = detail::living_state_of(*this);
    if (graph == nullptr) [[unlikely]] {
        return CUSHIM_NAMED(detail::not_living(detail::any_state_of(*this)));
    }
    if (options.upload != nullptr) {
        CUSHIM_TRY_VOID(
            detail::require(*options.upload, "the Stream for the upload holds no stream"));
    }
    CUSHIM_TRY(auto state, detail::make_state<GraphExecState>(*graph, graph->identity));
    state->is_kept_by_cuda = options.kept_by_cuda || options.device_launch;
    CUSHIM_TRY_VOID(
        detail::call_in(graph->context, nullptr,
                        [exec = state.operator->(), graph, asked = &options, failure]() noexcept {
                            return instantiate_in(exec, graph, *asked, failure);
                        }));
    return own_exec(state);
}

Result<GraphExec> GraphExec::adopt(const Context &context, CUgraphExec exec) noexcept {
    return CUSHIM_NAMED(adopt_exec(context, detail::driver_graphs, exec));
}

Result<GraphExec> GraphExec::borrow(const Context &context, CUgraphExec exec) noexcept {
    return CUSHIM_NAMED(borrow_exec(context, detail::driver_graphs, exec));
}

Result<GraphExec> rt::adopt_exec(const Context &context, CUgraphExec exec) noexcept {
    return CUSHIM_NAMED(cushim::adopt_exec(context, detail::runtime_graphs, exec));
}

Result<GraphExec> rt::borrow_exec(const Context &context, CUgraphExec exec) noexcept {
    return CUSHIM_NAMED(cushim::borrow_exec(context, detail::runtime_graphs, exec));
}

Api GraphExec::api() const noexcept {
    const auto state = state_of_exec(*this);
    return state ? (*state)->api.api : Api::loader;
}

Result<void> GraphExec::launch(const Stream &stream) const noexcept {
    CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
    CUSHIM_TRY_VOID(detail::require(stream, "the Stream holds no stream"));
    const auto launch_now = [state, &stream]() noexcept -> Result<void> {
        const Result<void> launched = state->api.exec.launch(state->exec, stream.native());
        if (!launched) [[unlikely]] {
            if (state->uses && detail::may_be_done(launched.error())) {
                state->uses->maybe_launched(stream);
            }
            return CUSHIM_NAMED(not_launched(launched.error(), stream));
        }
        if (state->uses) {
            state->uses->launched(stream);
        }
        return {};
    };
    // The driver launches without a current context; the runtime would initialize one.
    if (state->api.api == Api::driver) {
        return launch_now();
    }
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return launch_now();
}

Result<void> GraphExec::launched(const Stream &stream) const noexcept {
    CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
    CUSHIM_TRY_VOID(detail::require(stream, "the Stream holds no stream"));
    if (state->uses) {
        state->uses->launched(stream);
    }
    return {};
}

Result<void> GraphExec::upload(const Stream &stream) const noexcept {
    CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
    CUSHIM_TRY_VOID(detail::require(stream, "the Stream holds no stream"));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return CUSHIM_NAMED(state->api.exec.upload(state->exec, stream.native()));
}

Result<GraphUpdate> GraphExec::update(const Graph &graph) const noexcept {
    CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
    CUSHIM_TRY(GraphState *const from, detail::state_of_graph(graph));
    if (&from->api() != &state->api) {
        return CUSHIM_NAMED(detail::other_api(state->api, "the executable graph", "the graph"));
    }
    CUSHIM_TRY(const ContextScope scope, state->enter());
    detail::NativeUpdate update;
    CUSHIM_TRY_VOID(copy_with_uses(*state, *from, [&]() noexcept -> Result<bool> {
        CUSHIM_TRY_VOID(state->api.exec.update(state->exec, from->graph, &update));
        return update.result == GraphUpdateResult::success;
    }));
    CUSHIM_TRY(const GraphNode node, find_node(*from, update.node));
    CUSHIM_TRY(const GraphNode source, find_node(*from, update.from));
    return GraphUpdate{update.result, node, source};
}

Result<void> GraphExec::set(const GraphNode &node, const detail::NodeParameters &parameters,
                            const detail::NodeUses &uses) const noexcept {
    static constexpr detail::NodeFunctions functions = {CUSHIM_NODE_FUNCTIONS("GraphExec::set_")};
    const char *const function = functions[parameters.kind()];
    auto kept = detail::keep_uses(detail::NewUses(uses));
    return detail::named(kept ? set_in(*this, node, parameters, std::move(*kept)) : kept.error(),
                         function);
}

Result<void> GraphExec::set_signals(const GraphNode &node,
                                    std::span<const SemaphoreSignal> signals) const noexcept {
    return detail::named(
        detail::with_semaphores<detail::SemaphoreSignalNode>(
            signals,
            [&](const detail::NodeParameters &parameters, const detail::NodeUses &uses) noexcept {
                return set(node, parameters, uses);
            }),
        "GraphExec::set_semaphore_signal_node");
}

Result<void> GraphExec::set_waits(const GraphNode &node,
                                  std::span<const SemaphoreWait> waits) const noexcept {
    return detail::named(
        detail::with_semaphores<detail::SemaphoreWaitNode>(
            waits,
            [&](const detail::NodeParameters &parameters, const detail::NodeUses &uses) noexcept {
                return set(node, parameters, uses);
            }),
        "GraphExec::set_semaphore_wait_node");
}

Result<void> GraphExec::set_child_graph_node(const GraphNode &node,
                                             const Graph &child) const noexcept {
    CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
    CUSHIM_TRY(GraphState *const inner,
               detail::state_of_graph(child, "the child Graph holds no graph"));
    if (&inner->api() != &state->api) {
        return CUSHIM_NAMED(
            detail::other_api(state->api, "the executable graph", "the child graph"));
    }
    CUSHIM_TRY(auto kept, detail::keep_uses(inner->uses().share()));
    return CUSHIM_NAMED(inner->copied([&]() noexcept {
        return set_in(*this, node, detail::ChildGraphNode{inner->graph}, std::move(kept));
    }));
}

Result<void> GraphExec::set_enabled(const GraphNode &node, bool enabled) const noexcept {
    CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
    CUSHIM_TRY_VOID(exec_node(*state, node));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    const Result<void> done = state->api.exec.set_enabled(state->exec, node.native(), enabled);
    if (!done) {
        return CUSHIM_NAMED(explain_enabling(done.error(), *state, node));
    }
    return {};
}

Result<bool> GraphExec::is_enabled(const GraphNode &node) const noexcept {
    CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
    CUSHIM_TRY_VOID(exec_node(*state, node));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    bool enabled = false;
    const Result<void> done = state->api.exec.is_enabled(state->exec, node.native(), &enabled);
    if (!done) {
        return CUSHIM_NAMED(explain_enabling(done.error(), *state, node));
    }
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
