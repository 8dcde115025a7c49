// Executable graphs.
#include <cushim/graph_exec.hpp>

#include <cushim/graph.hpp>
#include <cushim/loader.hpp>
#include <cushim/runtime_graph.hpp>

#include "adding.hpp"
#include "base/explained.hpp"
#include "context/requirements.hpp"
#include "exec_state.hpp"
#include "reading.hpp"

namespace cushim {

using namespace detail;

GraphExec detail::own_exec(NewState<GraphExecState> &state) noexcept {
    GraphExec exec;
    const CUgraphExec native = state->exec;
    Access::set(exec, native, state.take());
    return exec;
}

namespace {

/* A node of the graph, or of a graph nested in it. CUDA's documentation refers to nodes "in the
 * non-executable graph, from which the executable graph was instantiated". The sections
 * child_graph_nodes, grandchild_graph_nodes and body_nodes of cushim-conformance record that driver
 * 580 accepts nested nodes. CUDA checks whether the node existed at instantiation. */
Result<ExecNode> exec_node(const GraphExecState &state, const GraphNode &node) noexcept {
    if (!state.identity) {
        return Error::invalid_argument(
            "the executable graph is adopted or borrowed, and its nodes are unknown; create it "
            "with Graph::instantiate()");
    }
    const GraphIdentity &identity = state.identity->identity_of(node);
    if (!identity.has(node)) [[unlikely]] {
        return not_of_graph(node, identity.id, "the node");
    }
    return ExecNode{node.native(), identity};
}

Result<GraphExec> take_exec(const Context &context, Api api, CUgraphExec exec,
                            bool is_borrowed) noexcept {
    CUSHIM_TRY_VOID(require(context, "the Context is empty"));
    if (exec == nullptr) {
        return Error::invalid_argument("the handle is null");
    }
    CUSHIM_TRY(auto state, make_state<GraphExecState>(context, api));
    state->exec = exec;
    state->is_kept_by_cuda = is_borrowed;
    GraphExec taken = own_exec(state);
    state->owned.store(!is_borrowed, std::memory_order_relaxed);
    return taken;
}

// --- setting nodes

using Place = ExecUses::Place;

Result<void> call_set(const GraphExecState &state, const GraphNode &node, const NodeParameters &to,
                      Place *place) noexcept {
    return to.kind.calls(state.api).set_in_exec(
        {state.exec, node.native(), state.context, place != nullptr ? &place->known : nullptr},
        to.values);
}

// The node then uses `kept`, which may be null.
Result<void> set_keeping(GraphExecState &state, const ExecNode &at, const GraphNode &node,
                         const NodeParameters &to, std::unique_ptr<KeptUses> kept) noexcept {
    Place *place = nullptr;
    if (kept) {
        CUSHIM_TRY_VOID(state.make_uses());
        CUSHIM_TRY(place, state.uses->prepare(at));
    } else if (state.uses) {
        place = state.uses->find(node.native());
    }
    Result<void> done = call_set(state, node, to, place);
    if (place != nullptr) {
        state.uses->keep(node.native(), std::move(kept), done);
    }
    return done;
}

} // namespace

Result<void> GraphExec::set(const GraphNode &node, const NodeParameters &to,
                            const NodeUses &uses) noexcept {
    const auto set_node = [&](const NodeUses &all) noexcept -> Result<void> {
        NewUses owners(all);
        CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
        CUSHIM_TRY(const ExecNode at, exec_node(*state, node));
        CUSHIM_TRY_VOID(check_replacement(to, "to skip the node, call GraphExec::set_enabled()"));
        Place *const place = state->uses ? state->uses->find(node.native()) : nullptr;
        if (place != nullptr && place->keeps(owners)) {
            return call_set(*state, node, to, place);
        }
        CUSHIM_TRY(auto kept, keep_uses(std::move(owners)));
        return set_keeping(*state, at, node, to, std::move(kept));
    };
    return named(to.kind.names.set_in_exec, to.kind.with_owners(to.values, uses, set_node));
}

Result<void> GraphExec::set_child_graph_node(const GraphNode &node, const Graph &child) noexcept {
    return named("GraphExec::set_child_graph_node", [&]() noexcept -> Result<void> {
        CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
        CUSHIM_TRY(GraphState *const inner, state_of_graph(child, "the child Graph is empty"));
        if (inner->api != state->api) {
            return other_api(state->api, "the executable graph", "the child graph");
        }
        CUSHIM_TRY(const ExecNode at, exec_node(*state, node));
        CUSHIM_TRY(const ContextScope scope, state->enter());
        CUSHIM_TRY(auto kept, keep_uses(inner->uses().share()));
        return inner->copied([&]() noexcept {
            Result<void> done =
                set_keeping(*state, at, node, ChildGraphNode{inner->graph}, std::move(kept));
            if (done && state->uses) {
                state->uses->end_inside(node.native());
            }
            return done;
        });
    });
}

// --- properties

namespace {

using SetEnabled = Both<entry::cuGraphNodeSetEnabled, entry::cudaGraphNodeSetEnabled>;
using GetEnabled = Both<entry::cuGraphNodeGetEnabled, entry::cudaGraphNodeGetEnabled>;

// `value` is what the function sets, or its output.
template <class Function, class Value>
Result<void> call_enabled(const GraphExec &exec, const GraphNode &node, Value value) noexcept {
    CUSHIM_TRY(GraphExecState *const state, state_of_exec(exec));
    CUSHIM_TRY_VOID(exec_node(*state, node));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    Result<void> done = needs(Feature::graph_node_enable,
                              call_of<Function>(state->api, state->exec, node.native(), value));
    if (done || done.error().status() != CUDA_ERROR_INVALID_VALUE) {
        return done;
    }
    const Result<GraphNodeType> type = native_type(state->api, node.native());
    if (!type || *type == GraphNodeType::kernel || *type == GraphNodeType::memcpy ||
        *type == GraphNodeType::memset) {
        return done;
    }
    return explained(done.error(),
                     "the node has type %s; only kernel, memcpy and memset nodes can be disabled",
                     to_text(*type).c_str());
}

} // namespace

Result<void> GraphExec::set_enabled(const GraphNode &node, bool enabled) noexcept {
    return named("GraphExec::set_enabled",
                 call_enabled<SetEnabled>(*this, node, enabled ? 1u : 0u));
}

Result<bool> GraphExec::is_enabled(const GraphNode &node) const noexcept {
    return named("GraphExec::is_enabled", [&]() noexcept -> Result<bool> {
        unsigned int enabled = 0;
        CUSHIM_TRY_VOID(call_enabled<GetEnabled>(*this, node, &enabled));
        return enabled != 0;
    });
}

Result<unsigned long long> GraphExec::flags() const noexcept {
    using Get = Both<entry::cuGraphExecGetFlags, entry::cudaGraphExecGetFlags>;
    using Flags = Both<cuuint64_t, unsigned long long>;
    return named("GraphExec::flags", [&]() noexcept -> Result<unsigned long long> {
        CUSHIM_TRY(GraphExecState *const state, state_of_exec(*this));
        CUSHIM_TRY(const ContextScope scope, state->enter());
        return by_api(state->api, [&](auto api) noexcept -> Result<unsigned long long> {
            In<Flags, api> flags = 0;
            CUSHIM_TRY_VOID(call<In<Get, api>>(state->exec, &flags));
            return flags;
        });
    });
}

// --- handles of others

Api GraphExec::api() const noexcept {
    const auto state = state_of_exec(*this);
    return state ? (*state)->api : Api::loader;
}

Result<GraphExec> GraphExec::adopt(const Context &context, CUgraphExec exec) noexcept {
    return named("GraphExec::adopt", take_exec(context, Api::driver, exec, false));
}

Result<GraphExec> GraphExec::borrow(const Context &context, CUgraphExec exec) noexcept {
    return named("GraphExec::borrow", take_exec(context, Api::driver, exec, true));
}

Result<GraphExec> rt::adopt_exec(const Context &context, CUgraphExec exec) noexcept {
    return named("rt::adopt_exec", take_exec(context, Api::runtime, exec, false));
}

Result<GraphExec> rt::borrow_exec(const Context &context, CUgraphExec exec) noexcept {
    return named("rt::borrow_exec", take_exec(context, Api::runtime, exec, true));
}

} // namespace cushim
