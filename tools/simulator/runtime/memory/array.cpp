// Arrays and mipmapped arrays.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/memory/channel_format.hpp"

namespace sim::runtime {
namespace {

CUDA_ARRAY3D_DESCRIPTOR descriptor(const cudaChannelFormatDesc *desc, const cudaExtent &extent,
                                   unsigned int flags) {
    require(desc != nullptr);
    // Recorded: shape and flags are checked before the channels.
    constexpr unsigned int known_flags =
        cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap | cudaArrayTextureGather |
        cudaArrayColorAttachment | cudaArraySparse | cudaArrayDeferredMapping;
    require(extent.width != 0 && (flags & ~known_flags) == 0);
    const Format format = format_of(*desc);
    return {extent.width, extent.height, extent.depth, format.format, format.channels, flags};
}

} // namespace

cudaError_t cudaMallocArray(cudaArray_t *array, const cudaChannelFormatDesc *desc, size_t width,
                            size_t height, unsigned int flags) {
    require(array != nullptr, "arrayPtr cannot be NULL");
    require(desc != nullptr, "desc cannot be NULL");
    const CUDA_ARRAY3D_DESCRIPTOR wanted = descriptor(desc, {width, height, 0}, flags);
    return CU(cuArray3DCreate_v2)(array_out(array), &wanted);
}

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const cudaChannelFormatDesc *desc,
                              cudaExtent extent, unsigned int flags) {
    const CUDA_ARRAY3D_DESCRIPTOR wanted = descriptor(desc, extent, flags);
    return CU(cuArray3DCreate_v2)(array_out(array), &wanted);
}

cudaError_t cudaFreeArray(cudaArray_t array) {
    need_context();
    return array ? CU(cuArrayDestroy)(array_of(array)) : cudaSuccess;
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray,
                                     const cudaChannelFormatDesc *desc, cudaExtent extent,
                                     unsigned int numLevels, unsigned int flags) {
    require(mipmappedArray != nullptr, "mipmappedArrayPtr cannot be NULL");
    const CUDA_ARRAY3D_DESCRIPTOR wanted = descriptor(desc, extent, flags);
    return CU(cuMipmappedArrayCreate)(mipmapped_out(mipmappedArray), &wanted, numLevels);
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray) {
    need_context();
    return mipmappedArray ? CU(cuMipmappedArrayDestroy)(mipmapped_of(mipmappedArray)) : cudaSuccess;
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *levelArray,
                                       cudaMipmappedArray_const_t mipmappedArray,
                                       unsigned int level) {
    return CU(cuMipmappedArrayGetLevel)(array_out(levelArray), mipmapped_of(mipmappedArray), level);
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc *desc, cudaExtent *extent, unsigned int *flags,
                             cudaArray_t array) {
    const CUDA_ARRAY3D_DESCRIPTOR found = descriptor_of(array_of(array));
    if (desc != nullptr) {
        *desc = channel_of({found.Format, found.NumChannels});
    }
    if (extent != nullptr) {
        *extent = {found.Width, found.Height, found.Depth};
    }
    if (flags != nullptr) {
        *flags = found.Flags;
    }
    return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc *desc, cudaArray_const_t array) {
    require(desc != nullptr);
    const CUDA_ARRAY3D_DESCRIPTOR found = descriptor_of(array_of(array));
    *desc = channel_of({found.Format, found.NumChannels});
    return cudaSuccess;
}

cudaError_t cudaArrayGetPlane(cudaArray_t *pPlaneArray, cudaArray_t hArray, unsigned int planeIdx) {
    return CU(cuArrayGetPlane)(array_out(pPlaneArray), array_of(hArray), planeIdx);
}

cudaError_t cudaArrayGetMemoryRequirements(cudaArrayMemoryRequirements *memoryRequirements,
                                           cudaArray_t array, int device) {
    return CU(cuArrayGetMemoryRequirements)(
        same_memory<CUDA_ARRAY_MEMORY_REQUIREMENTS>(memoryRequirements), array_of(array), device);
}

cudaError_t cudaMipmappedArrayGetMemoryRequirements(cudaArrayMemoryRequirements *memoryRequirements,
                                                    cudaMipmappedArray_t mipmap, int device) {
    return CU(cuMipmappedArrayGetMemoryRequirements)(
        same_memory<CUDA_ARRAY_MEMORY_REQUIREMENTS>(memoryRequirements), mipmapped_of(mipmap),
        device);
}

cudaError_t cudaArrayGetSparseProperties(cudaArraySparseProperties *sparseProperties,
                                         cudaArray_t array) {
    return CU(cuArrayGetSparseProperties)(
        same_memory<CUDA_ARRAY_SPARSE_PROPERTIES>(sparseProperties), array_of(array));
}

cudaError_t cudaMipmappedArrayGetSparseProperties(cudaArraySparseProperties *sparseProperties,
                                                  cudaMipmappedArray_t mipmap) {
    return CU(cuMipmappedArrayGetSparseProperties)(
        same_memory<CUDA_ARRAY_SPARSE_PROPERTIES>(sparseProperties), mipmapped_of(mipmap));
}

} // namespace sim::runtime
