// Conditional nodes, their conditions and their bodies.
#include <cushim/graph_conditional.hpp>

#include <algorithm>

#include "context/requirements.hpp"
#include "graph/adding.hpp"
#include "graph/kind.hpp"
#include "graph/reading.hpp"

namespace cushim {
namespace detail {
namespace {

using CreateCondition =
    Both<entry::cuGraphConditionalHandleCreate, entry::cudaGraphConditionalHandleCreate>;
#if CUDA_VERSION >= 12030
using Condition = Both<CUgraphConditionalHandle, cudaGraphConditionalHandle>;
#else
using Condition = Both<unsigned long long, unsigned long long>;
#endif

struct ConditionalKind : KindDefaults<ConditionalKind> {
    using Node = ConditionalNode;
    static constexpr NodeNames names = {nullptr}; // each public function has a name of its own

    template <Api api>
    static Result<void> add([[maybe_unused]] const NewNode &place,
                            [[maybe_unused]] const ConditionalNode &node) noexcept {
#if CUDA_VERSION >= 12030
        In<GenericParameters, api> native{};
        native.type = static_cast<decltype(native.type)>(GraphNodeType::conditional);
        auto &conditional = native.conditional;
        conditional.handle = node.condition;
        conditional.type = static_cast<decltype(conditional.type)>(node.type);
        conditional.size = static_cast<unsigned int>(node.bodies.size());
        if constexpr (api == Api::driver) {
            conditional.ctx = place.context;
        }
        CUSHIM_TRY_VOID(add_generic_node<api>(place, &native));
        std::copy_n(conditional.phGraph_out, node.bodies.size(), node.bodies.data());
        return {};
#else
        return call<In<CreateCondition, api>>();
#endif
    }
};

} // namespace

const NodeKind &kind_of(const ConditionalNode &) noexcept {
    return node_kind<ConditionalKind>;
}

} // namespace detail

using namespace detail;

namespace {

// A conditional node with this number of bodies.
Result<GraphCases> add_conditional(Graph &graph, const GraphDependencies &dependencies,
                                   const GraphCondition &condition, GraphConditionalType type,
                                   std::size_t bodies) noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(graph));
    if (GraphAccess::graph_of(condition) != state->id) {
        return Error::invalid_argument(condition.native() == 0
                                           ? "the GraphCondition is empty"
                                           : "the condition belongs to another graph");
    }
    if (type == GraphConditionalType::switch_ || bodies > 1) { // which older drivers lack
        CUSHIM_TRY_VOID(require_feature(Feature::graph_conditional_switch));
    }
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return with_memory([&]() -> Result<GraphCases> {
        // All but what graph_inside() allocates is allocated before the node exists.
        GraphNode &user = state->identity()->user_of(condition.native());
        if (state->has(user)) {
            return Error::invalid_argument("the condition already has a conditional node; create "
                                           "a condition for each node with "
                                           "Graph::create_condition()");
        }
        std::vector<CUgraph> natives(bodies);
        GraphCases added;
        added.bodies.reserve(bodies);
        CUSHIM_TRY(added.node,
                   add_node(graph, dependencies.nodes(),
                            ConditionalNode{type, condition.native(), natives}, no_uses));
        for (const CUgraph native : natives) {
            Result<Graph> body = graph_inside(*state, added.node.native(), native);
            if (!body) {
                (void)destroy_native_node(state->api, added.node.native());
                state->identity()->forget(added.node.native());
                return body.error();
            }
            added.bodies.push_back(std::move(*body));
        }
        user = added.node;
        return added;
    });
}

GraphBody with_body(GraphCases &&added) noexcept {
    return {added.node, std::move(added.bodies[0])};
}
GraphBranches with_branches(GraphCases &&added) noexcept {
    return {added.node, std::move(added.bodies[0]), std::move(added.bodies[1])};
}

Result<GraphCondition> create_condition(const Graph &graph,
                                        const GraphConditionOptions &options) noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(graph));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return by_api(state->api, [&](auto api) -> Result<GraphCondition> {
        using Create = In<CreateCondition, api>;
        const unsigned int flags = options.assign_initial ? 1 : 0; // CU_GRAPH_COND_ASSIGN_DEFAULT
        In<Condition, api> handle = 0;
        if constexpr (api == Api::driver) {
            CUSHIM_TRY_VOID(
                call<Create>(&handle, state->graph, state->context, options.initial, flags));
        } else {                              // uses the current context
            if constexpr (!Lacking<Create>) { // libcudart may not report an old driver
                CUSHIM_TRY_VOID(require_feature(Feature::graph_conditional_nodes,
                                                "cudaGraphConditionalHandleCreate"));
            }
            CUSHIM_TRY_VOID(call<Create>(&handle, state->graph, options.initial, flags));
        }
        return GraphAccess::condition(handle, state->id);
    });
}

} // namespace

Result<GraphCondition> Graph::create_condition(const GraphConditionOptions &options) noexcept {
    return named("Graph::create_condition", cushim::create_condition(*this, options));
}

Result<GraphBody> Graph::add_if_node(const GraphDependencies &dependencies,
                                     const GraphCondition &condition) noexcept {
    return named("Graph::add_if_node",
                 add_conditional(*this, dependencies, condition, GraphConditionalType::if_, 1)
                     .transform(with_body));
}

Result<GraphBranches> Graph::add_if_else_node(const GraphDependencies &dependencies,
                                              const GraphCondition &condition) noexcept {
    return named("Graph::add_if_else_node",
                 add_conditional(*this, dependencies, condition, GraphConditionalType::if_, 2)
                     .transform(with_branches));
}

Result<GraphBody> Graph::add_while_node(const GraphDependencies &dependencies,
                                        const GraphCondition &condition) noexcept {
    return named("Graph::add_while_node",
                 add_conditional(*this, dependencies, condition, GraphConditionalType::while_, 1)
                     .transform(with_body));
}

Result<GraphCases> Graph::add_switch_node(const GraphDependencies &dependencies,
                                          const GraphCondition &condition,
                                          std::size_t cases) noexcept {
    constexpr std::size_t most = 0xffffffff;
    return named("Graph::add_switch_node", [&]() noexcept -> Result<GraphCases> {
        if (cases == 0 || cases > most) {
            return invalid_argument("%zu cases requested, minimum 1, limit %zu", cases, most);
        }
        return add_conditional(*this, dependencies, condition, GraphConditionalType::switch_,
                               cases);
    });
}

// CUDA's struct has only handles and numbers, which are the same in both APIs: read through the
// driver.
Result<ConditionalNodeParams> Graph::conditional_params(const GraphNode &node) const noexcept {
    return read_params<ConditionalNodeParams>(
        "Graph::conditional_params", *this, node, {GraphNodeType::conditional},
        [](auto, [[maybe_unused]] const FoundNode &found) -> Result<ConditionalNodeParams> {
#if CUDA_VERSION >= 13020
            CUgraphNodeParams native{};
            CUSHIM_TRY_VOID(call<entry::cuGraphNodeGetParams>(found.native, &native));
            const CUDA_CONDITIONAL_NODE_PARAMS &conditional = native.conditional;
            ConditionalNodeParams params{
                static_cast<GraphConditionalType>(conditional.type), conditional.handle, {}};
            for (unsigned int index = 0; index < conditional.size; ++index) {
                CUSHIM_TRY(Graph body,
                           graph_inside(found.graph, found.native, conditional.phGraph_out[index]));
                params.bodies.push_back(std::move(body));
            }
            return params;
#else
            return Error::requires_newer_headers("cuGraphNodeGetParams", Version::of(13, 2));
#endif
        });
}

} // namespace cushim
