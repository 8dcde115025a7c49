// Texture and surface objects.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/memory/channel_format.hpp"

#include <algorithm>
#include <type_traits>

namespace sim::runtime {
namespace {

CUDA_RESOURCE_DESC resource_of(const cudaResourceDesc *given) {
    require(given != nullptr);
    CUDA_RESOURCE_DESC resource{};
    resource.resType = same<CUresourcetype>(given->resType);
#if CUDART_VERSION >= 13000
    resource.flags = given->flags;
#endif
    switch (given->resType) {
    case cudaResourceTypeArray:
        resource.res.array.hArray = array_of(given->res.array.array);
        break;
    case cudaResourceTypeMipmappedArray:
        resource.res.mipmap.hMipmappedArray = mipmapped_of(given->res.mipmap.mipmap);
        break;
    case cudaResourceTypeLinear: {
        const auto &linear = given->res.linear;
        const Format format = format_of(linear.desc);
        resource.res.linear = {address(linear.devPtr), format.format, format.channels,
                               linear.sizeInBytes};
        break;
    }
    case cudaResourceTypePitch2D: {
        const auto &pitched = given->res.pitch2D;
        const Format format = format_of(pitched.desc);
        resource.res.pitch2D = {address(pitched.devPtr), format.format,  format.channels,
                                pitched.width,           pitched.height, pitched.pitchInBytes};
        break;
    }
    default:
        fail(cudaErrorInvalidValue);
    }
    return resource;
}

cudaResourceDesc shown(const CUDA_RESOURCE_DESC &resource) {
    cudaResourceDesc seen{};
    seen.resType = same<cudaResourceType>(resource.resType);
#if CUDART_VERSION >= 13000
    seen.flags = resource.flags;
#endif
    switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        seen.res.array.array = array_of(resource.res.array.hArray);
        break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        seen.res.mipmap.mipmap = mipmapped_of(resource.res.mipmap.hMipmappedArray);
        break;
    case CU_RESOURCE_TYPE_LINEAR: {
        const auto &linear = resource.res.linear;
        seen.res.linear = {pointer(linear.devPtr), channel_of({linear.format, linear.numChannels}),
                           linear.sizeInBytes};
        break;
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
        const auto &pitched = resource.res.pitch2D;
        seen.res.pitch2D = {pointer(pitched.devPtr),
                            channel_of({pitched.format, pitched.numChannels}), pitched.width,
                            pitched.height, pitched.pitchInBytes};
        break;
    }
    default:
        break;
    }
    return seen;
}

// cudaTextureDesc has the seamless cubemap field since CUDA 12; in CUDA 11, cudaTextureDesc_v2
// does.
template <class Texture>
unsigned int flags_of(const Texture &given) {
    unsigned int flags = 0;
    flags |= given.readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0;
    flags |= given.normalizedCoords != 0 ? CU_TRSF_NORMALIZED_COORDINATES : 0;
    flags |= given.sRGB != 0 ? CU_TRSF_SRGB : 0;
    flags |= given.disableTrilinearOptimization != 0 ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0;
    if constexpr (requires { given.seamlessCubemap; }) {
        flags |= given.seamlessCubemap != 0 ? CU_TRSF_SEAMLESS_CUBEMAP : 0;
    }
    return flags;
}

// Between the structures of the driver and of the runtime, either way.
template <class To, class From>
void copy_view(To &to, const From &from) {
    to.format = same<decltype(to.format)>(from.format);
    to.width = from.width;
    to.height = from.height;
    to.depth = from.depth;
    to.firstMipmapLevel = from.firstMipmapLevel;
    to.lastMipmapLevel = from.lastMipmapLevel;
    to.firstLayer = from.firstLayer;
    to.lastLayer = from.lastLayer;
}
template <class To, class From>
void copy_sampling(To &to, const From &from) {
    for (int dimension = 0; dimension < 3; ++dimension) {
        to.addressMode[dimension] =
            same<std::remove_cvref_t<decltype(*to.addressMode)>>(from.addressMode[dimension]);
    }
    to.filterMode = same<decltype(to.filterMode)>(from.filterMode);
    to.maxAnisotropy = from.maxAnisotropy;
    to.mipmapFilterMode = same<decltype(to.mipmapFilterMode)>(from.mipmapFilterMode);
    to.mipmapLevelBias = from.mipmapLevelBias;
    to.minMipmapLevelClamp = from.minMipmapLevelClamp;
    to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
    std::copy_n(from.borderColor, 4, to.borderColor);
}

template <class Texture>
CUDA_TEXTURE_DESC texture_of(const Texture *given) {
    require(given != nullptr, cudaErrorInvalidResourceHandle); // recorded
    CUDA_TEXTURE_DESC texture{};
    copy_sampling(texture, *given);
    texture.flags = flags_of(*given);
    return texture;
}

template <class Texture>
Texture shown(const CUDA_TEXTURE_DESC &texture) {
    Texture seen{};
    copy_sampling(seen, texture);
    const auto has = [&](unsigned int flag) { return (texture.flags & flag) != 0 ? 1 : 0; };
    seen.readMode =
        has(CU_TRSF_READ_AS_INTEGER) ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
    seen.normalizedCoords = has(CU_TRSF_NORMALIZED_COORDINATES);
    seen.sRGB = has(CU_TRSF_SRGB);
    seen.disableTrilinearOptimization = has(CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
    if constexpr (requires { seen.seamlessCubemap; }) {
        seen.seamlessCubemap = has(CU_TRSF_SEAMLESS_CUBEMAP);
    }
    return seen;
}

template <class Texture>
cudaError_t create_texture(cudaTextureObject_t *object, const cudaResourceDesc *resource,
                           const Texture *texture, const cudaResourceViewDesc *view) {
    const CUDA_RESOURCE_DESC of = resource_of(resource);
    const CUDA_TEXTURE_DESC as = texture_of(texture);
    CUDA_RESOURCE_VIEW_DESC through{};
    if (view != nullptr) {
        copy_view(through, *view);
    }
    if (of.resType == CU_RESOURCE_TYPE_ARRAY) {
        descriptor_of(of.res.array.hArray); // recorded: 709 for one that ended with its context
    }
    return CU(cuTexObjectCreate)(object, &of, &as, view ? &through : nullptr);
}

template <class Texture>
cudaError_t show_texture(Texture *output, cudaTextureObject_t object) {
    require(output != nullptr, cudaErrorInvalidResourceHandle); // recorded
    CUDA_TEXTURE_DESC texture{};
    demand(CU(cuTexObjectGetTextureDesc)(&texture, object));
    *output = shown<Texture>(texture);
    return cudaSuccess;
}

} // namespace

EXPORT cudaError_t cudaCreateTextureObject(OUT cudaTextureObject_t *pTexObject,
                                           const cudaResourceDesc *pResDesc,
                                           const cudaTextureDesc *pTexDesc,
                                           const cudaResourceViewDesc *pResViewDesc) {
    return create_texture(pTexObject, pResDesc, pTexDesc, pResViewDesc);
}

EXPORT cudaError_t cudaGetTextureObjectTextureDesc(OUT cudaTextureDesc *pTexDesc,
                                                   cudaTextureObject_t texObject) {
    return show_texture(pTexDesc, texObject);
}

#if CUDART_VERSION < 12000
EXPORT cudaError_t cudaCreateTextureObject_v2(OUT cudaTextureObject_t *pTexObject,
                                              const cudaResourceDesc *pResDesc,
                                              const cudaTextureDesc_v2 *pTexDesc,
                                              const cudaResourceViewDesc *pResViewDesc) {
    return create_texture(pTexObject, pResDesc, pTexDesc, pResViewDesc);
}

EXPORT cudaError_t cudaGetTextureObjectTextureDesc_v2(OUT cudaTextureDesc_v2 *pTexDesc,
                                                      cudaTextureObject_t texObject) {
    return show_texture(pTexDesc, texObject);
}
#endif

EXPORT cudaError_t cudaGetTextureObjectResourceDesc(OUT cudaResourceDesc *pResDesc,
                                                    cudaTextureObject_t texObject) {
    require(pResDesc != nullptr);
    CUDA_RESOURCE_DESC resource{};
    demand(CU(cuTexObjectGetResourceDesc)(&resource, texObject));
    *pResDesc = shown(resource);
    return cudaSuccess;
}

EXPORT cudaError_t cudaGetTextureObjectResourceViewDesc(OUT cudaResourceViewDesc *pResViewDesc,
                                                        cudaTextureObject_t texObject) {
    CUDA_RESOURCE_VIEW_DESC view{};
    demand(CU(cuTexObjectGetResourceViewDesc)(&view, texObject));
    if (pResViewDesc != nullptr) { // recorded: it may be null
        *pResViewDesc = {};
        copy_view(*pResViewDesc, view);
    }
    return cudaSuccess;
}

EXPORT cudaError_t cudaCreateSurfaceObject(OUT cudaSurfaceObject_t *pSurfObject,
                                           const cudaResourceDesc *pResDesc) {
    const CUDA_RESOURCE_DESC resource = resource_of(pResDesc);
    return CU(cuSurfObjectCreate)(pSurfObject, &resource);
}

EXPORT cudaError_t cudaGetSurfaceObjectResourceDesc(OUT cudaResourceDesc *pResDesc,
                                                    cudaSurfaceObject_t surfObject) {
    require(pResDesc != nullptr, cudaErrorInvalidDevice); // recorded
    CUDA_RESOURCE_DESC resource{};
    demand(CU(cuSurfObjectGetResourceDesc)(&resource, surfObject));
    *pResDesc = shown(resource);
    return cudaSuccess;
}

} // namespace sim::runtime
