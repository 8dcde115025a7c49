// Launching executable graphs.
#pragma once

#include "engine/graph.hpp"

namespace sim {

// Enqueues all work of the graph, or adds it to a capture as a child graph.
void launch_graph(Exec &exec, CUstream_st &stream);
void upload_graph(Exec &exec, CUstream_st &stream);
// Copies of all references of a graph and its child graphs.
std::shared_ptr<References> references_of(const Graph &graph);

} // namespace sim
