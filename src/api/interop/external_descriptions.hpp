// CUDA's descriptions of external memory and semaphores, and of operations on semaphores.
#pragma once

#include <cushim/external_memory.hpp>
#include <cushim/external_semaphore.hpp>

#include <cstddef>

namespace cushim::detail {

// The layout of 64-bit systems; all versions of the headers must agree.
static_assert(sizeof(void *) == 8);
static_assert(sizeof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC) == 104);
static_assert(offsetof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, type) == 0);
static_assert(offsetof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, handle) == 8);
static_assert(offsetof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size) == 24);
static_assert(offsetof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, flags) == 32);
static_assert(sizeof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC) == 88);
static_assert(sizeof(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC) == 120);
static_assert(sizeof(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC) == 96);
static_assert(offsetof(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, handle) == 8);
static_assert(sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS) == 144);
static_assert(offsetof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, params.fence.value) == 0);
static_assert(offsetof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, params.nvSciSync) == 8);
static_assert(offsetof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, params.keyedMutex.key) == 16);
static_assert(offsetof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, flags) == 72);
static_assert(sizeof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS) == 144);
static_assert(offsetof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, params.keyedMutex.key) == 16);
static_assert(offsetof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, params.keyedMutex.timeoutMs) == 24);
static_assert(offsetof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, flags) == 72);

#if CUDA_VERSION >= 13000
static_assert(ExternalMemorySource::dma_buf_type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD);
#endif

// The descriptor is set later, since the driver gets a duplicate.
inline CUDA_EXTERNAL_MEMORY_HANDLE_DESC description_of(const ExternalMemorySource &source,
                                                       std::size_t size) noexcept {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
    description.type = source.type();
    description.size = size;
    description.flags = source.dedicated() ? CUDA_EXTERNAL_MEMORY_DEDICATED : 0;
    // A source has one handle; its others are null.
    if (source.nvsci_object() != nullptr) {
        description.handle.nvSciBufObject = source.nvsci_object();
    } else {
        description.handle.win32.handle = source.win32().handle();
        description.handle.win32.name = source.win32().name();
    }
    return description;
}

// `skip_memory_sync`: the flag for it.
template <class Parameters>
Parameters semaphore_parameters(const SemaphoreOperation &operation,
                                unsigned int skip_memory_sync) noexcept {
    Parameters parameters{};
    switch (operation.kind) {
    case SemaphoreKind::binary:
        break;
    case SemaphoreKind::timeline:
        parameters.params.fence.value = operation.value;
        break;
    case SemaphoreKind::keyed_mutex:
        parameters.params.keyedMutex.key = operation.value;
        if constexpr (requires { parameters.params.keyedMutex.timeoutMs; }) { // a wait
            parameters.params.keyedMutex.timeoutMs = operation.timeout_ms;
        }
        break;
    case SemaphoreKind::nvsci:
        parameters.params.nvSciSync.fence = operation.fence;
        parameters.flags = operation.skip_memory_sync ? skip_memory_sync : 0;
        break;
    }
    return parameters;
}
inline CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS
signal_parameters(const SemaphoreOperation &operation) noexcept {
    return semaphore_parameters<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS>(
        operation, CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC);
}
inline CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS
wait_parameters(const SemaphoreOperation &operation) noexcept {
    return semaphore_parameters<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS>(
        operation, CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC);
}

} // namespace cushim::detail
