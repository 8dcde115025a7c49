/* The base of GraphAllocation. */
#ifndef CUSHIM_DETAIL_GRAPH_MEMORY_HPP
#define CUSHIM_DETAIL_GRAPH_MEMORY_HPP

#include <cstddef>

#include <cushim/detail/driver_headers.h>
#include <cushim/graph_node.hpp>
#include <cushim/result.hpp>

namespace cushim {

class Stream;

namespace detail {

// A GraphAllocation without its element type.
class GraphMemory {
  public:
    GraphMemory() noexcept = default;
    GraphMemory(const GraphNode &node, CUdeviceptr address, std::size_t size) noexcept
        : node_(node), address_(address), size_(size) {}

    const GraphNode &node() const noexcept { return node_; }
    CUdeviceptr native() const noexcept { return address_; }
    std::size_t size() const noexcept { return size_; }

    CUSHIM_API Result<void> free_in(const Stream &stream) const noexcept;

  private:
    GraphNode node_;
    CUdeviceptr address_ = 0;
    std::size_t size_ = 0;
};

} // namespace detail
} // namespace cushim

#endif
