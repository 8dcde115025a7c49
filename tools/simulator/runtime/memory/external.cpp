// External memory and semaphores.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/memory/channel_format.hpp"
#include "runtime/memory/external_parameters.hpp"

namespace sim::runtime {

cudaError_t cudaImportExternalMemory(cudaExternalMemory_t *extMem_out,
                                     const cudaExternalMemoryHandleDesc *memHandleDesc) {
    require(memHandleDesc != nullptr);
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC handle{};
    handle.type = same<CUexternalMemoryHandleType>(memHandleDesc->type);
    // The type selects the member of the union; copying the widest one copies any of them.
    handle.handle.win32.handle = memHandleDesc->handle.win32.handle;
    handle.handle.win32.name = memHandleDesc->handle.win32.name;
    handle.size = memHandleDesc->size;
    handle.flags = memHandleDesc->flags;
    return CU(cuImportExternalMemory)(reinterpret_cast<CUexternalMemory *>(extMem_out), &handle);
}

cudaError_t cudaExternalMemoryGetMappedBuffer(void **devPtr, cudaExternalMemory_t extMem,
                                              const cudaExternalMemoryBufferDesc *bufferDesc) {
    require(bufferDesc != nullptr);
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer{};
    buffer.offset = bufferDesc->offset;
    buffer.size = bufferDesc->size;
    buffer.flags = bufferDesc->flags;
    return CU(cuExternalMemoryGetMappedBuffer)(address_out(devPtr), memory_of(extMem), &buffer);
}

cudaError_t
cudaExternalMemoryGetMappedMipmappedArray(cudaMipmappedArray_t *mipmap, cudaExternalMemory_t extMem,
                                          const cudaExternalMemoryMipmappedArrayDesc *mipmapDesc) {
    require(mipmapDesc != nullptr);
    const Format format = format_of(mipmapDesc->formatDesc);
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC wanted{};
    wanted.offset = mipmapDesc->offset;
    wanted.arrayDesc = {mipmapDesc->extent.width, mipmapDesc->extent.height,
                        mipmapDesc->extent.depth, format.format,
                        format.channels,          mipmapDesc->flags};
    wanted.numLevels = mipmapDesc->numLevels;
    return CU(cuExternalMemoryGetMappedMipmappedArray)(mipmapped_out(mipmap), memory_of(extMem),
                                                       &wanted);
}

cudaError_t cudaDestroyExternalMemory(cudaExternalMemory_t extMem) {
    return CU(cuDestroyExternalMemory)(memory_of(extMem));
}

cudaError_t cudaImportExternalSemaphore(cudaExternalSemaphore_t *extSem_out,
                                        const cudaExternalSemaphoreHandleDesc *semHandleDesc) {
    require(semHandleDesc != nullptr);
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC handle{};
    handle.type = same<CUexternalSemaphoreHandleType>(semHandleDesc->type);
    handle.handle.win32.handle = semHandleDesc->handle.win32.handle;
    handle.handle.win32.name = semHandleDesc->handle.win32.name;
    handle.flags = semHandleDesc->flags;
    return CU(cuImportExternalSemaphore)(reinterpret_cast<CUexternalSemaphore *>(extSem_out),
                                         &handle);
}

cudaError_t cudaDestroyExternalSemaphore(cudaExternalSemaphore_t extSem) {
    return CU(cuDestroyExternalSemaphore)(semaphore_of(extSem));
}

namespace {

template <class Parameters>
cudaError_t signal(const cudaExternalSemaphore_t *semaphores, const Parameters *parameters,
                   unsigned int count, cudaStream_t stream) {
    require(parameters != nullptr || count == 0);
    const auto signals = signals_of(parameters, count);
    return CU(cuSignalExternalSemaphoresAsync)(semaphores_of(semaphores), signals.data(), count,
                                               stream_of(stream));
}

template <class Parameters>
cudaError_t wait(const cudaExternalSemaphore_t *semaphores, const Parameters *parameters,
                 unsigned int count, cudaStream_t stream) {
    require(parameters != nullptr || count == 0);
    const auto waits = waits_of(parameters, count);
    return CU(cuWaitExternalSemaphoresAsync)(semaphores_of(semaphores), waits.data(), count,
                                             stream_of(stream));
}

} // namespace

#if CUDART_VERSION >= 13000
cudaError_t cudaSignalExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
                                              const cudaExternalSemaphoreSignalParams *paramsArray,
                                              unsigned int numExtSems, cudaStream_t stream) {
    return signal(extSemArray, paramsArray, numExtSems, stream);
}

cudaError_t cudaWaitExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
                                            const cudaExternalSemaphoreWaitParams *paramsArray,
                                            unsigned int numExtSems, cudaStream_t stream) {
    return wait(extSemArray, paramsArray, numExtSems, stream);
}
#else
cudaError_t
cudaSignalExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
                                  const cudaExternalSemaphoreSignalParams_v1 *paramsArray,
                                  unsigned int numExtSems, cudaStream_t stream) {
    return signal(extSemArray, paramsArray, numExtSems, stream);
}

cudaError_t cudaWaitExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
                                            const cudaExternalSemaphoreWaitParams_v1 *paramsArray,
                                            unsigned int numExtSems, cudaStream_t stream) {
    return wait(extSemArray, paramsArray, numExtSems, stream);
}

cudaError_t
cudaSignalExternalSemaphoresAsync_v2(const cudaExternalSemaphore_t *extSemArray,
                                     const cudaExternalSemaphoreSignalParams *paramsArray,
                                     unsigned int numExtSems, cudaStream_t stream) {
    return signal(extSemArray, paramsArray, numExtSems, stream);
}

cudaError_t cudaWaitExternalSemaphoresAsync_v2(const cudaExternalSemaphore_t *extSemArray,
                                               const cudaExternalSemaphoreWaitParams *paramsArray,
                                               unsigned int numExtSems, cudaStream_t stream) {
    return wait(extSemArray, paramsArray, numExtSems, stream);
}
#endif

} // namespace sim::runtime
