#include <cushim/graph_conditional.hpp>

#include "adding.hpp"
#include "context/requirements.hpp"
#include "state.hpp"

namespace cushim {
namespace {

using detail::GraphState;

struct Conditional {
    GraphNode node;
    std::vector<Graph> bodies;
};

// Bodies that older drivers do not support: an else branch, and switch cases.
Result<void> require_bodies(GraphConditionalType type, std::size_t bodies) noexcept {
    if (type == GraphConditionalType::switch_ || bodies > 1) {
        return detail::require_feature(Feature::graph_conditional_switch);
    }
    return {};
}

Result<void> name_bodies(GraphState &state, const std::vector<CUgraph> &natives,
                         Conditional &added) noexcept {
    for (const CUgraph native : natives) {
        CUSHIM_TRY(Graph body, detail::graph_inside(state, added.node.native(), native));
        added.bodies.push_back(std::move(body)); // room was reserved
    }
    return {};
}

Result<Conditional> add_bodies(GraphState &state, const GraphDependencies &dependencies,
                               const detail::ConditionalRequest &request) {
    // Everything that allocates comes first.
    GraphNode &user = state.identity->user_of(request.handle);
    if (state.identity->has(user)) {
        return Error::invalid_argument("the condition already has a conditional node; create a "
                                       "condition for each node with Graph::create_condition()");
    }
    std::vector<CUgraph> natives(request.bodies);
    Conditional added;
    added.bodies.reserve(natives.size());
    CUSHIM_TRY(added.node, detail::add_after(state, detail::nodes_before(dependencies),
                                             [&](const detail::NodePlace &place) noexcept {
                                                 return state.api().add_conditional(place, request,
                                                                                    natives.data());
                                             }));
    const Result<void> named = name_bodies(state, natives, added);
    if (!named) {
        (void)state.api().destroy_node(added.node.native());
        state.identity->forget(added.node.native());
        return named.error();
    }
    user = added.node;
    return added;
}

Result<Conditional> add_conditional(const Graph &graph, const GraphDependencies &dependencies,
                                    const GraphCondition &condition, GraphConditionalType type,
                                    std::size_t bodies) noexcept {
    CUSHIM_TRY(GraphState *const state, detail::state_of_graph(graph));
    if (detail::GraphAccess::graph_of(condition) != state->identity->id) {
        return Error::invalid_argument(condition.native() == 0
                                           ? "the GraphCondition holds no condition"
                                           : "the condition belongs to another graph");
    }
    CUSHIM_TRY_VOID(require_bodies(type, bodies));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return detail::with_memory([&]() -> Result<Conditional> {
        return add_bodies(*state, dependencies,
                          {type, condition.native(), static_cast<unsigned int>(bodies)});
    });
}

Result<GraphBody> add_body(const Graph &graph, const GraphDependencies &dependencies,
                           const GraphCondition &condition, GraphConditionalType type) noexcept {
    CUSHIM_TRY(Conditional added, add_conditional(graph, dependencies, condition, type, 1));
    return GraphBody{added.node, std::move(added.bodies[0])};
}

} // namespace

Result<GraphCondition>
Graph::create_condition(const GraphConditionOptions &options) const noexcept {
    CUSHIM_TRY(GraphState *const state, detail::state_of_graph(*this));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    unsigned long long handle = 0;
    CUSHIM_TRY_VOID(state->api().create_condition(state->graph, state->context, options.initial,
                                                  options.assign_initial, &handle));
    return detail::GraphAccess::condition(handle, state->identity->id);
}

Result<GraphBody> Graph::add_if_node(const GraphDependencies &dependencies,
                                     const GraphCondition &condition) const noexcept {
    return CUSHIM_NAMED(add_body(*this, dependencies, condition, GraphConditionalType::if_));
}

Result<GraphBranches> Graph::add_if_else_node(const GraphDependencies &dependencies,
                                              const GraphCondition &condition) const noexcept {
    CUSHIM_TRY(Conditional added,
               add_conditional(*this, dependencies, condition, GraphConditionalType::if_, 2));
    return GraphBranches{added.node, std::move(added.bodies[0]), std::move(added.bodies[1])};
}

Result<GraphBody> Graph::add_while_node(const GraphDependencies &dependencies,
                                        const GraphCondition &condition) const noexcept {
    return CUSHIM_NAMED(add_body(*this, dependencies, condition, GraphConditionalType::while_));
}

Result<GraphCases> Graph::add_switch_node(const GraphDependencies &dependencies,
                                          const GraphCondition &condition,
                                          std::size_t cases) const noexcept {
    constexpr std::size_t most = 0xffffffff;
    if (cases == 0 || cases > most) {
        return CUSHIM_NAMED(
            detail::invalid_argument("%zu cases requested, minimum 1, limit %zu", cases, most));
    }
    CUSHIM_TRY(Conditional added, add_conditional(*this, dependencies, condition,
                                                  GraphConditionalType::switch_, cases));
    return GraphCases{added.node, std::move(added.bodies)};
}

} // namespace cushim
