// Graphs with graphs inside them.
#pragma once

#include "graph_scenario.hpp"

#include <utility>

namespace api_test {

inline cushim::Result<cushim::GraphNode> only_node(const cushim::Graph &graph) {
    CUSHIM_TRY(const auto nodes, graph.nodes());
    REQUIRE(nodes.size() == 1);
    return nodes[0];
}

// A graph with one node, in which is a copy of another graph.
struct Parent {
    cushim::Graph graph;
    cushim::GraphNode child;
    cushim::Graph inside;
};

inline cushim::Result<Parent> make_parent(cushim::Api api, const cushim::Context &context,
                                          const cushim::Graph &of) {
    CUSHIM_TRY(cushim::Graph graph, create_graph(api, context));
    CUSHIM_TRY(const cushim::GraphNode child, graph.add_child_graph_node({}, of));
    CUSHIM_TRY(cushim::Graph inside, graph.child_graph(child));
    return Parent{std::move(graph), child, std::move(inside)};
}

} // namespace api_test
