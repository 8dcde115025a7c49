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

EXPORT cudaError_t cudaMallocArray(OUT cudaArray_t *array, const cudaChannelFormatDesc *desc,
                                   size_t width, size_t height, unsigned int flags) {
    require(array != nullptr, "arrayPtr cannot be NULL");
    require(desc != nullptr, "desc cannot be NULL");
    const CUDA_ARRAY3D_DESCRIPTOR wanted = descriptor(desc, {width, height, 0}, flags);
    return CU(cuArray3DCreate_v2)(array_out(array), &wanted);
}

EXPORT cudaError_t cudaMalloc3DArray(OUT cudaArray_t *array, const cudaChannelFormatDesc *desc,
                                     cudaExtent extent, unsigned int flags) {
    const CUDA_ARRAY3D_DESCRIPTOR wanted = descriptor(desc, extent, flags);
    return CU(cuArray3DCreate_v2)(array_out(array), &wanted);
}

EXPORT cudaError_t cudaFreeArray(cudaArray_t array) {
    need_context();
    return array ? CU(cuArrayDestroy)(array_of(array)) : cudaSuccess;
}

EXPORT cudaError_t cudaMallocMipmappedArray(OUT cudaMipmappedArray_t *mipmappedArray,
                                            const cudaChannelFormatDesc *desc, cudaExtent extent,
                                            unsigned int numLevels, unsigned int flags) {
    require(mipmappedArray != nullptr, "mipmappedArrayPtr cannot be NULL");
    const CUDA_ARRAY3D_DESCRIPTOR wanted = descriptor(desc, extent, flags);
    return CU(cuMipmappedArrayCreate)(mipmapped_out(mipmappedArray), &wanted, numLevels);
}

EXPORT cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray) {
    need_context();
    return mipmappedArray ? CU(cuMipmappedArrayDestroy)(mipmapped_of(mipmappedArray)) : cudaSuccess;
}

EXPORT cudaError_t cudaArrayGetInfo(OUT cudaChannelFormatDesc *desc, OUT cudaExtent *extent,
                                    OUT unsigned int *flags, cudaArray_t array) {
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

EXPORT cudaError_t cudaGetChannelDesc(OUT cudaChannelFormatDesc *desc, cudaArray_const_t array) {
    require(desc != nullptr);
    const CUDA_ARRAY3D_DESCRIPTOR found = descriptor_of(array_of(array));
    *desc = channel_of({found.Format, found.NumChannels});
    return cudaSuccess;
}

} // namespace sim::runtime
