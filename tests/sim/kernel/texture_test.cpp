// Texture and surface objects and references: resources, properties, lifetime.
#include "images.hpp"

using namespace sim_test;

namespace {

CUarray make_array(unsigned int flags) {
    const CUDA_ARRAY3D_DESCRIPTOR descriptor{
        .Width = 64, .Height = 32, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = flags};
    CUarray array = nullptr;
    REQUIRE(d.cuArray3DCreate(&array, &descriptor) == good);
    return array;
}
void destroy_array(CUarray array) {
    CHECK(d.cuArrayDestroy(array) == good);
}
struct Array : Owned<CUarray, destroy_array> {
    explicit Array(unsigned int flags = 0) : Owned(make_array(flags)) {}
};

CUDA_RESOURCE_DESC linear(CUdeviceptr address, std::size_t size) {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = address;
    resource.res.linear.format = CU_AD_FORMAT_FLOAT;
    resource.res.linear.numChannels = 2;
    resource.res.linear.sizeInBytes = size;
    return resource;
}

CUDA_RESOURCE_DESC of_array(CUarray array) {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    return resource;
}

CUresult texture_status(const CUDA_RESOURCE_DESC &resource, const CUDA_TEXTURE_DESC &texture = {},
                        const CUDA_RESOURCE_VIEW_DESC *view = nullptr) {
    CUtexObject object = 0;
    const CUresult status = d.cuTexObjectCreate(&object, &resource, &texture, view);
    if (status == good) {
        CHECK(d.cuTexObjectDestroy(object) == good);
    }
    return status;
}

} // namespace

TEST_CASE("a texture object reports its resource and description") {
    const DeviceMemory memory(4096);
    const CUDA_RESOURCE_DESC resource = linear(memory, 4096);
    CUDA_TEXTURE_DESC texture{};
    texture.addressMode[0] = CU_TR_ADDRESS_MODE_MIRROR;
    texture.filterMode = CU_TR_FILTER_MODE_LINEAR;
    texture.flags = CU_TRSF_NORMALIZED_COORDINATES;
    texture.borderColor[3] = 0.5F;
    CUtexObject object = 0;
    CHECK(got(d.cuTexObjectCreate(&object, &resource, &texture, nullptr), object) != 0);
    CUDA_RESOURCE_DESC its_resource{};
    CUDA_TEXTURE_DESC its_texture{};
    CUDA_RESOURCE_VIEW_DESC its_view{};
    CHECK(d.cuTexObjectGetResourceDesc(&its_resource, object) == good);
    CHECK(std::memcmp(&its_resource, &resource, sizeof resource) == 0);
    CHECK(d.cuTexObjectGetTextureDesc(&its_texture, object) == good);
    CHECK(std::memcmp(&its_texture, &texture, sizeof texture) == 0);
    its_view.width = 77;
    CHECK(d.cuTexObjectGetResourceViewDesc(&its_view, object) == good); // created without a view
    CHECK(its_view.width == 0);
    CHECK(d.cuTexObjectGetResourceDesc(nullptr, object) == invalid);
    CHECK(leaks().size() == 2);
    CHECK(d.cuTexObjectDestroy(object) == good);
    check_misuse(d.cuTexObjectGetTextureDesc(&its_texture, object), invalid,
                 "use of a destroyed texture object");
    check_misuse(d.cuTexObjectDestroy(object), invalid, "use of a destroyed texture object");
    CHECK(d.cuTexObjectDestroy(0) == good);
}

TEST_CASE("invalid textures are rejected") {
    using Resource = CUDA_RESOURCE_DESC;
    using Texture = CUDA_TEXTURE_DESC;
    const DeviceMemory memory(4096);
    const auto of_linear = [&](CUdeviceptr offset, std::size_t size) {
        return texture_status(linear(memory + offset, size));
    };
    CHECK(of_linear(0, 4096) == good);
    check_all(invalid, {of_linear(0, 4097), of_linear(0, 0), of_linear(0, ~std::size_t(0)),
                        of_linear(4, 64), texture_status(linear(0, 64))});
    const auto with_resource = [](const Resource &resource) { return texture_status(resource); };
    check_changes(
        linear(memory, 4096), with_resource,
        {{"channels", [](Resource &bad) { bad.res.linear.numChannels = 3; }},
         {"format", [](Resource &bad) { bad.res.linear.format = static_cast<CUarray_format>(0); }},
         {"flags", [](Resource &bad) { bad.flags = 1; }},
         {"type", [](Resource &bad) { bad.resType = static_cast<CUresourcetype>(9); }}});
    check_changes(
        Texture{},
        [&](const Texture &texture) { return texture_status(linear(memory, 64), texture); },
        {{"address mode",
          [](Texture &bad) { bad.addressMode[2] = static_cast<CUaddress_mode>(4); }},
         {"filter mode", [](Texture &bad) { bad.filterMode = static_cast<CUfilter_mode>(2); }},
         {"flags", [](Texture &bad) { bad.flags = 1U << 31; }}});
    Resource pitched{};
    pitched.resType = CU_RESOURCE_TYPE_PITCH2D;
    pitched.res.pitch2D = {memory, CU_AD_FORMAT_UNSIGNED_INT8, 4, 64, 16, 256};
    check_changes(pitched, with_resource,
                  {{"nothing", [](Resource &) {}, good},
                   {"height", [](Resource &bad) { bad.res.pitch2D.height = 17; }},
                   {"width", [](Resource &bad) { bad.res.pitch2D.width = 65; }},
                   {"pitch", [](Resource &bad) {
                        bad.res.pitch2D.width = 32;
                        bad.res.pitch2D.pitchInBytes = 129;
                    }}});
    CUDA_RESOURCE_VIEW_DESC view{};
    const Texture texture{};
    CUtexObject object = 0;
    check_all(invalid, {texture_status(linear(memory, 64), {}, &view),
                        d.cuTexObjectCreate(&object, nullptr, &texture, nullptr),
                        d.cuTexObjectCreate(nullptr, &pitched, &texture, nullptr)});
    pop_current();
    CHECK(of_linear(0, 64) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("textures and surfaces can use arrays") {
    CUDA_RESOURCE_DESC resource{};
    CUsurfObject surface = 0;
    {
        const Array array(CUDA_ARRAY3D_SURFACE_LDST), plain;
        resource = of_array(array);
        CUDA_RESOURCE_VIEW_DESC view{}, its_view{};
        view.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
        view.width = 64;
        view.height = 32;
        CUtexObject texture = 0;
        const CUDA_TEXTURE_DESC description{};
        REQUIRE(d.cuTexObjectCreate(&texture, &resource, &description, &view) == good);
        CHECK(got(d.cuTexObjectGetResourceViewDesc(&its_view, texture), its_view).width == 64);
        CHECK(d.cuTexObjectDestroy(texture) == good);
        view.width = 128;
        CHECK(texture_status(resource, {}, &view) == invalid);
        view.width = 4 * 64;
        view.height = 4 * 32;
        CHECK(texture_status(resource, {}, &view) == invalid);
        view.format = CU_RES_VIEW_FORMAT_UNSIGNED_BC1;
        CHECK(texture_status(resource, {}, &view) == good);
        REQUIRE(d.cuSurfObjectCreate(&surface, &resource) == good);
        CHECK(got<CUDA_RESOURCE_DESC>(&Driver::cuSurfObjectGetResourceDesc, out, surface)
                  .res.array.hArray == array.get());
        // A surface is not a texture.
        check_misuse(d.cuTexObjectDestroy(surface), invalid,
                     "a texture object handle was expected");
        CHECK(d.cuSurfObjectDestroy(surface) == good);
        check_misuse(d.cuSurfObjectDestroy(surface), invalid, "use of a destroyed surface object");
        CHECK(d.cuSurfObjectDestroy(0) == good);
        resource = of_array(plain);
        CHECK(d.cuSurfObjectCreate(&surface, &resource) == good);
        expect_misuse("a surface of an array without CUDA_ARRAY3D_SURFACE_LDST");
        CHECK(d.cuSurfObjectDestroy(surface) == good);
        const DeviceMemory memory(64);
        const CUDA_RESOURCE_DESC of_memory = linear(memory, 64);
        CHECK(d.cuSurfObjectCreate(&surface, &of_memory) == invalid);
    }
    check_misuse(d.cuSurfObjectCreate(&surface, &resource), CUDA_ERROR_INVALID_HANDLE,
                 "use of a destroyed array");
    CHECK(texture_status(resource) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("use of a destroyed array");
    CHECK(texture_status(of_array(nullptr)) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("a texture reference keeps its settings") {
    const LoadedModule module;
    const DeviceMemory memory(4096);
    CUtexref texture = nullptr;
    CHECK(d.cuModuleGetTexRef(&texture, module, "missing") == CUDA_ERROR_NOT_FOUND);
    REQUIRE(d.cuModuleGetTexRef(&texture, module, "image") == good);
    CUdeviceptr address = 0;
    CHECK(d.cuTexRefGetAddress(&address, texture) == invalid);
    std::size_t offset = 77;
    CHECK(got(d.cuTexRefSetAddress(&offset, texture, memory + 16, 64), offset) == 16);
    CHECK(got(d.cuTexRefGetAddress(&address, texture), address) == memory);
    CHECK(d.cuTexRefSetAddress(nullptr, texture, memory + 16, 64) == invalid);
    CHECK(d.cuTexRefSetAddress(&offset, texture, memory, 4097) == invalid);
    CHECK(d.cuTexRefSetFormat(texture, CU_AD_FORMAT_HALF, 4) == good);
    CUarray_format format = CU_AD_FORMAT_FLOAT;
    int channels = 0;
    CHECK(d.cuTexRefGetFormat(&format, &channels, texture) == good);
    CHECK((format == CU_AD_FORMAT_HALF && channels == 4));
    CHECK(d.cuTexRefSetFormat(texture, CU_AD_FORMAT_HALF, 3) == invalid);
    CHECK(d.cuTexRefSetAddressMode(texture, 1, CU_TR_ADDRESS_MODE_BORDER) == good);
    CUaddress_mode mode = CU_TR_ADDRESS_MODE_WRAP;
    CHECK(got(d.cuTexRefGetAddressMode(&mode, texture, 1), mode) == CU_TR_ADDRESS_MODE_BORDER);
    CHECK(d.cuTexRefGetAddressMode(&mode, texture, 3) == invalid);
    CHECK(d.cuTexRefSetAddressMode(texture, -1, CU_TR_ADDRESS_MODE_WRAP) == invalid);
    CHECK(d.cuTexRefSetFilterMode(texture, CU_TR_FILTER_MODE_LINEAR) == good);
    CHECK(got<CUfilter_mode>(&Driver::cuTexRefGetFilterMode, out, texture) ==
          CU_TR_FILTER_MODE_LINEAR);
    CHECK(d.cuTexRefSetFilterMode(texture, static_cast<CUfilter_mode>(5)) == good);
    CHECK(static_cast<int>(got<CUfilter_mode>(&Driver::cuTexRefGetFilterMode, out, texture)) == 5);
    float low = 0, high = 0;
    CHECK(d.cuTexRefSetMipmapLevelClamp(texture, 1.0F, 2.0F) == good);
    CHECK(d.cuTexRefGetMipmapLevelClamp(&low, &high, texture) == good);
    CHECK((low == 1.0F && high == 2.0F));
    float border[4] = {1, 2, 3, 4}, told[4] = {};
    CHECK(d.cuTexRefSetBorderColor(texture, border) == good);
    CHECK(d.cuTexRefGetBorderColor(told, texture) == good);
    CHECK(std::memcmp(border, told, sizeof told) == 0);
    unsigned int flags = 0;
    CHECK(d.cuTexRefSetFlags(texture, CU_TRSF_READ_AS_INTEGER) == good);
    CHECK(got(d.cuTexRefGetFlags(&flags, texture), flags) == CU_TRSF_READ_AS_INTEGER);
    CHECK(d.cuTexRefSetFlags(texture, ~0U) == invalid);
    // The module owns the reference.
    CHECK(d.cuTexRefDestroy(texture) == invalid);
    CHECK(d.cuTexRefGetFlags(&flags, nullptr) == CUDA_ERROR_INVALID_HANDLE);
    CUtexref own = nullptr;
    CHECK(d.cuTexRefDestroy(got(d.cuTexRefCreate(&own), own)) == good);
    check_misuse(d.cuTexRefDestroy(own), CUDA_ERROR_INVALID_HANDLE,
                 "use of a destroyed texture reference");
}

TEST_CASE("texture and surface references can be bound to arrays") {
    const LoadedModule module;
    CUtexref texture = nullptr;
    CUsurfref surface = nullptr;
    REQUIRE(d.cuModuleGetTexRef(&texture, module, "image") == good);
    REQUIRE(d.cuModuleGetSurfRef(&surface, module, "target") == good);
    const Array array(CUDA_ARRAY3D_SURFACE_LDST);
    CUarray bound = nullptr;
    CHECK(d.cuTexRefGetArray(&bound, texture) == invalid);
    CHECK(d.cuTexRefSetArray(texture, array, CU_TRSA_OVERRIDE_FORMAT) == good);
    CHECK(got(d.cuTexRefGetArray(&bound, texture), bound) == array.get());
    CHECK(d.cuTexRefSetArray(texture, array, 0) == good);
    CHECK(d.cuTexRefSetArray(texture, array, 2) == invalid);
    CHECK(d.cuTexRefSetArray(texture, nullptr, CU_TRSA_OVERRIDE_FORMAT) ==
          CUDA_ERROR_INVALID_HANDLE);
    CHECK(d.cuSurfRefSetArray(surface, array, 0) == good);
    CHECK(got(d.cuSurfRefGetArray(&bound, surface), bound) == array.get());
}
