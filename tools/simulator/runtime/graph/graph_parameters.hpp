// Conversion of node parameters between the runtime's and the driver's structures.
#pragma once

#include "runtime/base/failure.hpp"

#include <vector>

namespace sim::runtime {

#if CUDART_VERSION >= 12000
using DriverKernelNode = CUDA_KERNEL_NODE_PARAMS_v2;
#else
using DriverKernelNode = CUDA_KERNEL_NODE_PARAMS;
#endif

// The function is looked up as for a launch. KernelNode: cudaKernelNodeParams, …V2.
DriverKernelNode kernel_node(const cudaKernelNodeParams *given);
cudaKernelNodeParams shown(const DriverKernelNode &node);

CUDA_MEMSET_NODE_PARAMS memset_node(const cudaMemsetParams *given);
cudaMemsetParams shown(const CUDA_MEMSET_NODE_PARAMS &node);

CUDA_HOST_NODE_PARAMS host_node(const cudaHostNodeParams *given);

// Owns copies of the arrays that the parameters point to.
class SignalNode {
  public:
    explicit SignalNode(const cudaExternalSemaphoreSignalNodeParams *given);
    const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *get() const { return &node_; }

  private:
    std::vector<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> signals_;
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS node_{};
};
class WaitNode {
  public:
    explicit WaitNode(const cudaExternalSemaphoreWaitNodeParams *given);
    const CUDA_EXT_SEM_WAIT_NODE_PARAMS *get() const { return &node_; }

  private:
    std::vector<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> waits_;
    CUDA_EXT_SEM_WAIT_NODE_PARAMS node_{};
};

// Copies of one row of bytes: between host memory and a symbol, and plain ones.
CUDA_MEMCPY3D row_of_bytes(void *destination, const void *source, size_t count,
                           cudaMemcpyKind kind);
CUDA_MEMCPY3D to_symbol(const void *symbol, const void *source, size_t count, size_t offset,
                        cudaMemcpyKind kind);
CUDA_MEMCPY3D from_symbol(void *destination, const void *symbol, size_t count, size_t offset,
                          cudaMemcpyKind kind);

} // namespace sim::runtime
