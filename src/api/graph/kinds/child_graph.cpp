// Graphs inside nodes.
#include "base/explained.hpp"
#include "graph/adding.hpp"
#include "graph/kind.hpp"
#include "graph/reading.hpp"
#include "graph/relatives.hpp"

namespace cushim {
namespace detail {
namespace {

struct ChildGraphKind : KindDefaults<ChildGraphKind> {
    using Node = ChildGraphNode;
    static constexpr NodeNames names = {"Graph::add_child_graph_node", nullptr,
                                        "GraphExec::set_child_graph_node"};
    using Add = Both<entry::cuGraphAddChildGraphNode, entry::cudaGraphAddChildGraphNode>;
    using SetInExec = Both<entry::cuGraphExecChildGraphNodeSetParams,
                           entry::cudaGraphExecChildGraphNodeSetParams>;
    using Native = Both<CUgraph, cudaGraph_t>;
    using Get = Both<entry::cuGraphChildGraphNodeGetGraph, entry::cudaGraphChildGraphNodeGetGraph>;

    template <Api api>
    static Result<void> add(const NewNode &place, const ChildGraphNode &child) noexcept {
        const RelativesGuard guard;
        return explained(place.add_by<In<Add, api>>(child.graph), CUDA_ERROR_NOT_SUPPORTED,
                         "a child graph must not have memory or conditional nodes");
    }
    template <Api api>
    static Result<void> set_in_exec(const NodeInExec &node, const ChildGraphNode &to) noexcept {
        const RelativesGuard guard;
        return node.set_by<In<SetInExec, api>>(to.graph);
    }
};

// The graph shares the resources of the child.
Result<GraphNode> add_child_graph(const Graph &graph, const GraphDependencies &dependencies,
                                  const Graph &child) noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(graph));
    CUSHIM_TRY(GraphState *const inner, state_of_graph(child, "the child Graph is empty"));
    if (state->api != inner->api) {
        return other_api(state->api, "the graph", "the child graph");
    }
    auto uses = inner->uses().share();
    CUSHIM_TRY_VOID(state->uses().prepare(uses));
    Result<GraphNode> added = inner->copied([&]() noexcept {
        return add_node(graph, dependencies.nodes(), ChildGraphNode{inner->graph}, no_uses);
    });
    if (added || may_be_done(added.error())) {
        state->uses().keep(std::move(uses));
    }
    return added;
}

} // namespace

const NodeKind &kind_of(const ChildGraphNode &) noexcept {
    return node_kind<ChildGraphKind>;
}

} // namespace detail

using namespace detail;

Result<GraphNode> Graph::add_child_graph_node(const GraphDependencies &dependencies,
                                              const Graph &child) noexcept {
    return named("Graph::add_child_graph_node", add_child_graph(*this, dependencies, child));
}

Result<Graph> Graph::child_graph_params(const GraphNode &node) const noexcept {
    return read_params<Graph>(
        "Graph::child_graph_params", *this, node, {GraphNodeType::child_graph},
        [](auto api, const FoundNode &found) -> Result<Graph> {
            CUSHIM_TRY(const CUgraph child, (native_params<ChildGraphKind, api>(found.native)));
            return graph_inside(found.graph, found.native, child);
        });
}

} // namespace cushim
