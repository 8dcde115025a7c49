// Texture and surface objects and references: resources, properties, lifetime.
#include "launch_tools.hpp"

using namespace sim_test;

namespace {

CUDA_ARRAY3D_DESCRIPTOR shape(unsigned int flags = 0) {
    return {64, 32, 0, CU_AD_FORMAT_FLOAT, 1, flags};
}

CUDA_RESOURCE_DESC linear(CUdeviceptr address, std::size_t size) {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear = {address, CU_AD_FORMAT_FLOAT, 2, size};
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
    const CUresult status = driver().cuTexObjectCreate(&object, &resource, &texture, view);
    if (status == CUDA_SUCCESS) {
        ok(driver().cuTexObjectDestroy(object));
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
    CHECK(got(driver().cuTexObjectCreate(&object, &resource, &texture, nullptr), object) != 0);
    CUDA_RESOURCE_DESC its_resource{};
    CUDA_TEXTURE_DESC its_texture{};
    CUDA_RESOURCE_VIEW_DESC its_view{};
    ok(driver().cuTexObjectGetResourceDesc(&its_resource, object));
    CHECK(std::memcmp(&its_resource, &resource, sizeof resource) == 0);
    ok(driver().cuTexObjectGetTextureDesc(&its_texture, object));
    CHECK(std::memcmp(&its_texture, &texture, sizeof texture) == 0);
    its_view.width = 77;
    ok(driver().cuTexObjectGetResourceViewDesc(&its_view, object)); // created without a view
    CHECK(its_view.width == 0);
    CHECK(leaks().size() == 2);
    ok(driver().cuTexObjectDestroy(object));
    check_misuse(driver().cuTexObjectGetTextureDesc(&its_texture, object), invalid,
                 "use of a destroyed texture object");
    check_misuse(driver().cuTexObjectDestroy(object), CUDA_SUCCESS,
                 "use of a destroyed texture object");
    ok(driver().cuTexObjectDestroy(0));
}

TEST_CASE("a kernel that runs with a texture or surface whose resource has ended is reported") {
    const LoadedModule module("cushim-sim-image 1\nkernel sample params=8\n");
    const CUfunction sample = module.function("sample");
    const CUDA_ARRAY3D_DESCRIPTOR described = shape(CUDA_ARRAY3D_SURFACE_LDST);
    CUarray array = nullptr;
    require_ok(driver().cuArray3DCreate(&array, &described));
    const CUdeviceptr memory = allocate(4096);
    const CUDA_TEXTURE_DESC description{};
    const CUDA_RESOURCE_DESC in_array = of_array(array), in_memory = linear(memory, 4096);
    CUtexObject texture = 0, buffer = 0;
    CUsurfObject surface = 0;
    require_ok(driver().cuTexObjectCreate(&texture, &in_array, &description, nullptr));
    require_ok(driver().cuTexObjectCreate(&buffer, &in_memory, &description, nullptr));
    require_ok(driver().cuSurfObjectCreate(&surface, &in_array));
    const auto launch_all = [&] {
        for (const unsigned long long object : {texture, buffer, surface}) {
            ok(launch_with_pointer(sample, object));
        }
        ok(driver().cuCtxSynchronize());
    };
    launch_all();
    CHECK(misuses().empty());
    ok(driver().cuArrayDestroy(array));
    release(memory);
    launch_all();
    for (const char *lines : {"kernel sample runs with a texture object", "whose memory was freed",
                              "kernel sample runs with a surface object"}) {
        expect_misuse(lines);
    }
    CHECK(misuses().size() == 3);
    ok(driver().cuTexObjectDestroy(texture));
    ok(driver().cuTexObjectDestroy(buffer));
    ok(driver().cuSurfObjectDestroy(surface));
}

TEST_CASE("invalid textures are rejected") {
    using Resource = CUDA_RESOURCE_DESC;
    using Texture = CUDA_TEXTURE_DESC;
    const DeviceMemory memory(4096);
    const auto of_linear = [&](CUdeviceptr offset, std::size_t size) {
        return texture_status(linear(memory + offset, size));
    };
    ok(of_linear(0, 4096));
    check_all(invalid, {of_linear(0, 4097), of_linear(0, 0), of_linear(0, ~std::size_t(0)),
                        of_linear(4, 64), texture_status(linear(0, 64))});
    const auto with_resource = [](const Resource &resource) { return texture_status(resource); };
    check_changes(
        linear(memory, 4096), with_resource,
        {{"format", [](Resource &bad) { bad.res.linear.format = static_cast<CUarray_format>(0); }},
         {"flags", [](Resource &bad) { bad.flags = 1; }}});
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
                  {{"nothing", [](Resource &) {}, CUDA_SUCCESS},
                   {"height", [](Resource &bad) { bad.res.pitch2D.height = 17; }},
                   {"width", [](Resource &bad) { bad.res.pitch2D.width = 65; }},
                   {"pitch", [](Resource &bad) {
                        bad.res.pitch2D.width = 32;
                        bad.res.pitch2D.pitchInBytes = 129;
                    }}});
    const CUDA_RESOURCE_VIEW_DESC view{};
    CHECK(texture_status(linear(memory, 64), {}, &view) == invalid);
}

TEST_CASE("textures and surfaces can use arrays") {
    CUDA_RESOURCE_DESC resource{};
    CUsurfObject surface = 0;
    {
        const Array array(shape(CUDA_ARRAY3D_SURFACE_LDST)), plain(shape());
        resource = of_array(array);
        CUDA_RESOURCE_VIEW_DESC view{}, its_view{};
        view.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
        view.width = 64;
        view.height = 32;
        CUtexObject texture = 0;
        const CUDA_TEXTURE_DESC description{};
        require_ok(driver().cuTexObjectCreate(&texture, &resource, &description, &view));
        CHECK(got(driver().cuTexObjectGetResourceViewDesc(&its_view, texture), its_view).width ==
              64);
        ok(driver().cuTexObjectDestroy(texture));
        view.width = 128;
        CHECK(texture_status(resource, {}, &view) == invalid);
        view.width = 4 * 64;
        view.height = 4 * 32;
        CHECK(texture_status(resource, {}, &view) == invalid);
        view.format = CU_RES_VIEW_FORMAT_UNSIGNED_BC1;
        ok(texture_status(resource, {}, &view));
        require_ok(driver().cuSurfObjectCreate(&surface, &resource));
        CHECK(got<CUDA_RESOURCE_DESC>(&Driver::cuSurfObjectGetResourceDesc, out, surface)
                  .res.array.hArray == array.get());
        // A surface is not a texture.
        check_misuse(driver().cuTexObjectDestroy(surface), CUDA_SUCCESS,
                     "a texture object handle was expected");
        ok(driver().cuSurfObjectDestroy(surface));
        check_misuse(driver().cuSurfObjectDestroy(surface), CUDA_SUCCESS,
                     "use of a destroyed surface object");
        ok(driver().cuSurfObjectDestroy(0));
        resource = of_array(plain);
        ok(driver().cuSurfObjectCreate(&surface, &resource));
        expect_misuse("a surface of an array without CUDA_ARRAY3D_SURFACE_LDST");
        ok(driver().cuSurfObjectDestroy(surface));
    }
    check_misuse(driver().cuSurfObjectCreate(&surface, &resource), CUDA_ERROR_INVALID_HANDLE,
                 "use of a destroyed array");
    CHECK(texture_status(resource) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("use of a destroyed array");
    CHECK(texture_status(of_array(nullptr)) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("a texture reference is bound to memory and ends with its module") {
    const LoadedModule module;
    const DeviceMemory memory(4096);
    CUtexref texture = nullptr, own = nullptr;
    require_ok(driver().cuModuleGetTexRef(&texture, module, "image"));
    CUdeviceptr address = 0;
    CHECK(driver().cuTexRefGetAddress(&address, texture) == invalid);
    std::size_t offset = 77;
    CHECK(got(driver().cuTexRefSetAddress(&offset, texture, memory + 16, 64), offset) == 16);
    CHECK(got(driver().cuTexRefGetAddress(&address, texture), address) == memory);
    CHECK(driver().cuTexRefSetAddress(nullptr, texture, memory + 16, 64) == invalid);
    CHECK(driver().cuTexRefSetAddress(&offset, texture, memory, 4097) == invalid);
    const Array array(shape());
    CHECK(driver().cuTexRefSetArray(texture, array, 2) == invalid);
    CUaddress_mode mode{};
    CHECK(driver().cuTexRefGetAddressMode(&mode, texture, 3) == invalid);
    CHECK(driver().cuTexRefDestroy(texture) == invalid); // the module owns it
    ok(driver().cuTexRefDestroy(got(driver().cuTexRefCreate(&own), own)));
    check_misuse(driver().cuTexRefDestroy(own), CUDA_ERROR_INVALID_HANDLE,
                 "use of a destroyed texture reference");
}
