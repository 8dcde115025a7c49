// Texture and surface objects.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/driver_equivalents.hpp"
#include "runtime/memory/channel_format.hpp"

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

template <class Texture>
CUDA_TEXTURE_DESC texture_of(const Texture *given) {
    require(given != nullptr);
    CUDA_TEXTURE_DESC texture{};
    for (int dimension = 0; dimension < 3; ++dimension) {
        texture.addressMode[dimension] = same<CUaddress_mode>(given->addressMode[dimension]);
    }
    texture.filterMode = same<CUfilter_mode>(given->filterMode);
    texture.flags = flags_of(*given);
    texture.maxAnisotropy = given->maxAnisotropy;
    texture.mipmapFilterMode = same<CUfilter_mode>(given->mipmapFilterMode);
    texture.mipmapLevelBias = given->mipmapLevelBias;
    texture.minMipmapLevelClamp = given->minMipmapLevelClamp;
    texture.maxMipmapLevelClamp = given->maxMipmapLevelClamp;
    for (int channel = 0; channel < 4; ++channel) {
        texture.borderColor[channel] = given->borderColor[channel];
    }
    return texture;
}

template <class Texture>
Texture shown(const CUDA_TEXTURE_DESC &texture) {
    Texture seen{};
    for (int dimension = 0; dimension < 3; ++dimension) {
        seen.addressMode[dimension] = same<cudaTextureAddressMode>(texture.addressMode[dimension]);
    }
    const auto has = [&](unsigned int flag) { return (texture.flags & flag) != 0 ? 1 : 0; };
    seen.filterMode = same<cudaTextureFilterMode>(texture.filterMode);
    seen.readMode =
        has(CU_TRSF_READ_AS_INTEGER) ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
    seen.normalizedCoords = has(CU_TRSF_NORMALIZED_COORDINATES);
    seen.sRGB = has(CU_TRSF_SRGB);
    seen.disableTrilinearOptimization = has(CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
    if constexpr (requires { seen.seamlessCubemap; }) {
        seen.seamlessCubemap = has(CU_TRSF_SEAMLESS_CUBEMAP);
    }
    seen.maxAnisotropy = texture.maxAnisotropy;
    seen.mipmapFilterMode = same<cudaTextureFilterMode>(texture.mipmapFilterMode);
    seen.mipmapLevelBias = texture.mipmapLevelBias;
    seen.minMipmapLevelClamp = texture.minMipmapLevelClamp;
    seen.maxMipmapLevelClamp = texture.maxMipmapLevelClamp;
    for (int channel = 0; channel < 4; ++channel) {
        seen.borderColor[channel] = texture.borderColor[channel];
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
        through.format = same<CUresourceViewFormat>(view->format);
        through.width = view->width;
        through.height = view->height;
        through.depth = view->depth;
        through.firstMipmapLevel = view->firstMipmapLevel;
        through.lastMipmapLevel = view->lastMipmapLevel;
        through.firstLayer = view->firstLayer;
        through.lastLayer = view->lastLayer;
    }
    return CU(cuTexObjectCreate)(object, &of, &as, view ? &through : nullptr);
}

template <class Texture>
cudaError_t show_texture(Texture *output, cudaTextureObject_t object) {
    require(output != nullptr || object != 0, cudaErrorInvalidResourceHandle); // recorded
    require(output != nullptr);
    CUDA_TEXTURE_DESC texture{};
    demand(CU(cuTexObjectGetTextureDesc)(&texture, object));
    *output = shown<Texture>(texture);
    return cudaSuccess;
}

} // namespace

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *pTexObject,
                                    const cudaResourceDesc *pResDesc,
                                    const cudaTextureDesc *pTexDesc,
                                    const cudaResourceViewDesc *pResViewDesc) {
    return create_texture(pTexObject, pResDesc, pTexDesc, pResViewDesc);
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc *pTexDesc,
                                            cudaTextureObject_t texObject) {
    return show_texture(pTexDesc, texObject);
}

#if CUDART_VERSION < 12000
cudaError_t cudaCreateTextureObject_v2(cudaTextureObject_t *pTexObject,
                                       const cudaResourceDesc *pResDesc,
                                       const cudaTextureDesc_v2 *pTexDesc,
                                       const cudaResourceViewDesc *pResViewDesc) {
    return create_texture(pTexObject, pResDesc, pTexDesc, pResViewDesc);
}

cudaError_t cudaGetTextureObjectTextureDesc_v2(cudaTextureDesc_v2 *pTexDesc,
                                               cudaTextureObject_t texObject) {
    return show_texture(pTexDesc, texObject);
}
#endif

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texObject) {
    return CU(cuTexObjectDestroy)(texObject);
}

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc *pResDesc,
                                             cudaTextureObject_t texObject) {
    require(pResDesc != nullptr);
    CUDA_RESOURCE_DESC resource{};
    demand(CU(cuTexObjectGetResourceDesc)(&resource, texObject));
    *pResDesc = shown(resource);
    return cudaSuccess;
}

cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc *pResViewDesc,
                                                 cudaTextureObject_t texObject) {
    require(pResViewDesc != nullptr);
    CUDA_RESOURCE_VIEW_DESC view{};
    demand(CU(cuTexObjectGetResourceViewDesc)(&view, texObject));
    cudaResourceViewDesc seen{};
    seen.format = same<cudaResourceViewFormat>(view.format);
    seen.width = view.width;
    seen.height = view.height;
    seen.depth = view.depth;
    seen.firstMipmapLevel = view.firstMipmapLevel;
    seen.lastMipmapLevel = view.lastMipmapLevel;
    seen.firstLayer = view.firstLayer;
    seen.lastLayer = view.lastLayer;
    *pResViewDesc = seen;
    return cudaSuccess;
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject,
                                    const cudaResourceDesc *pResDesc) {
    const CUDA_RESOURCE_DESC resource = resource_of(pResDesc);
    return CU(cuSurfObjectCreate)(pSurfObject, &resource);
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject) {
    return CU(cuSurfObjectDestroy)(surfObject);
}

cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc *pResDesc,
                                             cudaSurfaceObject_t surfObject) {
    require(pResDesc != nullptr || surfObject != 0, cudaErrorInvalidDevice); // recorded
    require(pResDesc != nullptr);
    CUDA_RESOURCE_DESC resource{};
    demand(CU(cuSurfObjectGetResourceDesc)(&resource, surfObject));
    *pResDesc = shown(resource);
    return cudaSuccess;
}

} // namespace sim::runtime
