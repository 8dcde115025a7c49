// Whole graphs.
#include <cushim/graph.hpp>
#include <cushim/runtime_graph.hpp>

#include <cstdio>
#include <memory>

#include "base/explained.hpp"
#include "kept_resources.hpp"
#include "state.hpp"

namespace cushim {
namespace detail {

Result<NewState<GraphState>> make_graph_state(const Context &context, Api api) noexcept {
    CUSHIM_TRY_VOID(require(context, "the Context is empty"));
    return make_state<GraphState>(context, api);
}

Result<Graph> graph_inside(GraphState &around, CUgraphNode node, CUgraph graph) noexcept {
    return with_memory([&]() -> Result<Graph> {
        CUSHIM_TRY(auto state,
                   make_state<GraphState>(around, around.identity()->inside(node, graph)));
        state->graph = graph;
        return lend_graph(state);
    });
}

Error other_api(Api api, const char *graph, const char *other) noexcept {
    const bool is_driver = api == Api::driver;
    char detail[200];
    std::snprintf(detail, sizeof detail,
                  "%s belongs to the %s API, %s to the %s API; create %s with %s or %s", graph,
                  is_driver ? "driver" : "runtime", other, is_driver ? "runtime" : "driver", other,
                  is_driver ? "Graph::create()" : "rt::create_graph()",
                  is_driver ? "Stream::capture()" : "rt::capture()");
    return Error::unsupported_platform(detail);
}

} // namespace detail

using namespace detail;

namespace {

Result<Graph> create_graph(const Context &context, Api api) noexcept {
    CUSHIM_TRY(auto state, make_graph_state(context, api));
    CUSHIM_TRY_VOID(with_context(api, state->context, false, [&]() noexcept {
        return call_of<Both<entry::cuGraphCreate, entry::cudaGraphCreate>>(api, &state->graph, 0u);
    }));
    return own_graph(state);
}

// A new Graph for an existing graph.
Result<Graph> take_graph(const Context &context, Api api, CUgraph graph,
                         Graph (*take)(NewState<GraphState> &) noexcept) noexcept {
    if (graph == nullptr) {
        return Error::invalid_argument("the handle is null");
    }
    CUSHIM_TRY(auto state, make_graph_state(context, api));
    state->graph = graph;
    return take(state);
}

} // namespace

Result<Graph> Graph::create(const Context &context) noexcept {
    return named("Graph::create", create_graph(context, Api::driver));
}

Result<Graph> Graph::adopt(const Context &context, CUgraph graph) noexcept {
    return named("Graph::adopt", take_graph(context, Api::driver, graph, own_graph));
}

Result<Graph> Graph::borrow(const Context &context, CUgraph graph) noexcept {
    return named("Graph::borrow", take_graph(context, Api::driver, graph, lend_graph));
}

Result<Graph> rt::create_graph(const Context &context) noexcept {
    return named("rt::create_graph", cushim::create_graph(context, Api::runtime));
}

Result<Graph> rt::adopt_graph(const Context &context, CUgraph graph) noexcept {
    return named("rt::adopt_graph", take_graph(context, Api::runtime, graph, own_graph));
}

Result<Graph> rt::borrow_graph(const Context &context, CUgraph graph) noexcept {
    return named("rt::borrow_graph", take_graph(context, Api::runtime, graph, lend_graph));
}

Api Graph::api() const noexcept {
    const auto state = state_of_graph(*this);
    return state ? (*state)->api : Api::loader;
}

Result<Graph> Graph::clone() const noexcept {
    return named("Graph::clone", [this]() noexcept -> Result<Graph> {
        CUSHIM_TRY(GraphState *const original, state_of_graph(*this));
        CUSHIM_TRY(auto state, make_graph_state(original->shared_context(), original->api));
        CUSHIM_TRY(const ContextScope scope, original->enter());
        CUSHIM_TRY_VOID(original->copied([&]() noexcept {
            using Clone = Both<entry::cuGraphClone, entry::cudaGraphClone>;
            const RelativesGuard guard;
            return explained(call_of<Clone>(original->api, &state->graph, original->graph),
                             CUDA_ERROR_NOT_SUPPORTED,
                             "a graph with memory nodes cannot be cloned");
        }));
        Graph clone = own_graph(state);
        auto uses = original->uses().share();
        CUSHIM_TRY_VOID(state->uses().prepare(uses));
        state->uses().keep(std::move(uses));
        return clone;
    });
}

Result<void> Graph::keep(const NodeUses &uses) noexcept {
    return named("Graph::keep_alive", [&]() noexcept -> Result<void> {
        NewUses owners(uses);
        CUSHIM_TRY(GraphState *const state, state_of_graph(*this));
        CUSHIM_TRY(const ContextScope scope, state->enter());
        CUSHIM_TRY_VOID(state->uses().prepare(owners));
        state->uses().keep(std::move(owners));
        return {};
    });
}

Result<void> Graph::keep_alive(const Graph &other) noexcept {
    return named("Graph::keep_alive", [&]() noexcept -> Result<void> {
        CUSHIM_TRY(const GraphState *const state, state_of_graph(*this));
        const GraphState *const kept = any_state_of(other);
        if (kept == state) {
            return Error::invalid_argument(
                "the graph would keep itself alive, and never be destroyed");
        }
        if (kept != nullptr && state->outermost == kept->outermost) {
            return Error::invalid_argument(
                "both graphs are parts of one graph, which would keep itself alive, and never be "
                "destroyed");
        }
        return keep({States(other)});
    });
}

} // namespace cushim
