/* The parameters of nodes, as Graph::kernel_params() and similar functions read them back. */
#ifndef CUSHIM_GRAPH_NODE_PARAMS_HPP
#define CUSHIM_GRAPH_NODE_PARAMS_HPP

#include <cstddef>

#include <cushim/detail/pitched_view.hpp>
#include <cushim/launch.hpp>

namespace cushim {

// A kernel node.
struct KernelNodeParams {
    CUfunction function = nullptr; // for a kernel of a library, the CUkernel cast to CUfunction;
                                   // in both APIs
    Dim3 grid = {};                // blocks
    Dim3 block = {};               // threads
    std::size_t shared_bytes = 0;  // dynamic shared memory of a block
};
// A copy, linear or with rows and layers.
struct MemcpyNodeParams {
    detail::PitchedView to;   // address, extent and pitch; widths in bytes
    detail::PitchedView from; // the same
};
// A fill.
struct MemsetNodeParams {
    detail::PitchedView to;        // address, extent and pitch; widths in elements
    unsigned int element_size = 0; // bytes: 1, 2 or 4
    unsigned int value = 0;        // of each element
};
// A call of a host function. In a node of add_host_node(), `function` is a function of cushim.
// `user` points to the closure, which the graph keeps alive; a small closure is stored in the
// pointer itself.
struct HostNodeParams {
    void (*function)(void *user) = nullptr; // what the node calls
    void *user = nullptr;                   // the argument of the function
};
// One signal or wait of a semaphore node. CUDA does not report the kind of the semaphore, which
// determines the members that apply; in nodes added by cushim the others are 0.
struct SemaphoreNodeParams {
    CUexternalSemaphore semaphore = nullptr; // what the node signals or waits for
    unsigned long long value = 0;            // of a timeline, or of a Direct3D fence
    unsigned long long key = 0;              // of a keyed mutex
    unsigned int timeout_ms = 0;             // of a wait for a keyed mutex
    void *fence = nullptr;                   // of NvSciSync
    bool skip_memory_sync = false;           // of NvSciSync
};
// An allocation that each launch makes.
struct MemAllocNodeParams {
    CUdeviceptr address = 0; // the same in each launch
    std::size_t bytes = 0;   // the size of the memory
    int device = 0;          // the CUdevice whose memory it is
};

} // namespace cushim

#endif
