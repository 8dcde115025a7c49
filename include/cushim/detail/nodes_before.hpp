/* The nodes that a new node waits for, as headers pass them to the library. */
#ifndef CUSHIM_DETAIL_NODES_BEFORE_HPP
#define CUSHIM_DETAIL_NODES_BEFORE_HPP

#include <cstddef>

#include <cushim/detail/config.h>

namespace cushim {

class GraphNode;
class GraphDependencies;

namespace detail {

struct NodesBefore {
    const GraphNode *nodes;
    std::size_t count; // no_nodes_stored: copying them failed for lack of memory
};
inline constexpr std::size_t no_nodes_stored = static_cast<std::size_t>(-1);

CUSHIM_LOCAL inline NodesBefore nodes_before(const GraphDependencies &dependencies) noexcept;

} // namespace detail
} // namespace cushim

#endif
