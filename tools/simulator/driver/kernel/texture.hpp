// Texture and surface references of modules, texture and surface objects: stored descriptions.
#pragma once

#include "engine/object.hpp"
#include "memory/kernel_memory.hpp"

#include <array>
#include <string>

struct CUmod_st;

struct CUtexref_st final : sim::Object {
    CUtexref_st(CUctx_st &owner, CUmod_st *of_module);
    static constexpr sim::Kind own_kind = sim::Kind::texture_reference;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    CUmod_st *module; // the module it belongs to; null: made by cuTexRefCreate
    CUarray array = nullptr;
    CUmipmappedArray mipmapped = nullptr;
    CUdeviceptr address = 0;
    CUarray_format format = CU_AD_FORMAT_UNSIGNED_INT8;
    int channels = 1;
    std::array<CUaddress_mode, 3> address_modes{CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP,
                                                CU_TR_ADDRESS_MODE_CLAMP};
    CUfilter_mode filter = CU_TR_FILTER_MODE_POINT, mipmap_filter = CU_TR_FILTER_MODE_POINT;
    float bias = 0, min_clamp = 0, max_clamp = 0;
    unsigned int anisotropy = 0;
    std::array<float, 4> border{};
    unsigned int flags = 0;
};

struct CUsurfref_st final : sim::Object {
    CUsurfref_st(CUctx_st &owner, CUmod_st *of_module);
    static constexpr sim::Kind own_kind = sim::Kind::surface_reference;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    CUmod_st *module;
    CUarray array = nullptr;
};

namespace sim {

using TextureReference = CUtexref_st;
using SurfaceReference = CUsurfref_st;

// 64-bit object handles are their addresses.
struct TextureObject final : Object {
    explicit TextureObject(CUctx_st &owner);
    static constexpr Kind own_kind = Kind::texture;
    static bool is(Kind kind) noexcept { return kind == own_kind; }

    CUDA_RESOURCE_DESC resource{};
    CUDA_TEXTURE_DESC texture{};
    CUDA_RESOURCE_VIEW_DESC view{}; // zeros: none
};
struct SurfaceObject final : Object {
    explicit SurfaceObject(CUctx_st &owner);
    static constexpr Kind own_kind = Kind::surface;
    static bool is(Kind kind) noexcept { return kind == own_kind; }

    CUDA_RESOURCE_DESC resource{};
};

// Called when a kernel runs. Records a misuse for every argument that is a texture or surface
// object whose array or memory has ended.
void check_textures(const KernelArguments &arguments, const std::string &kernel);

// Bytes of an element, if linear memory of that format is supported.
std::size_t linear_element(CUarray_format format, unsigned int channels);
// The maximum number of elements of this size in a texture of linear memory.
std::size_t most_linear_elements(CUdevice device, std::size_t element);

template <class T>
CUresult give(T *output, const T &value) {
    require(output != nullptr);
    *output = value;
    return CUDA_SUCCESS;
}

// --- entry points, which ../forwarded.txt lists: recorded, any value is accepted

template <auto property>
CUresult set_property(CUtexref texture, auto value) {
    checked(texture).*property = value;
    return CUDA_SUCCESS;
}
template <auto property, class Value>
CUresult get_property(Value *output, CUtexref texture) {
    return give(output, static_cast<Value>(checked(texture).*property));
}
// Memory or an array; fails if none is bound.
template <auto property, class Value>
CUresult get_bound(Value *output, auto reference) {
    const auto &object = checked(reference);
    require(object.*property != Value{});
    return give(output, object.*property);
}

} // namespace sim
