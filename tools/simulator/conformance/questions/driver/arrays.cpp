// Arrays and mipmapped arrays, copies from and to them.
#include "../../record.hpp"

#include <vector>

namespace record::QUESTIONS {

namespace {

CUDA_ARRAY3D_DESCRIPTOR shape_of(std::size_t width, std::size_t height, std::size_t depth,
                                 unsigned int flags = 0) {
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    shape.Width = width;
    shape.Height = height;
    shape.Depth = depth;
    shape.Format = CU_AD_FORMAT_FLOAT;
    shape.NumChannels = 1;
    shape.Flags = flags;
    return shape;
}

void create(const char *what, const CUDA_ARRAY3D_DESCRIPTOR &shape) {
    CUarray array = nullptr;
    const CUresult status = d.cuArray3DCreate(&array, &shape);
    ask(what, status);
    if (status == CUDA_SUCCESS) {
        CUDA_ARRAY3D_DESCRIPTOR back{};
        ask("cuArray3DGetDescriptor", d.cuArray3DGetDescriptor(&back, array));
        note("width", static_cast<long long>(back.Width));
        note("height", static_cast<long long>(back.Height));
        note("depth", static_cast<long long>(back.Depth));
        note("flags", back.Flags);
        ask("cuArrayDestroy", d.cuArrayDestroy(array));
    }
}

void mipmapped(const char *what, const CUDA_ARRAY3D_DESCRIPTOR &shape, unsigned int levels) {
    CUmipmappedArray all = nullptr;
    const CUresult status = d.cuMipmappedArrayCreate(&all, &shape, levels);
    ask(what, status);
    if (status == CUDA_SUCCESS) {
        CUarray level = nullptr;
        ask("cuMipmappedArrayGetLevel 0", d.cuMipmappedArrayGetLevel(&level, all, 0));
        ask("cuMipmappedArrayGetLevel 2", d.cuMipmappedArrayGetLevel(&level, all, 2));
        ask("cuMipmappedArrayGetLevel 99", d.cuMipmappedArrayGetLevel(&level, all, 99));
        CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
        ask("cuMipmappedArrayGetMemoryRequirements",
            d.cuMipmappedArrayGetMemoryRequirements(&needs, all, 0));
        CUDA_ARRAY_SPARSE_PROPERTIES sparse{};
        ask("cuMipmappedArrayGetSparseProperties",
            d.cuMipmappedArrayGetSparseProperties(&sparse, all));
        ask("cuMipmappedArrayDestroy", d.cuMipmappedArrayDestroy(all));
    }
}

} // namespace

void arrays() {
    if (!start()) {
        return;
    }
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
    ask("cuArray3DCreate(null)", d.cuArray3DCreate(nullptr, &shape));
    CUarray array = nullptr, plane = nullptr;
    d.cuArray3DCreate(&array, &shape);
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
    CUDA_ARRAY_SPARSE_PROPERTIES sparse{};
    ask("cuArrayGetPlane 0 of one channel", d.cuArrayGetPlane(&plane, array, 0));
    ask("cuArrayGetMemoryRequirements", d.cuArrayGetMemoryRequirements(&needs, array, 0));
    ask("cuArrayGetMemoryRequirements dev 99", d.cuArrayGetMemoryRequirements(&needs, array, 99));
    ask("cuArrayGetSparseProperties", d.cuArrayGetSparseProperties(&sparse, array));
    ask("cuArrayDestroy", d.cuArrayDestroy(array));
    const auto deferred = shape_of(16, 4, 0, CUDA_ARRAY3D_DEFERRED_MAPPING);
    CUresult created = d.cuArray3DCreate(&array, &deferred);
    ask("cuArray3DCreate, mapped later", created);
    if (created == CUDA_SUCCESS) {
        ask("cuArrayGetMemoryRequirements", d.cuArrayGetMemoryRequirements(&needs, array, 0));
        ask("cuArrayDestroy", d.cuArrayDestroy(array));
    }
    const auto tiled = shape_of(1024, 1024, 0, CUDA_ARRAY3D_SPARSE);
    created = d.cuArray3DCreate(&array, &tiled);
    ask("cuArray3DCreate, sparse", created);
    if (created == CUDA_SUCCESS) {
        ask("cuArrayGetSparseProperties, sparse", d.cuArrayGetSparseProperties(&sparse, array));
        note("tile width", sparse.tileExtent.width);
        note("tile height", sparse.tileExtent.height);
        ask("cuArrayDestroy", d.cuArrayDestroy(array));
    }
    auto planar = shape_of(64, 64, 0);
    planar.Format = CU_AD_FORMAT_NV12;
    planar.NumChannels = 3;
    created = d.cuArray3DCreate(&array, &planar);
    ask("cuArray3DCreate of NV12", created);
    if (created == CUDA_SUCCESS) {
        ask("cuArrayGetPlane 0 of NV12", d.cuArrayGetPlane(&plane, array, 0));
        ask("cuArrayGetPlane 1 of NV12", d.cuArrayGetPlane(&plane, array, 1));
        ask("cuArrayGetPlane 2 of NV12", d.cuArrayGetPlane(&plane, array, 2));
        ask("cuArrayDestroy", d.cuArrayDestroy(array));
    }
    mipmapped("cuMipmappedArrayCreate 3 levels", shape_of(16, 16, 0), 3);
    mipmapped("cuMipmappedArrayCreate 0 levels", shape_of(16, 16, 0), 0);
    mipmapped("cuMipmappedArrayCreate 99 levels", shape_of(16, 16, 0), 99);
    mipmapped("cuMipmappedArrayCreate width 0", shape_of(0, 16, 0), 3);
    mipmapped("cuMipmappedArrayCreate, mapped later",
              shape_of(16, 16, 0, CUDA_ARRAY3D_DEFERRED_MAPPING), 3);
    mipmapped("cuMipmappedArrayCreate, sparse", shape_of(1024, 1024, 0, CUDA_ARRAY3D_SPARSE), 3);
}

void array_copies() {
    if (!start()) {
        return;
    }
    constexpr std::size_t bytes = 64;
    CUarray array = nullptr, second = nullptr;
    CUDA_ARRAY_DESCRIPTOR line{};
    line.Width = 16;
    line.Format = CU_AD_FORMAT_FLOAT;
    line.NumChannels = 1;
    d.cuArrayCreate(&array, &line);
    d.cuArrayCreate(&second, &line);
    CUdeviceptr p = 0;
    CUstream s = nullptr;
    void *pinned = nullptr;
    d.cuMemAlloc(&p, 4096);
    d.cuStreamCreate(&s, 0);
    d.cuMemHostAlloc(&pinned, 4096, 0);
    std::vector<unsigned char> host(4096);
    ask("cuMemcpyHtoA", d.cuMemcpyHtoA(array, 0, host.data(), bytes));
    ask("cuMemcpyHtoA past the end", d.cuMemcpyHtoA(array, 4, host.data(), bytes));
    ask("cuMemcpyHtoA 0 bytes", d.cuMemcpyHtoA(array, 0, host.data(), 0));
    ask("cuMemcpyHtoA from null", d.cuMemcpyHtoA(array, 0, nullptr, bytes));
    ask("cuMemcpyAtoH", d.cuMemcpyAtoH(host.data(), array, 0, bytes));
    ask("cuMemcpyAtoH past the end", d.cuMemcpyAtoH(host.data(), array, 4, bytes));
    ask("cuMemcpyDtoA", d.cuMemcpyDtoA(array, 0, p, bytes));
    ask("cuMemcpyDtoA past the end", d.cuMemcpyDtoA(array, 4, p, bytes));
    ask("cuMemcpyDtoA from 0", d.cuMemcpyDtoA(array, 0, 0, bytes));
    ask("cuMemcpyAtoD", d.cuMemcpyAtoD(p, array, 0, bytes));
    ask("cuMemcpyAtoD past the end", d.cuMemcpyAtoD(p, array, 4, bytes));
    ask("cuMemcpyAtoD to 0", d.cuMemcpyAtoD(0, array, 0, bytes));
    ask("cuMemcpyAtoA", d.cuMemcpyAtoA(second, 0, array, 0, bytes));
    ask("cuMemcpyAtoA past the end", d.cuMemcpyAtoA(second, 4, array, 0, bytes));
    ask("cuMemcpyHtoAAsync", d.cuMemcpyHtoAAsync(array, 0, pinned, bytes, s));
    ask("cuMemcpyHtoAAsync past the end", d.cuMemcpyHtoAAsync(array, 4, pinned, bytes, s));
    ask("cuMemcpyAtoHAsync", d.cuMemcpyAtoHAsync(pinned, array, 0, bytes, s));
    ask("cuMemcpyAtoHAsync past the end", d.cuMemcpyAtoHAsync(pinned, array, 4, bytes, s));
    ask("cuStreamSynchronize", d.cuStreamSynchronize(s));
    CUDA_MEMCPY2D two{};
    two.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    two.srcArray = array;
    two.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    two.dstDevice = p;
    two.dstPitch = bytes;
    two.WidthInBytes = bytes;
    two.Height = 1;
    ask("cuMemcpy2D from an array", d.cuMemcpy2D(&two));
    two.Height = 2;
    ask("cuMemcpy2D, 2 rows of a line", d.cuMemcpy2D(&two));
    two.Height = 1;
    two.srcXInBytes = 4;
    ask("cuMemcpy2D past the end", d.cuMemcpy2D(&two));
    d.cuMemFreeHost(pinned);
    d.cuMemFree(p);
    d.cuArrayDestroy(array);
    d.cuArrayDestroy(second);
}

} // namespace record::QUESTIONS
