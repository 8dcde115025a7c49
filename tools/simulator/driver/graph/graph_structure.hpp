// Edges of graphs. `data`: an array of CUgraphEdgeData, or null.
#pragma once

#include "base/cuda_headers.hpp"

#include <cstddef>

namespace sim {

CUresult get_edges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, void *data,
                   std::size_t *count);
CUresult get_dependencies(CUgraphNode node, CUgraphNode *nodes, void *data, std::size_t *count);
CUresult get_dependents(CUgraphNode node, CUgraphNode *nodes, void *data, std::size_t *count);
CUresult add_edges(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const void *data,
                   std::size_t count);
CUresult remove_edges(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                      const void *data, std::size_t count);

} // namespace sim
