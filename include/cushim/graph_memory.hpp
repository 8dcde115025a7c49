/* Memory that graphs allocate. */
#ifndef CUSHIM_GRAPH_MEMORY_HPP
#define CUSHIM_GRAPH_MEMORY_HPP

#include <cushim/device_span.hpp>
#include <cushim/graph_node.hpp>
#include <cushim/virtual_memory.hpp>

namespace cushim {
namespace detail {

// What GraphAllocations are behind their T.
class GraphMemory {
  public:
    GraphMemory() noexcept = default;
    GraphMemory(const GraphNode &node, CUdeviceptr address, std::size_t size) noexcept
        : node_(node), address_(address), size_(size) {}

    // The node that allocates it.
    const GraphNode &node() const noexcept { return node_; }
    CUdeviceptr address() const noexcept { return address_; }
    // Elements.
    std::size_t size() const noexcept { return size_; }

    /* Frees what a launch of a graph that has no node for it has allocated, in order of the stream, so that
     * the graph can be launched again. cuMemFreeAsync. */
    CUSHIM_API Result<void> free(const Stream &stream) const noexcept;

  private:
    GraphNode node_;
    CUdeviceptr address_ = 0;
    std::size_t size_ = 0;
};

} // namespace detail

/* Memory that each launch of a graph allocates: Graph::add_mem_alloc_node(). A name and no owner, which does not
 * know when the graph and all that was made of it are gone, and the memory with them. Nodes of the graph that run
 * after the one that allocates it and before the one that frees it use it, and where no node frees it, work in
 * streams after the launch, until free(). */
template <AllocatableType T>
class GraphAllocation : public detail::GraphMemory {
  public:
    GraphAllocation() noexcept = default;
    explicit GraphAllocation(const detail::GraphMemory &memory) noexcept : GraphMemory(memory) {}

    DeviceSpan<T> span() const noexcept { return DeviceSpan<T>(address(), size()); }
    operator DeviceSpan<T>() const noexcept { return span(); }
    operator DeviceSpan<const T>() const noexcept { return span(); }
};

// Of a device, in bytes: what its graphs' memory takes.
struct GraphMemoryUsage {
    std::size_t used = 0; // by graphs that are running or left something allocated
    std::size_t used_high = 0;
    std::size_t reserved = 0; // held for graphs, in use or not
    std::size_t reserved_high = 0;
};

// cuDeviceGetGraphMemAttribute, since CUDA 11.4. Threads: any.
CUSHIM_API Result<GraphMemoryUsage> graph_memory_usage(Device device) noexcept;
// The highest are the current ones again. cuDeviceSetGraphMemAttribute, since CUDA 11.4.
CUSHIM_API Result<void> reset_graph_memory_high_marks(Device device) noexcept;
// Gives memory that no graph uses back to the system. cuDeviceGraphMemTrim, since CUDA 11.4.
CUSHIM_API Result<void> trim_graph_memory(Device device) noexcept;

} // namespace cushim

#endif
