// Texture and surface objects, texture and surface references, tensor maps.
#include "../../record.hpp"

namespace record::QUESTIONS {

namespace {

const char references[] = R"(.version 7.0
.target sm_70
.address_size 64
.global .texref image;
.global .surfref plane;
.visible .entry empty()
{
    ret;
}
)";

CUarray new_array(unsigned int flags) {
    CUDA_ARRAY3D_DESCRIPTOR shape{
        .Width = 16, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = flags};
    CUarray array = MAKE(cuArray3DCreate, &shape);
    return array;
}

} // namespace

SECTION("textures", start) {
    const CUarray array = new_array(CUDA_ARRAY3D_SURFACE_LDST);
    CUdeviceptr p = MAKE(cuMemAlloc, 4096);
    CUDA_RESOURCE_DESC resource{}, resource_back{};
    CUDA_TEXTURE_DESC sampling{}, sampling_back{};
    CUDA_RESOURCE_VIEW_DESC view{}, view_back{};
    CUtexObject texture = 0;
    CUsurfObject surface = 0;
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    ASK(cuTexObjectCreate, "(null)", nullptr, &resource, &sampling, nullptr);
    ASK(cuTexObjectCreate, " of an array", &texture, &resource, &sampling, nullptr);
    ASK(cuTexObjectGetResourceDesc, "", &resource_back, texture);
    note("type", resource_back.resType);
    ASK(cuTexObjectGetTextureDesc, "", &sampling_back, texture);
    note("filter mode", sampling_back.filterMode);
    ASK(cuTexObjectGetResourceViewDesc, ", without a view", &view_back, texture);
    ASK(cuTexObjectDestroy, "", texture);
    view.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
    view.width = 16;
    view.height = 4;
    ASK(cuTexObjectCreate, " with a view", &texture, &resource, &sampling, &view);
    ASK(cuTexObjectGetResourceViewDesc, "", &view_back, texture).note("format", view_back.format);
    d.cuTexObjectDestroy(texture);
    view.width = 32;
    ASK(cuTexObjectCreate, " with a wider view", &texture, &resource, &sampling, &view);
    ASK(cuSurfObjectCreate, "", &surface, &resource);
    ASK(cuSurfObjectGetResourceDesc, "", &resource_back, surface);
    note("type", resource_back.resType);
    ASK(cuSurfObjectDestroy, "", surface);
    const CUarray plain = new_array(0);
    resource.res.array.hArray = plain;
    ASK(cuSurfObjectCreate, " of an array for textures", &surface, &resource);
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = p;
    resource.res.linear.format = CU_AD_FORMAT_FLOAT;
    resource.res.linear.numChannels = 1;
    resource.res.linear.sizeInBytes = 1024;
    ASK(cuTexObjectCreate, " of linear memory", &texture, &resource, &sampling, nullptr);
    ASK(cuTexObjectDestroy, "", texture);
    ASK(cuSurfObjectCreate, " of linear memory", &surface, &resource);
    resource.res.linear.devPtr = p + 4;
    ASK(cuTexObjectCreate, " of unaligned memory", &texture, &resource, &sampling, nullptr);
    resource.res.linear.devPtr = p;
    resource.res.linear.numChannels = 3;
    ASK(cuTexObjectCreate, " of 3 channels", &texture, &resource, &sampling, nullptr);
    resource.resType = static_cast<CUresourcetype>(77);
    ASK(cuTexObjectCreate, " of type 77", &texture, &resource, &sampling, nullptr);
    d.cuArrayDestroy(array);
    d.cuArrayDestroy(plain);
    d.cuMemFree(p);
}

SECTION("texture_references", start) {
    const CUarray array = new_array(CUDA_ARRAY3D_SURFACE_LDST);
    CUdeviceptr back = 0;
    CUdeviceptr p = MAKE(cuMemAlloc, 4096);
    CUtexref reference = nullptr;
    std::size_t offset = 77;
    ASK(cuTexRefCreate, "", &reference);
    ASK(cuTexRefSetFormat, "", reference, CU_AD_FORMAT_FLOAT, 1);
    ASK(cuTexRefSetFormat, ", 3 components", reference, CU_AD_FORMAT_FLOAT, 3);
    ASK(cuTexRefSetAddress, "", &offset, reference, p, 1024).note("offset", offset);
    ASK(cuTexRefGetAddress, "", &back, reference).note("the same address", back == p);
    ASK(cuTexRefSetAddress, " unaligned", &offset, reference, p + 4, 1024);
    CUDA_ARRAY_DESCRIPTOR rows{
        .Width = 16, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    ASK(cuTexRefSetAddress2D_v2, "", reference, &rows, p, 512);
    ASK(cuTexRefSetAddress2D, "", reference, &rows, p, 512);
    ASK(cuTexRefSetAddress2D, " pitch 30", reference, &rows, p, 30);
    ASK(cuTexRefSetAddressMode, "", reference, 0, CU_TR_ADDRESS_MODE_CLAMP);
    ASK(cuTexRefSetAddressMode, ", dimension 7", reference, 7, CU_TR_ADDRESS_MODE_CLAMP);
    ASK(cuTexRefSetFilterMode, "", reference, CU_TR_FILTER_MODE_LINEAR);
    ASK(cuTexRefSetFilterMode, " 77", reference, static_cast<CUfilter_mode>(77));
    ASK(cuTexRefSetMipmapFilterMode, "", reference, CU_TR_FILTER_MODE_LINEAR);
    ASK(cuTexRefSetMipmapLevelBias, "", reference, 1.5f);
    ASK(cuTexRefSetMipmapLevelClamp, "", reference, 0.5f, 2.5f);
    ASK(cuTexRefSetMaxAnisotropy, "", reference, 4);
    float color[4] = {0.25f, 0.5f, 0.75f, 1};
    ASK(cuTexRefSetBorderColor, "", reference, color);
    ASK(cuTexRefSetFlags, "", reference, CU_TRSF_NORMALIZED_COORDINATES);
    CUaddress_mode address_mode{};
    CUfilter_mode filter_mode{};
    CUarray_format format{};
    int number = 0;
    unsigned int flags = 0;
    float low = 0, high = 0;
    ASK(cuTexRefGetAddressMode, "", &address_mode, reference, 0).note("mode", address_mode);
    ASK(cuTexRefGetFilterMode, "", &filter_mode, reference).note("mode", filter_mode);
    ASK(cuTexRefGetFormat, "", &format, &number, reference).note("format", format);
    note("channels", number);
    ASK(cuTexRefGetMipmapFilterMode, "", &filter_mode, reference).note("mode", filter_mode);
    ASK(cuTexRefGetMipmapLevelBias, "", &low, reference).note("bias, times 100", low * 100);
    ASK(cuTexRefGetMipmapLevelClamp, "", &low, &high, reference).note("low, times 100", low * 100);
    note("high, times 100", high * 100);
    ASK(cuTexRefGetMaxAnisotropy, "", &number, reference).note("anisotropy", number);
    ASK(cuTexRefGetBorderColor, "", color, reference).note("red, times 100", color[0] * 100);
    ASK(cuTexRefGetFlags, "", &flags, reference).note("flags", flags);
    CUarray array_back = nullptr;
    CUmipmappedArray mipmapped_back = nullptr;
    ASK(cuTexRefGetArray, " without one", &array_back, reference);
    ASK(cuTexRefSetArray, "", reference, array, CU_TRSA_OVERRIDE_FORMAT);
    ASK(cuTexRefSetArray, " flags 0", reference, array, 0);
    ASK(cuTexRefGetArray, "", &array_back, reference).note("the same array", array_back == array);
    CUDA_ARRAY3D_DESCRIPTOR levels{
        .Width = 16, .Height = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUmipmappedArray mipmapped = MAKE(cuMipmappedArrayCreate, &levels, 3);
    ASK(cuTexRefGetMipmappedArray, " without one", &mipmapped_back, reference);
    ASK(cuTexRefSetMipmappedArray, "", reference, mipmapped, CU_TRSA_OVERRIDE_FORMAT);
    ASK(cuTexRefGetMipmappedArray, "", &mipmapped_back, reference);
    note("the same mipmapped array", mipmapped_back == mipmapped);
    ASK(cuTexRefDestroy, "", reference);
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUsurfref surface = nullptr;
    const CUresult loaded = d.cuModuleLoadData(&module, references);
    ask("cuModuleLoadData with references", loaded);
    if (loaded == CUDA_SUCCESS) {
        d.cuModuleGetFunction(&function, module, "empty");
        ASK(cuModuleGetTexRef, "", &reference, module, "image");
        ASK(cuParamSetTexRef, "", function, CU_PARAM_TR_DEFAULT, reference);
        ASK(cuModuleGetTexRef, "(missing)", &reference, module, "nothing");
        ASK(cuModuleGetSurfRef, "", &surface, module, "plane");
        ASK(cuSurfRefSetArray, "", surface, array, 0);
        ASK(cuSurfRefGetArray, "", &array_back, surface);
        note("the same array", array_back == array);
        ASK(cuModuleGetSurfRef, "(missing)", &surface, module, "nothing");
        d.cuModuleUnload(module);
    }
    d.cuMipmappedArrayDestroy(mipmapped);
    d.cuArrayDestroy(array);
    d.cuMemFree(p);
}

SECTION("tensor_maps", start) {
    CUdeviceptr p = MAKE(cuMemAlloc, 1 << 20);
    void *address = reinterpret_cast<void *>(p);
    CUtensorMap map{};
    const cuuint64_t sizes[] = {64, 64}, strides[] = {256}, wide[] = {64, 8, 8, 4},
                     wide_strides[] = {256, 2048, 16384};
    const cuuint32_t box[] = {16, 16}, steps[] = {1, 1, 1, 1}, big[] = {512, 16};
    const int lower[] = {0, 0}, upper[] = {0, 0};
    const auto tiled = [&](const char *what, CUtensorMapDataType type, cuuint32_t rank, void *at,
                           const cuuint64_t *apart, const cuuint32_t *of) {
        ask(what, d.cuTensorMapEncodeTiled(
                      &map, type, rank, at, sizes, apart, of, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                      CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    };
    const cuuint64_t odd[] = {250};
    tiled("cuTensorMapEncodeTiled", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, address, strides, box);
    ASK(cuTensorMapReplaceAddress, "", &map, reinterpret_cast<void *>(p + 4096));
    ASK(cuTensorMapReplaceAddress, " unaligned", &map, reinterpret_cast<void *>(p + 4));
    tiled("cuTensorMapEncodeTiled rank 0", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 0, address, strides,
          box);
    tiled("cuTensorMapEncodeTiled rank 6", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 6, address, strides,
          box);
    tiled("cuTensorMapEncodeTiled type 77", static_cast<CUtensorMapDataType>(77), 2, address,
          strides, box);
    tiled("cuTensorMapEncodeTiled unaligned", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2,
          reinterpret_cast<void *>(p + 4), strides, box);
    tiled("cuTensorMapEncodeTiled stride 250", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, address, odd,
          box);
    tiled("cuTensorMapEncodeTiled box of 512", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, address, strides,
          big);
    const auto columns = [&](const char *what, cuuint32_t rank, cuuint32_t channels) {
        ask(what, d.cuTensorMapEncodeIm2col(
                      &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, rank, address, wide, wide_strides,
                      lower, upper, channels, 16, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                      CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    };
    columns("cuTensorMapEncodeIm2col", 4, 16);
    columns("cuTensorMapEncodeIm2col rank 2", 2, 16);
    columns("cuTensorMapEncodeIm2col 512 channels", 4, 512);
    d.cuMemFree(p);
}

} // namespace record::QUESTIONS
