// Memory that graph nodes allocate.
#pragma once

#include "engine/graph.hpp"
#include "engine/pool.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sim {

// The memory of an allocation node. Its address is the same in all launches.
struct GraphAllocation {
    GraphAllocation(int device, std::size_t size);
    ~GraphAllocation();
    GraphAllocation(const GraphAllocation &) = delete;
    GraphAllocation &operator=(const GraphAllocation &) = delete;

    // In the order of API calls: a launch has allocated it, and no call has freed it.
    bool outstanding() const noexcept { return self_ != nullptr; }
    void set_outstanding(bool on);
    // Counts the memory as used by one more launch, until that allocation is freed. Recorded: the
    // device reports it as used as soon as the call returns, even if the graph has freed it.
    // Documented: the executable graph keeps it until it is destroyed or the device is trimmed.
    // Null: none keeps it.
    // The caller calls note_graph_memory_use() afterwards.
    void reserve(KeptMemory *executable);
    void trim() noexcept;
    // No executable graph keeps it any more.
    void forget_executable() noexcept;
    std::shared_ptr<GraphAllocation> shared() const noexcept { return weak_.lock(); }
    // In the order in which work runs.
    void begin_use();
    void end_use();
    void end_all_uses(); // ends the uses of launches that never run

    const int device;
    const std::size_t size;
    CUdeviceptr address = 0;
    Graph *graph = nullptr;    // graph of the allocation node; never dereferenced
    Graph *freed_in = nullptr; // graph of the free node; never dereferenced
    bool escaped = false;      // a launch has ended without freeing it
    CUDA_MEM_ALLOC_NODE_PARAMS parameters = {};
    std::vector<CUmemAccessDesc> access; // access descriptors of the parameters
    ListPlace<GraphAllocation> in_kept;  // memory of the same executable graph
    ListPlace<GraphAllocation> in_idle;  // memory that only executable graphs use, by device

  private:
    friend std::shared_ptr<GraphAllocation> make_allocation(int device, std::size_t size);
    void count() noexcept;
    std::size_t reserved_ = 0;              // number of launches that count it as used
    bool counted_ = false;                  // in the used memory of its device
    std::shared_ptr<GraphAllocation> self_; // keeps itself alive while allocated
    std::weak_ptr<GraphAllocation> weak_;
};

// The memory that an executable graph keeps.
struct KeptMemory {
    KeptMemory() = default;
    ~KeptMemory();
    LinkedList<GraphAllocation, &GraphAllocation::in_kept> allocations;
};

std::shared_ptr<GraphAllocation> make_allocation(int device, std::size_t size);
// The allocation at this address, or null.
std::shared_ptr<GraphAllocation> find_allocation(CUdeviceptr address) noexcept;

Work allocation_work(std::shared_ptr<GraphAllocation> allocation);
Work free_work(std::shared_ptr<GraphAllocation> allocation, const char *what);

// Whether the address belongs to an allocation node. Such an address is fixed; its bytes are usable
// between the allocation node and the free node of each launch.
bool is_graph_memory(CUdeviceptr address) noexcept;
// For cuMemFreeAsync and cuMemFree: frees memory that an allocation node of a launched graph
// allocated. Fails if it is not allocated.
Work graph_free_work(CUdeviceptr address, const char *what);
void graph_memory_free(CUdeviceptr address);
// For cuMemAllocAsync on a capturing stream: adds an allocation node and returns its address.
CUdeviceptr capture_allocation(CUstream_st &stream, const PoolPlace &pool, std::size_t size);

// A graph memory attribute of a device, in whole reservations. Setting a high-water mark resets it
// to the current value.
std::uint64_t graph_memory_attribute(int device, CUgraphMem_attribute name);
void restart_graph_memory_mark(int device, CUgraphMem_attribute name);
void trim_graph_memory(int device);
// A launch has reserved memory: raises high-water marks of all devices.
void note_graph_memory_use();

// Allocation and free nodes.
NodeContent allocation_node(Graph &graph, const CUDA_MEM_ALLOC_NODE_PARAMS &parameters);
NodeContent free_node(Graph &graph, CUdeviceptr address);

void restart_graph_memory();

} // namespace sim
