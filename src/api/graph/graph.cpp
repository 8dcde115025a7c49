#include <cushim/graph.hpp>
#include <cushim/runtime_graph.hpp>

#include <cstdio>
#include <memory>
#include <new>

#include "kept_resources.hpp"
#include "state.hpp"

namespace cushim {
namespace {

constexpr const char *no_context = "the Context holds no context";

} // namespace

namespace detail {

Error not_living(const GraphState *state, const char *empty) noexcept {
    return Error::invalid_argument(
        state == nullptr ? empty : "the node that contains this graph was destroyed");
}

namespace {

[[gnu::always_inline]] inline MadeState<GraphState> new_state(const Context &context,
                                                              const GraphApi &api) noexcept {
    try {
        return make_state<GraphState>(
            context, std::allocate_shared<GraphIdentity>(StateAllocator<GraphIdentity>(), api));
    } catch (const std::bad_alloc &) {
        return MadeState<GraphState>(nullptr);
    }
}

} // namespace

Result<NewState<GraphState>> make_graph_state(const Context &context,
                                              const GraphApi &api) noexcept {
    CUSHIM_TRY_VOID(require(context, no_context));
    return new_state(context, api);
}

namespace {

// Its last owner destroys nothing.
Graph lend_graph(NewState<GraphState> &state) noexcept {
    Graph graph = own_graph(state);
    Access::state(graph)->owned.store(false, std::memory_order_relaxed);
    return graph;
}

Result<Graph> adopt_graph(const Context &context, const GraphApi &api, CUgraph graph) noexcept {
    if (graph == nullptr) {
        return Error::invalid_argument("the handle is null");
    }
    CUSHIM_TRY(auto state, make_graph_state(context, api));
    state->graph = graph;
    return own_graph(state);
}

} // namespace

Result<Graph> borrow_graph(const Context &context, const GraphApi &api, CUgraph graph) noexcept {
    if (graph == nullptr) {
        return Error::invalid_argument("the handle is null");
    }
    CUSHIM_TRY(auto state, make_graph_state(context, api));
    state->graph = graph;
    return lend_graph(state);
}

Result<Graph> graph_inside(GraphState &around, CUgraphNode node, CUgraph graph) noexcept {
    return with_memory([&]() -> Result<Graph> {
        CUSHIM_TRY(auto state, make_state<GraphState>(around.shared_context(),
                                                      around.identity->inside(node, graph)));
        state->graph = graph;
        state->outer = &around;
        state->outermost = around.outermost;
        state->keep_outer = KeepAlive(&around);
        return lend_graph(state);
    });
}

Result<void> check_node(const GraphIdentity &identity, const GraphNode &node,
                        const char *what) noexcept {
    if (!node) {
        return invalid_argument("%s is an empty GraphNode", what);
    }
    if (!identity.has(node)) {
        return invalid_argument(identity.had(node) ? "%s was destroyed"
                                : identity.may_have_had(node)
                                    ? "%s was destroyed or belongs to another graph"
                                    : "%s belongs to another graph",
                                what);
    }
    return {};
}

Error other_api(const GraphApi &api, const char *graph, const char *other) noexcept {
    const bool is_driver = api.api == Api::driver;
    char detail[200];
    std::snprintf(detail, sizeof detail,
                  "%s belongs to the %s API, %s to the %s API; create %s with %s or %s", graph,
                  is_driver ? "driver" : "runtime", other, is_driver ? "runtime" : "driver", other,
                  is_driver ? "Graph::create()" : "rt::create_graph()",
                  is_driver ? "Stream::capture()" : "rt::capture()");
    return Error::unsupported_platform(detail);
}

} // namespace detail

using detail::GraphState;
using detail::state_of_graph;

namespace {

Result<void> keep_in(const Graph &graph, detail::NewUses &&uses) noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(graph));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    CUSHIM_TRY_VOID(state->uses().prepare(uses));
    state->uses().keep(std::move(uses));
    return {};
}

} // namespace

// --- whole graphs

// The driver needs no context.
Result<Graph> Graph::create(const Context &context) noexcept {
    CUSHIM_TRY_VOID(detail::require(context, no_context));
    CUSHIM_TRY(auto state, detail::new_state(context, detail::driver_graphs));
    CUSHIM_TRY_VOID(detail::driver_graphs.create(&state->graph));
    return detail::own_graph(state);
}

Result<Graph> Graph::adopt(const Context &context, CUgraph graph) noexcept {
    return CUSHIM_NAMED(detail::adopt_graph(context, detail::driver_graphs, graph));
}

Result<Graph> Graph::borrow(const Context &context, CUgraph graph) noexcept {
    return CUSHIM_NAMED(detail::borrow_graph(context, detail::driver_graphs, graph));
}

Result<Graph> rt::create_graph(const Context &context) noexcept {
    CUSHIM_TRY_VOID(detail::require(context, no_context));
    CUSHIM_TRY(auto state, detail::new_state(context, detail::runtime_graphs));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    CUSHIM_TRY_VOID(detail::runtime_graphs.create(&state->graph));
    return detail::own_graph(state);
}

Result<Graph> rt::adopt_graph(const Context &context, CUgraph graph) noexcept {
    return CUSHIM_NAMED(detail::adopt_graph(context, detail::runtime_graphs, graph));
}

Result<Graph> rt::borrow_graph(const Context &context, CUgraph graph) noexcept {
    return CUSHIM_NAMED(detail::borrow_graph(context, detail::runtime_graphs, graph));
}

Api Graph::api() const noexcept {
    const auto state = state_of_graph(*this);
    return state ? (*state)->api().api : Api::loader;
}

Result<Graph> Graph::clone() const noexcept {
    CUSHIM_TRY(GraphState *const original, state_of_graph(*this));
    CUSHIM_TRY(auto state, detail::make_graph_state(original->shared_context(), original->api()));
    CUSHIM_TRY(const ContextScope scope, original->enter());
    CUSHIM_TRY_VOID(original->copied([&]() noexcept {
        return detail::explained(original->api().clone(&state->graph, original->graph),
                                 CUDA_ERROR_NOT_SUPPORTED,
                                 "a graph with memory nodes cannot be cloned");
    }));
    Graph clone = detail::own_graph(state);
    auto uses = original->uses().share();
    CUSHIM_TRY_VOID(state->uses().prepare(uses));
    state->uses().keep(std::move(uses));
    return clone;
}

Result<void> Graph::keep_alive(const Graph &other) const noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
    const auto *const kept = static_cast<GraphState *>(detail::Access::state(other));
    if (kept == state) {
        return CUSHIM_NAMED(
            Error::invalid_argument("the graph would keep itself alive, and never be destroyed"));
    }
    if (kept != nullptr && &state->identity->outermost() == &kept->identity->outermost()) {
        return CUSHIM_NAMED(Error::invalid_argument(
            "both graphs are parts of one graph, which would keep itself alive, and never be "
            "destroyed"));
    }
    const detail::States uses(other);
    return keep({uses});
}

Result<void> Graph::keep(const detail::NodeUses &uses) const noexcept {
    return detail::named(keep_in(*this, detail::NewUses(uses)), "Graph::keep_alive");
}

} // namespace cushim
