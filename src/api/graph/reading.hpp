// Reads the parameters of nodes back.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "base/with_memory.hpp"
#include "state.hpp"

namespace cushim::detail {

// The nodes that read(nodes, count) stores. Without nodes, it sets the count.
template <class Read>
Result<std::vector<CUgraphNode>> read_natives(const Read &read) {
    std::size_t count = 0;
    CUSHIM_TRY_VOID(read(static_cast<CUgraphNode *>(nullptr), &count));
    std::vector<CUgraphNode> natives(count);
    if (count != 0) {
        CUSHIM_TRY_VOID(read(natives.data(), &count));
    }
    if (count < natives.size()) {
        natives.resize(count);
    }
    return natives;
}
// All nodes of a graph.
Result<std::vector<CUgraphNode>> native_nodes(Api api, CUgraph graph);
// As nodes of this graph.
std::vector<GraphNode> nodes_of(const GraphState &state, const std::vector<CUgraphNode> &natives);

// The type of a node. The graph's context is current.
Result<GraphNodeType> native_type(Api api, CUgraphNode node) noexcept;

// A node that is read back.
struct FoundNode {
    GraphState &graph;
    CUgraphNode native;
    GraphNodeType type;
};
// The node, if its type is one of these; invalid_argument otherwise.
Result<FoundNode> node_of_type(GraphState &graph, const GraphNode &node,
                               std::initializer_list<GraphNodeType> types) noexcept;

// The result of read(api, state) in the graph's context. `function` is the public one; a node must
// be one of the graph.
template <class Read>
auto read_graph(const char *function, const Graph &graph, const GraphNode *node,
                const Read &read) noexcept {
    using Value = decltype(read(Constant<Api::driver>(), std::declval<GraphState &>()));
    return named(function, [&]() noexcept {
        return with_memory([&]() -> Value {
            CUSHIM_TRY(GraphState *const state, state_of_graph(graph));
            if (node != nullptr) {
                CUSHIM_TRY_VOID(state->check(*node));
            }
            CUSHIM_TRY(const ContextScope scope, state->enter());
            return by_api(state->api, [&](auto api) { return read(api, *state); });
        });
    });
}

// The result of read(api, found) for a node of one of these types.
template <class Params, class Read>
Result<Params> read_params(const char *function, const Graph &graph, const GraphNode &node,
                           std::initializer_list<GraphNodeType> types, const Read &read) noexcept {
    return read_graph(function, graph, &node, [&](auto api, GraphState &state) -> Result<Params> {
        CUSHIM_TRY(const FoundNode found, node_of_type(state, node, types));
        return read(api, found);
    });
}

// What Kind::Get reads.
template <class Kind, Api api>
Result<In<typename Kind::Native, api>> native_params(CUgraphNode node) noexcept {
    In<typename Kind::Native, api> native{};
    CUSHIM_TRY_VOID(call<In<typename Kind::Get, api>>(node, &native));
    return native;
}

// The same, converted by to_params(native).
template <class Kind, class Convert>
auto read_back(const char *function, const Graph &graph, const GraphNode &node, GraphNodeType type,
               const Convert &to_params) noexcept {
    using Params = decltype(to_params(In<typename Kind::Native, Api::driver>()));
    return read_params<Params>(
        function, graph, node, {type}, [&](auto api, const FoundNode &found) -> Result<Params> {
            CUSHIM_TRY(const auto native, (native_params<Kind, api>(found.native)));
            return to_params(native);
        });
}

} // namespace cushim::detail
