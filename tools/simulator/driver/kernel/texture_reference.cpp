// Texture and surface references, the legacy API: properties are stored and returned.
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/memory.hpp"
#include "kernel/module.hpp"
#include "kernel/texture.hpp"
#include "memory/array.hpp"

#include <algorithm>

CUtexref_st::CUtexref_st(CUctx_st &owner, CUmod_st *of_module)
    : Object(own_kind), module(of_module) {
    context = &owner;
    counted = of_module == nullptr;
}

CUsurfref_st::CUsurfref_st(CUctx_st &owner, CUmod_st *of_module)
    : Object(own_kind), module(of_module) {
    context = &owner;
    counted = false;
}

namespace sim {
namespace {

void unbind(TextureReference &texture) {
    texture.array = nullptr;
    texture.mipmapped = nullptr;
    texture.address = 0;
}

void check_format(CUarray_format format, int channels) {
    require(channels == 1 || channels == 2 || channels == 4);
    require(element_size(format, static_cast<unsigned int>(channels)) != 0);
}

CUdeviceptr texture_alignment(const TextureReference &texture) {
    return static_cast<CUdeviceptr>(
        attribute_or(texture.context->device, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512));
}

} // namespace
} // namespace sim

namespace sim::driver {

EXPORT CUresult cuTexRefCreate(OUT CUtexref *pTexRef) {
    require(pTexRef != nullptr);
    *pTexRef = Registry::get().make<TextureReference>(current_context(), nullptr);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexRefDestroy(CUtexref hTexRef) {
    TextureReference &texture = checked(hTexRef);
    require(texture.module == nullptr); // destroyed with its module
    Registry::get().destroy(&texture);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexRefSetArray(CUtexref hTexRef, CUarray hArray, unsigned int Flags) {
    TextureReference &texture = checked(hTexRef);
    require((Flags & ~CU_TRSA_OVERRIDE_FORMAT) == 0);
    checked(hArray);
    unbind(texture);
    texture.array = hArray;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexRefSetMipmappedArray(CUtexref hTexRef, CUmipmappedArray hMipmappedArray,
                                          unsigned int Flags) {
    TextureReference &texture = checked(hTexRef);
    require((Flags & ~CU_TRSA_OVERRIDE_FORMAT) == 0);
    checked(hMipmappedArray);
    unbind(texture);
    texture.mipmapped = hMipmappedArray;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexRefSetAddress_v2(OUT size_t *ByteOffset, CUtexref hTexRef, CUdeviceptr dptr,
                                      size_t bytes) {
    TextureReference &texture = checked(hTexRef);
    if (dptr == 0 || bytes == 0) {
        unbind(texture);
        if (ByteOffset != nullptr) {
            *ByteOffset = 0;
        }
        return CUDA_SUCCESS;
    }
    device_range(dptr, bytes, false);
    const CUdeviceptr offset = dptr % texture_alignment(texture);
    require(offset == 0 || ByteOffset != nullptr);
    unbind(texture);
    texture.address = dptr - offset;
    if (ByteOffset != nullptr) {
        *ByteOffset = static_cast<std::size_t>(offset);
    }
    return CUDA_SUCCESS;
}

namespace {

void set_address_2d(CUtexref reference, const CUDA_ARRAY_DESCRIPTOR *desc, CUdeviceptr dptr,
                    size_t pitch, bool checks_pitch) {
    TextureReference &texture = checked(reference);
    require(desc != nullptr && desc->Width != 0 && desc->Height != 0);
    check_format(desc->Format, static_cast<int>(desc->NumChannels));
    require(pitch != 0);
    unbind(texture);
    if (dptr == 0) {
        return;
    }
    const auto pitch_alignment = static_cast<std::size_t>(
        attribute_or(texture.context->device, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32));
    require(dptr % texture_alignment(texture) == 0);
    require(!checks_pitch || pitch % pitch_alignment == 0);
    device_range(dptr, checks_pitch ? pitch * desc->Height : 1, false);
    texture.address = dptr;
    texture.format = desc->Format;
    texture.channels = static_cast<int>(desc->NumChannels);
}

} // namespace

EXPORT CUresult cuTexRefSetAddress2D_v3(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc,
                                        CUdeviceptr dptr, size_t Pitch) {
    set_address_2d(hTexRef, desc, dptr, Pitch, true);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexRefSetAddress2D_v2(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc,
                                        CUdeviceptr dptr, size_t Pitch) {
    set_address_2d(hTexRef, desc, dptr, Pitch, false);
    return CUDA_SUCCESS;
}

// Recorded: neither the format nor an address mode is checked, and of the numbers of components
// only this one.
EXPORT CUresult cuTexRefSetFormat(CUtexref hTexRef, CUarray_format fmt, int NumPackedComponents) {
    TextureReference &texture = checked(hTexRef);
    require(NumPackedComponents != 3);
    texture.format = fmt;
    texture.channels = NumPackedComponents;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexRefSetAddressMode(CUtexref hTexRef, int dim, CUaddress_mode am) {
    TextureReference &texture = checked(hTexRef);
    require(dim >= 0 && dim < 3);
    texture.address_modes[static_cast<std::size_t>(dim)] = am;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexRefSetMipmapFilterMode(CUtexref hTexRef, CUfilter_mode fm) {
    TextureReference &texture = checked(hTexRef);
    require(fm == CU_TR_FILTER_MODE_POINT || fm == CU_TR_FILTER_MODE_LINEAR);
    texture.mipmap_filter = fm;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexRefSetMipmapLevelClamp(CUtexref hTexRef, float minMipmapLevelClamp,
                                            float maxMipmapLevelClamp) {
    TextureReference &texture = checked(hTexRef);
    texture.min_clamp = minMipmapLevelClamp;
    texture.max_clamp = maxMipmapLevelClamp;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexRefSetBorderColor(CUtexref hTexRef, float *pBorderColor) {
    TextureReference &texture = checked(hTexRef);
    require(pBorderColor != nullptr);
    std::copy_n(pBorderColor, texture.border.size(), texture.border.begin());
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexRefSetFlags(CUtexref hTexRef, unsigned int Flags) {
    constexpr unsigned int known = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES |
                                   CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
    TextureReference &texture = checked(hTexRef);
    require((Flags & ~known) == 0);
    texture.flags = Flags;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexRefGetAddress_v2(OUT CUdeviceptr *pdptr, CUtexref hTexRef) {
    const TextureReference &texture = checked(hTexRef);
    require(texture.address != 0);
    if (pdptr != nullptr) { // recorded: it may be null
        *pdptr = texture.address;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexRefGetAddressMode(OUT CUaddress_mode *pam, CUtexref hTexRef, int dim) {
    const TextureReference &texture = checked(hTexRef);
    require(dim >= 0 && dim < 3);
    return give(pam, texture.address_modes[static_cast<std::size_t>(dim)]);
}

EXPORT CUresult cuTexRefGetFormat(OUT CUarray_format *pFormat, OUT int *pNumChannels,
                                  CUtexref hTexRef) {
    const TextureReference &texture = checked(hTexRef);
    require(pFormat != nullptr || pNumChannels != nullptr);
    if (pFormat != nullptr) {
        *pFormat = texture.format;
    }
    if (pNumChannels != nullptr) {
        *pNumChannels = texture.channels;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexRefGetMipmapLevelClamp(OUT float *pminMipmapLevelClamp,
                                            OUT float *pmaxMipmapLevelClamp, CUtexref hTexRef) {
    const TextureReference &texture = checked(hTexRef);
    require(pminMipmapLevelClamp != nullptr && pmaxMipmapLevelClamp != nullptr);
    *pminMipmapLevelClamp = texture.min_clamp;
    *pmaxMipmapLevelClamp = texture.max_clamp;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTexRefGetBorderColor(float *pBorderColor, CUtexref hTexRef) {
    const TextureReference &texture = checked(hTexRef);
    require(pBorderColor != nullptr);
    std::copy(texture.border.begin(), texture.border.end(), pBorderColor);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuSurfRefSetArray(CUsurfref hSurfRef, CUarray hArray, unsigned int Flags) {
    SurfaceReference &surface = checked(hSurfRef);
    require(Flags == 0);
    checked(hArray);
    surface.array = hArray;
    return CUDA_SUCCESS;
}

} // namespace sim::driver
