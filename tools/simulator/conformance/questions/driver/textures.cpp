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
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    shape.Width = 16;
    shape.Height = 4;
    shape.Format = CU_AD_FORMAT_FLOAT;
    shape.NumChannels = 1;
    shape.Flags = flags;
    CUarray array = nullptr;
    d.cuArray3DCreate(&array, &shape);
    return array;
}

} // namespace

void textures() {
    if (!start()) {
        return;
    }
    const CUarray array = new_array(CUDA_ARRAY3D_SURFACE_LDST);
    CUdeviceptr p = 0;
    d.cuMemAlloc(&p, 4096);
    CUDA_RESOURCE_DESC resource{}, resource_back{};
    CUDA_TEXTURE_DESC sampling{}, sampling_back{};
    CUDA_RESOURCE_VIEW_DESC view{}, view_back{};
    CUtexObject texture = 0;
    CUsurfObject surface = 0;
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    ask("cuTexObjectCreate(null)", d.cuTexObjectCreate(nullptr, &resource, &sampling, nullptr));
    ask("cuTexObjectCreate of an array",
        d.cuTexObjectCreate(&texture, &resource, &sampling, nullptr));
    ask("cuTexObjectGetResourceDesc", d.cuTexObjectGetResourceDesc(&resource_back, texture));
    note("type", resource_back.resType);
    ask("cuTexObjectGetTextureDesc", d.cuTexObjectGetTextureDesc(&sampling_back, texture));
    note("filter mode", sampling_back.filterMode);
    ask("cuTexObjectGetResourceViewDesc, without a view",
        d.cuTexObjectGetResourceViewDesc(&view_back, texture));
    ask("cuTexObjectDestroy", d.cuTexObjectDestroy(texture));
    view.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
    view.width = 16;
    view.height = 4;
    ask("cuTexObjectCreate with a view",
        d.cuTexObjectCreate(&texture, &resource, &sampling, &view));
    ask("cuTexObjectGetResourceViewDesc", d.cuTexObjectGetResourceViewDesc(&view_back, texture));
    note("format", view_back.format);
    d.cuTexObjectDestroy(texture);
    view.width = 32;
    ask("cuTexObjectCreate with a wider view",
        d.cuTexObjectCreate(&texture, &resource, &sampling, &view));
    ask("cuSurfObjectCreate", d.cuSurfObjectCreate(&surface, &resource));
    ask("cuSurfObjectGetResourceDesc", d.cuSurfObjectGetResourceDesc(&resource_back, surface));
    note("type", resource_back.resType);
    ask("cuSurfObjectDestroy", d.cuSurfObjectDestroy(surface));
    const CUarray plain = new_array(0);
    resource.res.array.hArray = plain;
    ask("cuSurfObjectCreate of an array for textures", d.cuSurfObjectCreate(&surface, &resource));
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = p;
    resource.res.linear.format = CU_AD_FORMAT_FLOAT;
    resource.res.linear.numChannels = 1;
    resource.res.linear.sizeInBytes = 1024;
    ask("cuTexObjectCreate of linear memory",
        d.cuTexObjectCreate(&texture, &resource, &sampling, nullptr));
    ask("cuTexObjectDestroy", d.cuTexObjectDestroy(texture));
    ask("cuSurfObjectCreate of linear memory", d.cuSurfObjectCreate(&surface, &resource));
    resource.res.linear.devPtr = p + 4;
    ask("cuTexObjectCreate of unaligned memory",
        d.cuTexObjectCreate(&texture, &resource, &sampling, nullptr));
    resource.res.linear.devPtr = p;
    resource.res.linear.numChannels = 3;
    ask("cuTexObjectCreate of 3 channels",
        d.cuTexObjectCreate(&texture, &resource, &sampling, nullptr));
    resource.resType = static_cast<CUresourcetype>(77);
    ask("cuTexObjectCreate of type 77",
        d.cuTexObjectCreate(&texture, &resource, &sampling, nullptr));
    d.cuArrayDestroy(array);
    d.cuArrayDestroy(plain);
    d.cuMemFree(p);
}

void texture_references() {
    if (!start()) {
        return;
    }
    const CUarray array = new_array(CUDA_ARRAY3D_SURFACE_LDST);
    CUdeviceptr p = 0, back = 0;
    d.cuMemAlloc(&p, 4096);
    CUtexref reference = nullptr;
    std::size_t offset = 77;
    ask("cuTexRefCreate", d.cuTexRefCreate(&reference));
    ask("cuTexRefSetFormat", d.cuTexRefSetFormat(reference, CU_AD_FORMAT_FLOAT, 1));
    ask("cuTexRefSetFormat, 3 components", d.cuTexRefSetFormat(reference, CU_AD_FORMAT_FLOAT, 3));
    ask("cuTexRefSetAddress", d.cuTexRefSetAddress(&offset, reference, p, 1024));
    note("offset", static_cast<long long>(offset));
    ask("cuTexRefGetAddress", d.cuTexRefGetAddress(&back, reference));
    note("the same address", back == p);
    ask("cuTexRefSetAddress unaligned", d.cuTexRefSetAddress(&offset, reference, p + 4, 1024));
    CUDA_ARRAY_DESCRIPTOR rows{};
    rows.Width = 16;
    rows.Height = 4;
    rows.Format = CU_AD_FORMAT_FLOAT;
    rows.NumChannels = 1;
    ask("cuTexRefSetAddress2D_v2", d.cuTexRefSetAddress2D_v2(reference, &rows, p, 512));
    ask("cuTexRefSetAddress2D", d.cuTexRefSetAddress2D(reference, &rows, p, 512));
    ask("cuTexRefSetAddress2D pitch 30", d.cuTexRefSetAddress2D(reference, &rows, p, 30));
    ask("cuTexRefSetAddressMode", d.cuTexRefSetAddressMode(reference, 0, CU_TR_ADDRESS_MODE_CLAMP));
    ask("cuTexRefSetAddressMode, dimension 7",
        d.cuTexRefSetAddressMode(reference, 7, CU_TR_ADDRESS_MODE_CLAMP));
    ask("cuTexRefSetFilterMode", d.cuTexRefSetFilterMode(reference, CU_TR_FILTER_MODE_LINEAR));
    ask("cuTexRefSetFilterMode 77",
        d.cuTexRefSetFilterMode(reference, static_cast<CUfilter_mode>(77)));
    ask("cuTexRefSetMipmapFilterMode",
        d.cuTexRefSetMipmapFilterMode(reference, CU_TR_FILTER_MODE_LINEAR));
    ask("cuTexRefSetMipmapLevelBias", d.cuTexRefSetMipmapLevelBias(reference, 1.5f));
    ask("cuTexRefSetMipmapLevelClamp", d.cuTexRefSetMipmapLevelClamp(reference, 0.5f, 2.5f));
    ask("cuTexRefSetMaxAnisotropy", d.cuTexRefSetMaxAnisotropy(reference, 4));
    float color[4] = {0.25f, 0.5f, 0.75f, 1};
    ask("cuTexRefSetBorderColor", d.cuTexRefSetBorderColor(reference, color));
    ask("cuTexRefSetFlags", d.cuTexRefSetFlags(reference, CU_TRSF_NORMALIZED_COORDINATES));
    CUaddress_mode address_mode{};
    CUfilter_mode filter_mode{};
    CUarray_format format{};
    int number = 0;
    unsigned int flags = 0;
    float low = 0, high = 0;
    ask("cuTexRefGetAddressMode", d.cuTexRefGetAddressMode(&address_mode, reference, 0));
    note("mode", address_mode);
    ask("cuTexRefGetFilterMode", d.cuTexRefGetFilterMode(&filter_mode, reference));
    note("mode", filter_mode);
    ask("cuTexRefGetFormat", d.cuTexRefGetFormat(&format, &number, reference));
    note("format", format);
    note("channels", number);
    ask("cuTexRefGetMipmapFilterMode", d.cuTexRefGetMipmapFilterMode(&filter_mode, reference));
    note("mode", filter_mode);
    ask("cuTexRefGetMipmapLevelBias", d.cuTexRefGetMipmapLevelBias(&low, reference));
    note("bias, times 100", static_cast<long long>(low * 100));
    ask("cuTexRefGetMipmapLevelClamp", d.cuTexRefGetMipmapLevelClamp(&low, &high, reference));
    note("low, times 100", static_cast<long long>(low * 100));
    note("high, times 100", static_cast<long long>(high * 100));
    ask("cuTexRefGetMaxAnisotropy", d.cuTexRefGetMaxAnisotropy(&number, reference));
    note("anisotropy", number);
    ask("cuTexRefGetBorderColor", d.cuTexRefGetBorderColor(color, reference));
    note("red, times 100", static_cast<long long>(color[0] * 100));
    ask("cuTexRefGetFlags", d.cuTexRefGetFlags(&flags, reference));
    note("flags", flags);
    CUarray array_back = nullptr;
    CUmipmappedArray mipmapped_back = nullptr, mipmapped = nullptr;
    ask("cuTexRefGetArray without one", d.cuTexRefGetArray(&array_back, reference));
    ask("cuTexRefSetArray", d.cuTexRefSetArray(reference, array, CU_TRSA_OVERRIDE_FORMAT));
    ask("cuTexRefSetArray flags 0", d.cuTexRefSetArray(reference, array, 0));
    ask("cuTexRefGetArray", d.cuTexRefGetArray(&array_back, reference));
    note("the same array", array_back == array);
    CUDA_ARRAY3D_DESCRIPTOR levels{};
    levels.Width = levels.Height = 16;
    levels.Format = CU_AD_FORMAT_FLOAT;
    levels.NumChannels = 1;
    d.cuMipmappedArrayCreate(&mipmapped, &levels, 3);
    ask("cuTexRefGetMipmappedArray without one",
        d.cuTexRefGetMipmappedArray(&mipmapped_back, reference));
    ask("cuTexRefSetMipmappedArray",
        d.cuTexRefSetMipmappedArray(reference, mipmapped, CU_TRSA_OVERRIDE_FORMAT));
    ask("cuTexRefGetMipmappedArray", d.cuTexRefGetMipmappedArray(&mipmapped_back, reference));
    note("the same mipmapped array", mipmapped_back == mipmapped);
    ask("cuTexRefDestroy", d.cuTexRefDestroy(reference));
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUsurfref surface = nullptr;
    const CUresult loaded = d.cuModuleLoadData(&module, references);
    ask("cuModuleLoadData with references", loaded);
    if (loaded == CUDA_SUCCESS) {
        d.cuModuleGetFunction(&function, module, "empty");
        ask("cuModuleGetTexRef", d.cuModuleGetTexRef(&reference, module, "image"));
        ask("cuParamSetTexRef", d.cuParamSetTexRef(function, CU_PARAM_TR_DEFAULT, reference));
        ask("cuModuleGetTexRef(missing)", d.cuModuleGetTexRef(&reference, module, "nothing"));
        ask("cuModuleGetSurfRef", d.cuModuleGetSurfRef(&surface, module, "plane"));
        ask("cuSurfRefSetArray", d.cuSurfRefSetArray(surface, array, 0));
        ask("cuSurfRefGetArray", d.cuSurfRefGetArray(&array_back, surface));
        note("the same array", array_back == array);
        ask("cuModuleGetSurfRef(missing)", d.cuModuleGetSurfRef(&surface, module, "nothing"));
        d.cuModuleUnload(module);
    }
    d.cuMipmappedArrayDestroy(mipmapped);
    d.cuArrayDestroy(array);
    d.cuMemFree(p);
}

void tensor_maps() {
    if (!start()) {
        return;
    }
    CUdeviceptr p = 0;
    d.cuMemAlloc(&p, 1 << 20);
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
    ask("cuTensorMapReplaceAddress",
        d.cuTensorMapReplaceAddress(&map, reinterpret_cast<void *>(p + 4096)));
    ask("cuTensorMapReplaceAddress unaligned",
        d.cuTensorMapReplaceAddress(&map, reinterpret_cast<void *>(p + 4)));
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
