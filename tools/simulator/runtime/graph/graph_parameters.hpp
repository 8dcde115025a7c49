// Parameters of graph nodes, from the runtime's to the driver's structures and back. A kind of node
// has one function for each structure that a call reads or writes; forward.hpp calls them.
#pragma once

#include "runtime/base/failure.hpp"

#include <vector>

namespace sim::runtime {

#if CUDART_VERSION >= 12000
using DriverKernelNode = CUDA_KERNEL_NODE_PARAMS_v2;
#else
using DriverKernelNode = CUDA_KERNEL_NODE_PARAMS;
#endif

// Arrays that converted parameters point to.
struct Lists {
    std::vector<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> signals;
    std::vector<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> waits;
};

// The kernel is looked up as for a launch.
void to_driver(DriverKernelNode &node, const cudaKernelNodeParams &given, Lists &);
void to_driver(CUDA_MEMCPY3D &node, const cudaMemcpy3DParms &given, Lists &);
void to_driver(CUDA_MEMSET_NODE_PARAMS &node, const cudaMemsetParams &given, Lists &);
void to_driver(CUDA_HOST_NODE_PARAMS &node, const cudaHostNodeParams &given, Lists &);
void to_driver(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS &node,
               const cudaExternalSemaphoreSignalNodeParams &given, Lists &lists);
void to_driver(CUDA_EXT_SEM_WAIT_NODE_PARAMS &node,
               const cudaExternalSemaphoreWaitNodeParams &given, Lists &lists);

void to_runtime(cudaKernelNodeParams &out, const DriverKernelNode &node);
void to_runtime(cudaMemcpy3DParms &out, const CUDA_MEMCPY3D &node);
void to_runtime(cudaMemsetParams &out, const CUDA_MEMSET_NODE_PARAMS &node);
void to_runtime(cudaHostNodeParams &out, const CUDA_HOST_NODE_PARAMS &node);

template <class Parameters>
constexpr bool is_also_read = false;
#if CUDART_VERSION >= 12020
// Any kind. Only outputs are written.
void to_driver(CUgraphNodeParams &node, const cudaGraphNodeParams &given, Lists &lists);
void to_runtime(cudaGraphNodeParams &out, const CUgraphNodeParams &node);
template <>
inline constexpr bool is_also_read<cudaGraphNodeParams> = true;
#endif

// Copies of one row of bytes: between any two addresses, and to or from a symbol.
CUDA_MEMCPY3D row_of_bytes(void *destination, const void *source, size_t count,
                           cudaMemcpyKind kind);
CUDA_MEMCPY3D to_symbol(const void *symbol, const void *source, size_t count, size_t offset,
                        cudaMemcpyKind kind);
CUDA_MEMCPY3D from_symbol(void *destination, const void *symbol, size_t count, size_t offset,
                          cudaMemcpyKind kind);

#if CUDART_VERSION >= 13010
// The context of an execution context; of null, the current context.
CUcontext context_of(cudaExecutionContext_t given);
#endif

} // namespace sim::runtime
