/* Memory that graphs allocate.
 *
 * Threads: any.
 * Context: see handle.hpp.
 * Errors: the status of the CUDA call. */
#ifndef CUSHIM_GRAPH_MEMORY_HPP
#define CUSHIM_GRAPH_MEMORY_HPP

#include <cushim/detail/graph_memory.hpp>
#include <cushim/device_span.hpp>
#include <cushim/graph_node.hpp>
#include <cushim/virtual_memory.hpp>

namespace cushim {

/* Memory that each launch of a graph allocates: see Graph::add_mem_alloc_node(). A plain value that
 * names the memory; it is invalid once the graph and everything made from it are destroyed. Nodes
 * that run between the allocating and the freeing node may use it. If no node frees it, work in
 * streams after the launch may use it, too, until free_in(). */
template <AllocatableType T>
class GraphAllocation : public detail::GraphMemory {
  public:
    GraphAllocation() noexcept = default;
    // For Graph::add_mem_alloc_node().
    explicit GraphAllocation(const detail::GraphMemory &memory) noexcept : GraphMemory(memory) {}

    // The address, the same in each launch; 0 if empty.
    using GraphMemory::native;
    // The node that allocates the memory.
    using GraphMemory::node;
    // The number of elements.
    using GraphMemory::size;

    // A view of all elements, for nodes, copies and kernels.
    DeviceSpan<T> span() const noexcept { return DeviceSpan<T>(native(), size()); }
    operator DeviceSpan<T>() const noexcept { return span(); }
    operator DeviceSpan<const T>() const noexcept { return span(); }

    /* Frees, in stream order, the memory that a launch has allocated, if the graph has no node for
     * that. The graph can be launched again afterwards. cuMemFreeAsync. */
    using GraphMemory::free_in;
};

// The memory that a device's graphs use, in bytes.
struct GraphMemoryUsage {
    std::size_t used = 0;          // by graphs that are running, or that left memory allocated
    std::size_t used_high = 0;     // the maximum since reset_graph_memory_high_marks()
    std::size_t reserved = 0;      // held for graphs, used or not
    std::size_t reserved_high = 0; // the maximum since reset_graph_memory_high_marks()
};

// The memory that graphs use on this device. cuDeviceGetGraphMemAttribute, since CUDA 11.4.
CUSHIM_API Result<GraphMemoryUsage> graph_memory_usage(Device device) noexcept;
// Sets both maxima to the current values. cuDeviceSetGraphMemAttribute, since CUDA 11.4.
CUSHIM_API Result<void> reset_graph_memory_high_marks(Device device) noexcept;
// Returns memory that no graph uses to the system. Where devices used each other's graph memory,
// driver 580 crashed here in 2 of 2 runs on four H100, and in none of 29 on four H200.
// cuDeviceGraphMemTrim, since CUDA 11.4.
CUSHIM_API Result<void> trim_graph_memory(Device device) noexcept;

} // namespace cushim

#endif
