// Edges: adding, removing and reading them.
#include <cushim/loader.hpp>

#include "adding.hpp"
#include "reading.hpp"

namespace cushim {

using namespace detail;

namespace {

// The functions for edges with data. Without data, CUDA has other functions, which are the only
// ones in older drivers; since CUDA 13, the runtime has one for both.
#if CUDART_VERSION >= 13000
using EdgeData = Both<CUgraphEdgeData, cudaGraphEdgeData>;
using AddWithData = Both<entry::cuGraphAddDependencies_v2, entry::cudaGraphAddDependencies>;
using RemoveWithData =
    Both<entry::cuGraphRemoveDependencies_v2, entry::cudaGraphRemoveDependencies>;
using GetWithData = Both<entry::cuGraphGetEdges_v2, entry::cudaGraphGetEdges>;
using GetDependenciesWithData =
    Both<entry::cuGraphNodeGetDependencies_v2, entry::cudaGraphNodeGetDependencies>;
using GetDependentsWithData =
    Both<entry::cuGraphNodeGetDependentNodes_v2, entry::cudaGraphNodeGetDependentNodes>;
#elif CUDART_VERSION >= 12030
using EdgeData = Both<CUgraphEdgeData, cudaGraphEdgeData>;
using AddWithData = Both<entry::cuGraphAddDependencies_v2, entry::cudaGraphAddDependencies_v2>;
using RemoveWithData =
    Both<entry::cuGraphRemoveDependencies_v2, entry::cudaGraphRemoveDependencies_v2>;
using GetWithData = Both<entry::cuGraphGetEdges_v2, entry::cudaGraphGetEdges_v2>;
using GetDependenciesWithData =
    Both<entry::cuGraphNodeGetDependencies_v2, entry::cudaGraphNodeGetDependencies_v2>;
using GetDependentsWithData =
    Both<entry::cuGraphNodeGetDependentNodes_v2, entry::cudaGraphNodeGetDependentNodes_v2>;
#else
using EdgeData = Both<GraphEdgeData, GraphEdgeData>;
using AddWithData =
    Both<InNewerHeaders<"CUgraphEdgeData", 12030>, InNewerHeaders<"cudaGraphEdgeData", 12030>>;
using RemoveWithData = AddWithData;
using GetWithData = AddWithData;
using GetDependenciesWithData = AddWithData;
using GetDependentsWithData = AddWithData;
#endif
using Add = Both<entry::cuGraphAddDependencies_v1, entry::cudaGraphAddDependencies>;
using Remove = Both<entry::cuGraphRemoveDependencies_v1, entry::cudaGraphRemoveDependencies>;
using Get = Both<entry::cuGraphGetEdges_v1, entry::cudaGraphGetEdges>;
using GetDependencies =
    Both<entry::cuGraphNodeGetDependencies_v1, entry::cudaGraphNodeGetDependencies>;
using GetDependents =
    Both<entry::cuGraphNodeGetDependentNodes_v1, entry::cudaGraphNodeGetDependentNodes>;

template <class Plain, class WithData, class Data, class Count, class... Arguments>
Result<void> call_edges(bool with_data, Data *data, Count count, Arguments... arguments) noexcept {
    if constexpr (std::is_same_v<Plain, WithData>) {
        return call<Plain>(arguments..., data, count);
    } else {
        return with_data
                   ? needs(Feature::graph_edge_data, call<WithData>(arguments..., data, count))
                   : call<Plain>(arguments..., count);
    }
}

// --- changing

struct Edges {
    std::span<const GraphNode> from, to;
    const GraphEdgeData *data = nullptr; // null if no edge has data
    ArrayName from_name = {"from"}, to_name = {"to"};
};

template <class Change, class ChangeWithData>
Result<void> change_edges(const Graph &graph, const Edges &edges) noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(graph));
    const std::size_t count = edges.from.size();
    if (count != edges.to.size()) {
        return invalid_argument(
            "`from` has size %zu, but `to` has size %zu; the sizes must be equal", count,
            edges.to.size());
    }
    if (count == 0) {
        return {};
    }
    NodeHandles from, to;
    CUSHIM_TRY_VOID(from.fill(*state, edges.from, edges.from_name));
    CUSHIM_TRY_VOID(to.fill(*state, edges.to, edges.to_name));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return with_memory([&] {
        return by_api(state->api, [&](auto api) {
            std::vector<In<EdgeData, api>> data(edges.data != nullptr ? count : 0);
            for (std::size_t index = 0; index < data.size(); ++index) {
                data[index].from_port = edges.data[index].from_port;
                data[index].to_port = edges.data[index].to_port;
                data[index].type = edges.data[index].type;
            }
            const In<EdgeData, api> *const first = data.empty() ? nullptr : data.data();
            return call_edges<In<Change, api>, In<ChangeWithData, api>>(
                !data.empty(), first, count, state->graph, from.data(), to.data());
        });
    });
}

template <class Change, class ChangeWithData>
Result<void> change_edges(const Graph &graph, std::span<const GraphEdge> edges) noexcept {
    return with_memory([&] {
        std::vector<GraphNode> from, to;
        std::vector<GraphEdgeData> data;
        bool has_data = false;
        for (const GraphEdge &edge : edges) {
            from.push_back(edge.from);
            to.push_back(edge.to);
            data.push_back(edge.data);
            has_data = has_data || edge.data != GraphEdgeData();
        }
        return change_edges<Change, ChangeWithData>(
            graph,
            {from, to, has_data ? data.data() : nullptr, {"edges", ".from"}, {"edges", ".to"}});
    });
}

// --- reading

// The function without data fails if an edge has data.
bool reads_data() noexcept {
    return CUDA_VERSION >= 12030 && supports(driver_version(), Feature::graph_edge_data);
}

// The neighbours of a node. `function` is the public one.
template <class GetThese, class GetTheseWithData>
Result<std::vector<GraphNode>> neighbours(const char *function, const Graph &graph,
                                          const GraphNode &node) noexcept {
    return read_graph(
        function, graph, &node, [&](auto api, GraphState &state) -> Result<std::vector<GraphNode>> {
            std::vector<In<EdgeData, api>> data;
            CUSHIM_TRY(const auto natives,
                       read_natives([&](CUgraphNode *nodes, std::size_t *count) {
                           data.resize(nodes != nullptr ? *count : 0);
                           return call_edges<In<GetThese, api>, In<GetTheseWithData, api>>(
                               reads_data(), data.empty() ? nullptr : data.data(), count,
                               node.native(), nodes);
                       }));
            return nodes_of(state, natives);
        });
}

} // namespace

Result<void> Graph::add_dependencies(std::span<const GraphNode> from,
                                     std::span<const GraphNode> to) noexcept {
    return named("Graph::add_dependencies", change_edges<Add, AddWithData>(*this, {from, to}));
}

Result<void> Graph::remove_dependencies(std::span<const GraphNode> from,
                                        std::span<const GraphNode> to) noexcept {
    return named("Graph::remove_dependencies",
                 change_edges<Remove, RemoveWithData>(*this, {from, to}));
}

Result<void> Graph::add_dependencies(std::span<const GraphEdge> edges) noexcept {
    return named("Graph::add_dependencies", change_edges<Add, AddWithData>(*this, edges));
}

Result<void> Graph::remove_dependencies(std::span<const GraphEdge> edges) noexcept {
    return named("Graph::remove_dependencies", change_edges<Remove, RemoveWithData>(*this, edges));
}

Result<std::vector<GraphEdge>> Graph::edges() const noexcept {
    return read_graph(
        "Graph::edges", *this, nullptr,
        [](auto api, GraphState &state) -> Result<std::vector<GraphEdge>> {
            std::vector<CUgraphNode> to;
            std::vector<In<EdgeData, api>> data;
            CUSHIM_TRY(const auto from, read_natives([&](CUgraphNode *nodes, std::size_t *count) {
                           to.resize(nodes != nullptr ? *count : 0);
                           data.resize(to.size());
                           return call_edges<In<Get, api>, In<GetWithData, api>>(
                               reads_data(), data.empty() ? nullptr : data.data(), count,
                               state.graph, nodes, to.empty() ? nullptr : to.data());
                       }));
            std::vector<GraphEdge> edges;
            for (std::size_t index = 0; index < from.size(); ++index) {
                edges.push_back({state.name(from[index]),
                                 state.name(to[index]),
                                 {data[index].from_port, data[index].to_port, data[index].type}});
            }
            return edges;
        });
}

Result<std::vector<GraphNode>> Graph::dependencies(const GraphNode &node) const noexcept {
    return neighbours<GetDependencies, GetDependenciesWithData>("Graph::dependencies", *this, node);
}

Result<std::vector<GraphNode>> Graph::dependents(const GraphNode &node) const noexcept {
    return neighbours<GetDependents, GetDependentsWithData>("Graph::dependents", *this, node);
}

} // namespace cushim
