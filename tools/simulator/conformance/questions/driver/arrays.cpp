// Arrays and mipmapped arrays, copies from and to them.
#include "../../record.hpp"

#include <vector>

namespace record::QUESTIONS {

namespace {

CUDA_ARRAY3D_DESCRIPTOR shape_of(std::size_t width, std::size_t height, std::size_t depth,
                                 unsigned int flags = 0) {
    CUDA_ARRAY3D_DESCRIPTOR shape{.Width = width,
                                  .Height = height,
                                  .Depth = depth,
                                  .Format = CU_AD_FORMAT_FLOAT,
                                  .NumChannels = 1,
                                  .Flags = flags};
    return shape;
}

void create(const char *what, const CUDA_ARRAY3D_DESCRIPTOR &shape) {
    CUarray array = nullptr;
    const CUresult status = d.cuArray3DCreate(&array, &shape);
    ask(what, status);
    if (status == CUDA_SUCCESS) {
        CUDA_ARRAY3D_DESCRIPTOR back{};
        ASK(cuArray3DGetDescriptor, "", &back, array).note("width", back.Width);
        note("height", back.Height);
        note("depth", back.Depth);
        note("flags", back.Flags);
        ASK(cuArrayDestroy, "", array);
    }
}

void mipmapped(const char *what, const CUDA_ARRAY3D_DESCRIPTOR &shape, unsigned int levels) {
    CUmipmappedArray all = nullptr;
    const CUresult status = d.cuMipmappedArrayCreate(&all, &shape, levels);
    ask(what, status);
    if (status == CUDA_SUCCESS) {
        CUarray level = nullptr;
        ASK(cuMipmappedArrayGetLevel, " 0", &level, all, 0);
        ASK(cuMipmappedArrayGetLevel, " 2", &level, all, 2);
        ASK(cuMipmappedArrayGetLevel, " 99", &level, all, 99);
        CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
        ASK(cuMipmappedArrayGetMemoryRequirements, "", &needs, all, 0);
        CUDA_ARRAY_SPARSE_PROPERTIES sparse{};
        ASK(cuMipmappedArrayGetSparseProperties, "", &sparse, all);
        ASK(cuMipmappedArrayDestroy, "", all);
    }
}

} // namespace

SECTION_ONCE("arrays", start) {
    create("cuArray3DCreate 16", shape_of(16, 0, 0));
    create("cuArray3DCreate 16 x 4", shape_of(16, 4, 0));
    create("cuArray3DCreate 16 x 4 x 2", shape_of(16, 4, 2));
    create("cuArray3DCreate 16 x 0 x 2", shape_of(16, 0, 2));
    create("cuArray3DCreate width 0", shape_of(0, 4, 2));
    create("cuArray3DCreate layered", shape_of(16, 4, 3, CUDA_ARRAY3D_LAYERED));
    create("cuArray3DCreate layered, of no layer", shape_of(16, 4, 0, CUDA_ARRAY3D_LAYERED));
    create("cuArray3DCreate cube", shape_of(16, 16, 6, CUDA_ARRAY3D_CUBEMAP));
    create("cuArray3DCreate cube of 5 faces", shape_of(16, 16, 5, CUDA_ARRAY3D_CUBEMAP));
    create("cuArray3DCreate cube, not square", shape_of(16, 8, 6, CUDA_ARRAY3D_CUBEMAP));
    create("cuArray3DCreate for surfaces", shape_of(16, 4, 0, CUDA_ARRAY3D_SURFACE_LDST));
    create("cuArray3DCreate flags 0x800000", shape_of(16, 4, 0, 0x800000));
    create("cuArray3DCreate too wide", shape_of(1u << 30, 4, 0));
    const auto shape = shape_of(16, 4, 0);
    ASK(cuArray3DCreate, "(null)", nullptr, &shape);
    CUarray plane = nullptr;
    CUarray array = MAKE(cuArray3DCreate, &shape);
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
    CUDA_ARRAY_SPARSE_PROPERTIES sparse{};
    ASK(cuArrayGetPlane, " 0 of one channel", &plane, array, 0);
    ASK(cuArrayGetMemoryRequirements, "", &needs, array, 0);
    ASK(cuArrayGetMemoryRequirements, " dev 99", &needs, array, 99);
    ASK(cuArrayGetSparseProperties, "", &sparse, array);
    ASK(cuArrayDestroy, "", array);
    const auto deferred = shape_of(16, 4, 0, CUDA_ARRAY3D_DEFERRED_MAPPING);
    CUresult created = d.cuArray3DCreate(&array, &deferred);
    ask("cuArray3DCreate, mapped later", created);
    if (created == CUDA_SUCCESS) {
        ASK(cuArrayGetMemoryRequirements, "", &needs, array, 0);
        ASK(cuArrayDestroy, "", array);
    }
    const auto tiled = shape_of(1024, 1024, 0, CUDA_ARRAY3D_SPARSE);
    created = d.cuArray3DCreate(&array, &tiled);
    ask("cuArray3DCreate, sparse", created);
    if (created == CUDA_SUCCESS) {
        ASK(cuArrayGetSparseProperties, ", sparse", &sparse, array);
        note("tile width", sparse.tileExtent.width);
        note("tile height", sparse.tileExtent.height);
        ASK(cuArrayDestroy, "", array);
    }
    auto planar = shape_of(64, 64, 0);
    planar.Format = CU_AD_FORMAT_NV12;
    planar.NumChannels = 3;
    created = d.cuArray3DCreate(&array, &planar);
    ask("cuArray3DCreate of NV12", created);
    if (created == CUDA_SUCCESS) {
        ASK(cuArrayGetPlane, " 0 of NV12", &plane, array, 0);
        ASK(cuArrayGetPlane, " 1 of NV12", &plane, array, 1);
        ASK(cuArrayGetPlane, " 2 of NV12", &plane, array, 2);
        ASK(cuArrayDestroy, "", array);
    }
    mipmapped("cuMipmappedArrayCreate 3 levels", shape_of(16, 16, 0), 3);
    mipmapped("cuMipmappedArrayCreate 0 levels", shape_of(16, 16, 0), 0);
    mipmapped("cuMipmappedArrayCreate 99 levels", shape_of(16, 16, 0), 99);
    mipmapped("cuMipmappedArrayCreate width 0", shape_of(0, 16, 0), 3);
    mipmapped("cuMipmappedArrayCreate, mapped later",
              shape_of(16, 16, 0, CUDA_ARRAY3D_DEFERRED_MAPPING), 3);
    mipmapped("cuMipmappedArrayCreate, sparse", shape_of(1024, 1024, 0, CUDA_ARRAY3D_SPARSE), 3);
}

SECTION("array_copies", start) {
    constexpr std::size_t bytes = 64;
    CUDA_ARRAY_DESCRIPTOR line{.Width = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUarray array = MAKE(cuArrayCreate, &line);
    CUarray second = MAKE(cuArrayCreate, &line);
    CUdeviceptr p = MAKE(cuMemAlloc, 4096);
    CUstream s = MAKE(cuStreamCreate, 0);
    void *pinned = MAKE(cuMemHostAlloc, 4096, 0);
    std::vector<unsigned char> host(4096);
    ASK(cuMemcpyHtoA, "", array, 0, host.data(), bytes);
    ASK(cuMemcpyHtoA, " past the end", array, 4, host.data(), bytes);
    ASK(cuMemcpyHtoA, " 0 bytes", array, 0, host.data(), 0);
    ASK(cuMemcpyHtoA, " from null", array, 0, nullptr, bytes);
    ASK(cuMemcpyAtoH, "", host.data(), array, 0, bytes);
    ASK(cuMemcpyAtoH, " past the end", host.data(), array, 4, bytes);
    ASK(cuMemcpyDtoA, "", array, 0, p, bytes);
    ASK(cuMemcpyDtoA, " past the end", array, 4, p, bytes);
    ASK(cuMemcpyDtoA, " from 0", array, 0, 0, bytes);
    ASK(cuMemcpyAtoD, "", p, array, 0, bytes);
    ASK(cuMemcpyAtoD, " past the end", p, array, 4, bytes);
    ASK(cuMemcpyAtoD, " to 0", 0, array, 0, bytes);
    ASK(cuMemcpyAtoA, "", second, 0, array, 0, bytes);
    ASK(cuMemcpyAtoA, " past the end", second, 4, array, 0, bytes);
    ASK(cuMemcpyHtoAAsync, "", array, 0, pinned, bytes, s);
    ASK(cuMemcpyHtoAAsync, " past the end", array, 4, pinned, bytes, s);
    ASK(cuMemcpyAtoHAsync, "", pinned, array, 0, bytes, s);
    ASK(cuMemcpyAtoHAsync, " past the end", pinned, array, 4, bytes, s);
    ASK(cuStreamSynchronize, "", s);
    CUDA_MEMCPY2D two{.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                      .srcArray = array,
                      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                      .dstDevice = p,
                      .dstPitch = bytes,
                      .WidthInBytes = bytes,
                      .Height = 1};
    ASK(cuMemcpy2D, " from an array", &two);
    two.Height = 2;
    ASK(cuMemcpy2D, ", 2 rows of a line", &two);
    two.Height = 1;
    two.srcXInBytes = 4;
    ASK(cuMemcpy2D, " past the end", &two);
    d.cuMemFreeHost(pinned);
    d.cuMemFree(p);
    d.cuArrayDestroy(array);
    d.cuArrayDestroy(second);
}

} // namespace record::QUESTIONS
