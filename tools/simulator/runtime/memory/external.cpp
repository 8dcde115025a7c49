// External memory and semaphores.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/memory/channel_format.hpp"

namespace sim::runtime {

EXPORT cudaError_t cudaImportExternalMemory(OUT cudaExternalMemory_t *extMem_out,
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

EXPORT cudaError_t
cudaExternalMemoryGetMappedBuffer(OUT void **devPtr, cudaExternalMemory_t extMem,
                                  const cudaExternalMemoryBufferDesc *bufferDesc) {
    require(bufferDesc != nullptr);
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer{};
    buffer.offset = bufferDesc->offset;
    buffer.size = bufferDesc->size;
    buffer.flags = bufferDesc->flags;
    return CU(cuExternalMemoryGetMappedBuffer)(address_out(devPtr), memory_of(extMem), &buffer);
}

EXPORT cudaError_t cudaExternalMemoryGetMappedMipmappedArray(
    OUT cudaMipmappedArray_t *mipmap, cudaExternalMemory_t extMem,
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

EXPORT cudaError_t cudaImportExternalSemaphore(
    OUT cudaExternalSemaphore_t *extSem_out, const cudaExternalSemaphoreHandleDesc *semHandleDesc) {
    require(semHandleDesc != nullptr);
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC handle{};
    handle.type = same<CUexternalSemaphoreHandleType>(semHandleDesc->type);
    handle.handle.win32.handle = semHandleDesc->handle.win32.handle;
    handle.handle.win32.name = semHandleDesc->handle.win32.name;
    handle.flags = semHandleDesc->flags;
    return CU(cuImportExternalSemaphore)(reinterpret_cast<CUexternalSemaphore *>(extSem_out),
                                         &handle);
}

} // namespace sim::runtime
