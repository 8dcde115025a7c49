/* Whether GraphDependencies must copy the nodes that it is made from. */
#ifndef CUSHIM_DETAIL_TEMPORARY_NODES_HPP
#define CUSHIM_DETAIL_TEMPORARY_NODES_HPP

#include <span>
#include <type_traits>

#include <cushim/detail/config.h>

namespace cushim {

class GraphNode;

namespace detail {

template <class Nodes>
concept TemporaryNodes =
    !std::is_reference_v<Nodes> && !std::ranges::enable_borrowed_range<Nodes> &&
    std::is_convertible_v<const Nodes &, std::span<const GraphNode>>;

} // namespace detail
} // namespace cushim

#endif
