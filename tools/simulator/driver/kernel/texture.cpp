// Texture and surface objects: their descriptions are checked, stored and returned.
#include "kernel/texture.hpp"
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/memory.hpp"
#include "kernel/module.hpp"
#include "memory/array.hpp"

#include <algorithm>
#include <cstring>

namespace sim {

TextureObject::TextureObject(CUctx_st &owner) : Object(own_kind) {
    context = &owner;
}
SurfaceObject::SurfaceObject(CUctx_st &owner) : Object(own_kind) {
    context = &owner;
}

std::size_t linear_element(CUarray_format format, unsigned int channels) {
    const std::size_t size = element_size(format, channels);
    require(size != 0 && (channels == 1 || channels == 2 || channels == 4));
    return size;
}

std::size_t most_linear_elements(CUdevice device, std::size_t element) {
    // The attribute counts elements of the largest size; recorded for floats: four times as many.
    constexpr std::size_t largest = 16; // bytes
    const auto most = static_cast<std::size_t>(
        attribute_or(device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 1 << 27));
    return most * largest / element;
}

namespace {

void check_linear(const CUDA_RESOURCE_DESC &resource, CUdevice device) {
    const auto &linear = resource.res.linear;
    const std::size_t element = linear_element(linear.format, linear.numChannels);
    const auto alignment =
        static_cast<CUdeviceptr>(attribute_or(device, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512));
    require(linear.devPtr != 0 && linear.devPtr % alignment == 0 && linear.sizeInBytes != 0 &&
            linear.sizeInBytes / element <= most_linear_elements(device, element));
    device_range(linear.devPtr, linear.sizeInBytes, false);
}

void check_pitched(const CUDA_RESOURCE_DESC &resource, CUdevice device) {
    const auto &pitched = resource.res.pitch2D;
    const std::size_t element = linear_element(pitched.format, pitched.numChannels);
    const auto alignment =
        static_cast<CUdeviceptr>(attribute_or(device, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512));
    const auto pitch_alignment = static_cast<std::size_t>(
        attribute_or(device, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32));
    const auto side = static_cast<std::size_t>(
        attribute_or(device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH, 131072));
    require(pitched.devPtr != 0 && pitched.devPtr % alignment == 0 && pitched.width != 0 &&
            pitched.height != 0 && pitched.width <= side && pitched.height <= side &&
            pitched.pitchInBytes % pitch_alignment == 0 &&
            pitched.width * element <= pitched.pitchInBytes);
    device_range(pitched.devPtr,
                 pitched.pitchInBytes * (pitched.height - 1) + pitched.width * element, false);
}

// Recorded: an array of another context requires peer access.
void check_array(const Array &array, const Context &context) {
    require(array.context == &context || has_peer_on(context, array.device),
            CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}

void check_resource(const CUDA_RESOURCE_DESC &resource, const Context &context) {
    const CUdevice device = context.device;
    require(resource.flags == 0);
    switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        check_array(
            checked(resource.res.array.hArray, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE),
            context);
        return;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        checked(resource.res.mipmap.hMipmappedArray);
        return;
    case CU_RESOURCE_TYPE_LINEAR:
        check_linear(resource, device);
        return;
    case CU_RESOURCE_TYPE_PITCH2D:
        check_pitched(resource, device);
        return;
    default:
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
}

void check_texture(const CUDA_TEXTURE_DESC &texture) {
    constexpr unsigned int known = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES |
                                   CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION |
                                   CU_TRSF_SEAMLESS_CUBEMAP;
    for (const CUaddress_mode mode : texture.addressMode) {
        require(static_cast<int>(mode) >= CU_TR_ADDRESS_MODE_WRAP &&
                static_cast<int>(mode) <= CU_TR_ADDRESS_MODE_BORDER);
    }
    for (const CUfilter_mode mode : {texture.filterMode, texture.mipmapFilterMode}) {
        require(static_cast<int>(mode) >= CU_TR_FILTER_MODE_POINT &&
                static_cast<int>(mode) <= CU_TR_FILTER_MODE_LINEAR);
    }
    require((texture.flags & ~known) == 0);
}

const CUDA_ARRAY3D_DESCRIPTOR &array_of(const CUDA_RESOURCE_DESC &resource) {
    require(resource.resType == CU_RESOURCE_TYPE_ARRAY ||
            resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY);
    return resource.resType == CU_RESOURCE_TYPE_ARRAY
               ? checked(resource.res.array.hArray).descriptor
               : checked(resource.res.mipmap.hMipmappedArray).descriptor;
}

void check_view(const CUDA_RESOURCE_DESC &resource, const CUDA_RESOURCE_VIEW_DESC &view) {
    const CUDA_ARRAY3D_DESCRIPTOR &array = array_of(resource);
    require(static_cast<int>(view.format) >= CU_RES_VIEW_FORMAT_NONE &&
            static_cast<int>(view.format) <= CU_RES_VIEW_FORMAT_UNSIGNED_BC7);
    // An element of a block-compressed format represents 4 x 4 texels.
    const bool compressed = static_cast<int>(view.format) >= CU_RES_VIEW_FORMAT_UNSIGNED_BC1;
    const std::size_t side = compressed ? 4 : 1;
    require(view.width == side * array.Width && view.height == side * array.Height);
    require(view.firstMipmapLevel <= view.lastMipmapLevel && view.firstLayer <= view.lastLayer);
}

template <class T>
T *pointer_to(unsigned long long handle) {
    return reinterpret_cast<T *>(static_cast<std::uintptr_t>(handle));
}

template <class T>
T &object_of(unsigned long long handle) {
    return checked(pointer_to<T>(handle), CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
}

// Recorded: the driver ignores a number that names no object, and an object that was destroyed with
// its context.
template <class T>
void destroy(unsigned long long handle) {
    current_context();
    if (handle == 0 || Registry::get().ended_with_context(pointer_to<T>(handle))) {
        return;
    }
    try {
        Registry::get().destroy(&object_of<T>(handle)); // records a misuse of others
    } catch (const Refusal &refusal) {
        if (refusal.status == CUDA_ERROR_CONTEXT_IS_DESTROYED) {
            throw; // a reset has discarded it
        }
    }
}

bool exists(CUdeviceptr address) {
    return AddressSpace::get().find(static_cast<std::uintptr_t>(address)) != nullptr;
}

// What has ended of what a texture or surface reads, or null.
const char *ended_resource(const CUDA_RESOURCE_DESC &resource) {
    const Registry &registry = Registry::get();
    switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        return registry.find(resource.res.array.hArray) ? nullptr : "array was destroyed";
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        return registry.find(resource.res.mipmap.hMipmappedArray) ? nullptr
                                                                  : "mipmapped array was destroyed";
    case CU_RESOURCE_TYPE_LINEAR:
        return exists(resource.res.linear.devPtr) ? nullptr : "memory was freed";
    case CU_RESOURCE_TYPE_PITCH2D:
        return exists(resource.res.pitch2D.devPtr) ? nullptr : "memory was freed";
    default:
        return nullptr;
    }
}

// The resource of a texture or surface object, or null.
const CUDA_RESOURCE_DESC *resource_of(const Object *object) {
    if (object != nullptr && TextureObject::is(object->kind)) {
        return &static_cast<const TextureObject *>(object)->resource;
    }
    if (object != nullptr && SurfaceObject::is(object->kind)) {
        return &static_cast<const SurfaceObject *>(object)->resource;
    }
    return nullptr;
}

unsigned long long handle_of(const Object *object) {
    return static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(object));
}

// Recorded: the contents of an object can be read in its own context only.
template <class T>
const T &current_object_of(unsigned long long handle) {
    const Context &context = current_context();
    const T &object = object_of<T>(handle);
    require(object.context == &context);
    return object;
}

} // namespace

void check_textures(const KernelArguments &arguments, const std::string &kernel) {
    for (const std::vector<std::byte> &argument : arguments) {
        const void *handle = nullptr;
        if (argument.size() != sizeof handle) {
            continue;
        }
        std::memcpy(&handle, argument.data(), sizeof handle);
        const Object *object = Registry::get().find(handle);
        const CUDA_RESOURCE_DESC *resource = resource_of(object);
        const char *ended = resource != nullptr ? ended_resource(*resource) : nullptr;
        if (ended != nullptr) {
            misuse("kernel " + kernel + " runs with a " + object->describe() + ", whose " + ended);
        }
    }
}

} // namespace sim

namespace sim::driver {

EXPORT CUresult cuTexObjectCreate(OUT CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
                                  const CUDA_TEXTURE_DESC *pTexDesc,
                                  const CUDA_RESOURCE_VIEW_DESC *pResViewDesc) {
    require(pTexObject != nullptr && pResDesc != nullptr && pTexDesc != nullptr);
    Context &context = current_context();
    check_resource(*pResDesc, context);
    check_texture(*pTexDesc);
    if (pResViewDesc != nullptr) {
        check_view(*pResDesc, *pResViewDesc);
    }
    auto *texture = Registry::get().make<TextureObject>(context);
    texture->resource = *pResDesc;
    texture->texture = *pTexDesc;
    if (pResViewDesc != nullptr) {
        texture->view = *pResViewDesc;
    }
    *pTexObject = handle_of(texture);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexObjectDestroy(CUtexObject texObject) {
    destroy<TextureObject>(texObject);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexObjectGetResourceDesc(OUT CUDA_RESOURCE_DESC *pResDesc,
                                           CUtexObject texObject) {
    require(pResDesc != nullptr);
    *pResDesc = current_object_of<TextureObject>(texObject).resource;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexObjectGetTextureDesc(OUT CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject) {
    require(pTexDesc != nullptr);
    *pTexDesc = current_object_of<TextureObject>(texObject).texture;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexObjectGetResourceViewDesc(OUT CUDA_RESOURCE_VIEW_DESC *pResViewDesc,
                                               CUtexObject texObject) {
    require(pResViewDesc != nullptr);
    *pResViewDesc = current_object_of<TextureObject>(texObject).view;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuSurfObjectCreate(OUT CUsurfObject *pSurfObject,
                                   const CUDA_RESOURCE_DESC *pResDesc) {
    require(pSurfObject != nullptr && pResDesc != nullptr);
    Context &context = current_context();
    require(pResDesc->resType == CU_RESOURCE_TYPE_ARRAY && pResDesc->flags == 0);
    const Array &array = checked(pResDesc->res.array.hArray);
    check_array(array, context);
    if ((array.descriptor.Flags & CUDA_ARRAY3D_SURFACE_LDST) == 0) { // the driver accepts it
        misuse("a surface of an array without CUDA_ARRAY3D_SURFACE_LDST, " + array.describe());
    }
    auto *surface = Registry::get().make<SurfaceObject>(context);
    surface->resource = *pResDesc;
    *pSurfObject = handle_of(surface);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuSurfObjectDestroy(CUsurfObject surfObject) {
    destroy<SurfaceObject>(surfObject);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuSurfObjectGetResourceDesc(OUT CUDA_RESOURCE_DESC *pResDesc,
                                            CUsurfObject surfObject) {
    require(pResDesc != nullptr);
    *pResDesc = current_object_of<SurfaceObject>(surfObject).resource;
    return CUDA_SUCCESS;
}

} // namespace sim::driver
