// The kinds of work, each made by the topic that knows it: for streams, captures and graph nodes alike.
// What each puts into Work::parameters is named beside it, so that a graph can show and change it.
#pragma once

#include "engine/object.hpp"
#include "engine/work.hpp"

#include <cstddef>
#include <vector>

namespace sim {

// copy.cpp. Checks the copy against the memory that it names. parameters: CUDA_MEMCPY3D_PEER.
Work copy_work(const CUDA_MEMCPY3D_PEER &copy, const char *what);

// memset.cpp. parameters: MemsetParameters.
struct MemsetParameters {
    CUdeviceptr address;
    std::size_t pitch;                // bytes; 0 where height is 1
    unsigned int value, element_size; // 1, 2 or 4 bytes
    std::size_t width, height;        // elements, rows
};
Work memset_work(const MemsetParameters &parameters, const char *what);

// launch.cpp. parameters: KernelLaunch. Checks limits, attributes and arguments.
struct KernelLaunch {
    Object *function = nullptr; // CUfunc_st or CUkern_st
    unsigned int grid[3] = {}, block[3] = {}, shared_bytes = 0;
    std::vector<std::vector<std::byte>> arguments; // a copy of each
    std::vector<CUlaunchAttribute> attributes;
};
// Copies the arguments out of what the API offers: an array of pointers, or a packed buffer.
KernelLaunch kernel_launch(void *function, const unsigned int (&grid)[3],
                           const unsigned int (&block)[3], unsigned int shared_bytes,
                           void **parameters, void **extra);
Work kernel_work(KernelLaunch launch, const char *what);

// host_function.cpp. parameters: CUDA_HOST_NODE_PARAMS (the first version of the struct).
Work host_work(CUhostFn function, void *user, const char *what);

// stream_memory_operations.cpp. parameters: std::vector<CUstreamBatchMemOpParams>.
Work batch_memory_work(std::vector<CUstreamBatchMemOpParams> operations, unsigned int flags,
                       const char *what);

// event.cpp (declared in stream.hpp): event_record_work, event_wait_work. parameters: CUevent.

// external_semaphore.cpp. parameters: SemaphoreSignals, SemaphoreWaits.
struct SemaphoreSignals {
    std::vector<CUexternalSemaphore> semaphores;
    std::vector<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> parameters;
};
struct SemaphoreWaits {
    std::vector<CUexternalSemaphore> semaphores;
    std::vector<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> parameters;
};
Work signal_work(SemaphoreSignals signals, const char *what);
Work wait_work(SemaphoreWaits waits, const char *what);

// stream_ordered.cpp. The address is known at once, the memory usable from its turn on.
// parameters: CUDA_MEM_ALLOC_NODE_PARAMS with dptr filled in (graphs), CUdeviceptr.
Work pool_alloc_work(CUmemoryPool pool, std::size_t size, CUdeviceptr *address, const char *what);
Work pool_free_work(CUdeviceptr address, const char *what);

} // namespace sim
