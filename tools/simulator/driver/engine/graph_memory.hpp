// The memory of graph nodes that allocate.
#pragma once

#include "engine/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sim {

// One allocation node's memory. Its address stays the same through all launches.
struct GraphAllocation {
    GraphAllocation(int device, std::size_t size);
    ~GraphAllocation();
    GraphAllocation(const GraphAllocation &) = delete;
    GraphAllocation &operator=(const GraphAllocation &) = delete;

    // In the order of the API's calls: allocated by a launch, not yet freed by anything.
    bool outstanding() const noexcept { return self_ != nullptr; }
    void set_outstanding(bool on);
    // Counts it as used by one more launch, until what that allocates is freed. Measured: the
    // device shows it as soon as the call returns, and still where the graph has freed it itself.
    // That the executable graph keeps it until it ends or the device is trimmed is documented.
    void reserve(const std::shared_ptr<void> &executable);
    void trim();
    bool counts_as_used() const noexcept;
    std::shared_ptr<GraphAllocation> shared() const noexcept { return weak_.lock(); }
    // In the order in which work runs.
    void begin_use();
    void end_use();
    void end_all_uses(); // of launches that never will

    const int device;
    const std::size_t size;
    CUdeviceptr address = 0;
    Graph *graph = nullptr;    // whose node allocates it; compared only
    Graph *freed_in = nullptr; // whose node frees it; compared only
    bool escaped = false;      // a launch once left it to others to free
    CUDA_MEM_ALLOC_NODE_PARAMS parameters = {};
    std::vector<CUmemAccessDesc> access; // which they point at

  private:
    friend std::shared_ptr<GraphAllocation> make_allocation(int device, std::size_t size);
    std::size_t reserved_ = 0;              // launches that count it as used
    std::weak_ptr<void> kept_by_;           // the executable graph
    std::shared_ptr<GraphAllocation> self_; // keeps it while it is allocated
    std::weak_ptr<GraphAllocation> weak_;
};

std::shared_ptr<GraphAllocation> make_allocation(int device, std::size_t size);
// The allocation that has this address, or null.
std::shared_ptr<GraphAllocation> find_allocation(CUdeviceptr address) noexcept;

Work allocation_work(std::shared_ptr<GraphAllocation> allocation);
Work free_work(std::shared_ptr<GraphAllocation> allocation, const char *what);

// Memory of allocation nodes: the address is known from the beginning, the bytes may be used
// between the run of the node that allocates and the one that frees, again at every launch.
bool is_graph_memory(CUdeviceptr address) noexcept;
// For cuMemFreeAsync and cuMemFree: frees what an allocation node of a launched graph allocated.
// Refuses what is not allocated.
Work graph_free_work(CUdeviceptr address, const char *what);
void graph_memory_free(CUdeviceptr address);
// For cuMemAllocAsync on a stream that captures: makes the node and returns its address.
CUdeviceptr capture_allocation(CUstream_st &stream, int device, std::size_t size);

// What a device says of it: in whole reservations. The high marks start anew from what there is
// now.
std::uint64_t graph_memory_attribute(int device, CUgraphMem_attribute name);
void restart_graph_memory_mark(int device, CUgraphMem_attribute name);
void trim_graph_memory(int device);

// Nodes of a graph for an allocation and its end.
NodeContent allocation_node(Graph &graph, const CUDA_MEM_ALLOC_NODE_PARAMS &parameters);
NodeContent free_node(Graph &graph, CUdeviceptr address);

void restart_graph_memory();

} // namespace sim
