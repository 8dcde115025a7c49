// Runtime arrays: descriptions, copies, textures and surfaces.
#include "../../runtime_questions.hpp"

namespace record::QUESTIONS::runtime {
namespace {

constexpr cudaChannelFormatDesc four_bytes{8, 8, 8, 8, cudaChannelFormatKindUnsigned};
constexpr auto garbage_kind = static_cast<cudaMemcpyKind>(99);

} // namespace

void arrays() {
    if (!begin()) {
        return;
    }
    cudaArray_t a = nullptr, sparse = nullptr, deferred = nullptr, plane = nullptr;
    const cudaChannelFormatDesc three{8, 8, 8, 0, cudaChannelFormatKindUnsigned};
    const cudaChannelFormatDesc none{};
    ask("cudaMallocArray(null)", r.cudaMallocArray(nullptr, &four_bytes, 16, 8, 0));
    ask("cudaMallocArray without a format", r.cudaMallocArray(&a, nullptr, 16, 8, 0));
    ask("cudaMallocArray of three channels", r.cudaMallocArray(&a, &three, 16, 8, 0));
    ask("cudaMallocArray of no channel", r.cudaMallocArray(&a, &none, 16, 8, 0));
    ask("cudaMallocArray 0 x 8", r.cudaMallocArray(&a, &four_bytes, 0, 8, 0));
    ask("cudaMallocArray(flags 0x1000)", r.cudaMallocArray(&a, &four_bytes, 16, 8, 0x1000));
    ask("cudaMallocArray 16 x 8", r.cudaMallocArray(&a, &four_bytes, 16, 8, 0));
    cudaChannelFormatDesc format{};
    cudaExtent extent{};
    unsigned int flags = 77;
    ask("cudaArrayGetInfo", r.cudaArrayGetInfo(&format, &extent, &flags, a));
    note("bits of x", format.x);
    note("bits of w", format.w);
    note("width", static_cast<long long>(extent.width));
    note("height", static_cast<long long>(extent.height));
    note("depth", static_cast<long long>(extent.depth));
    note("flags", flags);
    ask("cudaArrayGetInfo of null", r.cudaArrayGetInfo(&format, &extent, &flags, nullptr));
    ask("cudaGetChannelDesc", r.cudaGetChannelDesc(&format, a));
    ask("cudaGetChannelDesc of null", r.cudaGetChannelDesc(&format, nullptr));
    ask("cudaArrayGetPlane of one that has none", r.cudaArrayGetPlane(&plane, a, 0));
    format = r.cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindFloat);
    note("cudaCreateChannelDesc: bits of y", format.y);
    cudaArrayMemoryRequirements needs{};
    ask("cudaArrayGetMemoryRequirements of an array with memory",
        r.cudaArrayGetMemoryRequirements(&needs, a, 0));
    cudaArraySparseProperties properties{};
    ask("cudaArrayGetSparseProperties of a plain array",
        r.cudaArrayGetSparseProperties(&properties, a));
    ask("cudaMalloc3DArray, sparse",
        r.cudaMalloc3DArray(&sparse, &four_bytes, {512, 512, 0}, cudaArraySparse));
    ask("cudaArrayGetSparseProperties", r.cudaArrayGetSparseProperties(&properties, sparse));
    note("tile width", properties.tileExtent.width);
    note("tile height", properties.tileExtent.height);
    ask("cudaMalloc3DArray, deferred",
        r.cudaMalloc3DArray(&deferred, &four_bytes, {64, 64, 0}, cudaArrayDeferredMapping));
    ask("cudaArrayGetMemoryRequirements", r.cudaArrayGetMemoryRequirements(&needs, deferred, 0));
    note("size", static_cast<long long>(needs.size));
    note("alignment", static_cast<long long>(needs.alignment));
    ask("cudaArrayGetMemoryRequirements(device 1000)",
        r.cudaArrayGetMemoryRequirements(&needs, deferred, 1000));
    ask("cudaFreeArray of the deferred", r.cudaFreeArray(deferred));
    ask("cudaFreeArray of the sparse", r.cudaFreeArray(sparse));
    ask("cudaFreeArray", r.cudaFreeArray(a));
    ask("cudaFreeArray(null)", r.cudaFreeArray(nullptr));
    ask("cudaMalloc3DArray 16 x 8 x 4", r.cudaMalloc3DArray(&a, &four_bytes, {16, 8, 4}, 0));
    ask("cudaFreeArray", r.cudaFreeArray(a));
    ask("cudaMalloc3DArray, 3 layers of a cubemap",
        r.cudaMalloc3DArray(&a, &four_bytes, {16, 16, 3}, cudaArrayCubemap));
    ask("cudaMalloc3DArray, 4 layers",
        r.cudaMalloc3DArray(&a, &four_bytes, {16, 16, 4}, cudaArrayLayered));
    ask("cudaFreeArray", r.cudaFreeArray(a));
}

void mipmapped_arrays() {
    if (!begin()) {
        return;
    }
    cudaMipmappedArray_t m = nullptr, sparse = nullptr, deferred = nullptr;
    cudaArray_t level = nullptr;
    ask("cudaMallocMipmappedArray(null)",
        r.cudaMallocMipmappedArray(nullptr, &four_bytes, {64, 32, 0}, 3, 0));
    ask("cudaMallocMipmappedArray(flags 0x1000)",
        r.cudaMallocMipmappedArray(&m, &four_bytes, {64, 32, 0}, 3, 0x1000));
    ask("cudaMallocMipmappedArray of 3 levels",
        r.cudaMallocMipmappedArray(&m, &four_bytes, {64, 32, 0}, 3, 0));
    ask("cudaGetMipmappedArrayLevel(1)", r.cudaGetMipmappedArrayLevel(&level, m, 1));
    cudaExtent extent{};
    ask("cudaArrayGetInfo of it", r.cudaArrayGetInfo(nullptr, &extent, nullptr, level));
    note("width", static_cast<long long>(extent.width));
    ask("cudaGetMipmappedArrayLevel(3)", r.cudaGetMipmappedArrayLevel(&level, m, 3));
    cudaArraySparseProperties properties{};
    ask("cudaMipmappedArrayGetSparseProperties of a plain one",
        r.cudaMipmappedArrayGetSparseProperties(&properties, m));
    cudaArrayMemoryRequirements needs{};
    ask("cudaMipmappedArrayGetMemoryRequirements of one with memory",
        r.cudaMipmappedArrayGetMemoryRequirements(&needs, m, 0));
    ask("cudaMallocMipmappedArray, sparse",
        r.cudaMallocMipmappedArray(&sparse, &four_bytes, {512, 512, 0}, 2, cudaArraySparse));
    ask("cudaMipmappedArrayGetSparseProperties",
        r.cudaMipmappedArrayGetSparseProperties(&properties, sparse));
    note("tile width", properties.tileExtent.width);
    ask("cudaMallocMipmappedArray, deferred",
        r.cudaMallocMipmappedArray(&deferred, &four_bytes, {64, 64, 0}, 2,
                                   cudaArrayDeferredMapping));
    ask("cudaMipmappedArrayGetMemoryRequirements",
        r.cudaMipmappedArrayGetMemoryRequirements(&needs, deferred, 0));
    ask("cudaFreeMipmappedArray of the deferred", r.cudaFreeMipmappedArray(deferred));
    ask("cudaFreeMipmappedArray of the sparse", r.cudaFreeMipmappedArray(sparse));
    ask("cudaFreeMipmappedArray", r.cudaFreeMipmappedArray(m));
    ask("cudaFreeMipmappedArray(null)", r.cudaFreeMipmappedArray(nullptr));
}

// Two arrays of 16 x 8 elements of 4 bytes, and memory of 1024 bytes.
void array_copies() {
    if (!begin()) {
        return;
    }
    cudaArray_t a = nullptr, b = nullptr;
    cudaStream_t s = nullptr;
    void *h = nullptr;
    r.cudaMallocArray(&a, &four_bytes, 16, 8, 0);
    r.cudaMallocArray(&b, &four_bytes, 16, 8, 0);
    r.cudaMallocHost(&h, 1024);
    r.cudaStreamCreate(&s);
    const auto to_device = cudaMemcpyHostToDevice, to_host = cudaMemcpyDeviceToHost;

    const auto rows = [&](const char *what, cudaArray_t array, std::size_t x, std::size_t width,
                          std::size_t pitch, bool known_kind) {
        const std::string of = what;
        const auto in = known_kind ? to_device : garbage_kind;
        const auto out = known_kind ? to_host : garbage_kind;
        ask(("cudaMemcpy2DToArray " + of).c_str(),
            r.cudaMemcpy2DToArray(array, x, 0, h, pitch, width, 2, in));
        ask(("cudaMemcpy2DFromArray " + of).c_str(),
            r.cudaMemcpy2DFromArray(h, pitch, array, x, 0, width, 2, out));
        ask(("cudaMemcpy2DToArrayAsync " + of).c_str(),
            r.cudaMemcpy2DToArrayAsync(array, x, 0, h, pitch, width, 2, in, s));
        ask(("cudaMemcpy2DFromArrayAsync " + of).c_str(),
            r.cudaMemcpy2DFromArrayAsync(h, pitch, array, x, 0, width, 2, out, s));
    };
    rows("of two rows", a, 0, 64, 64, true);
    rows("past the row's end", a, 4, 64, 64, true);
    rows("in the middle of an element", a, 2, 8, 64, true);
    rows("of a pitch below the width", a, 0, 64, 32, true);
    rows("of kind 99", a, 0, 64, 64, false);
    rows("of null", nullptr, 0, 64, 64, true);

    const auto between = [&](const char *what, std::size_t x, std::size_t width,
                             cudaMemcpyKind kind) {
        const std::string of = what;
        ask(("cudaMemcpy2DArrayToArray " + of).c_str(),
            r.cudaMemcpy2DArrayToArray(a, x, 0, b, 0, 0, width, 2, kind));
        ask(("cudaMemcpyArrayToArray " + of).c_str(),
            r.cudaMemcpyArrayToArray(a, x, 0, b, 0, 0, width, kind));
    };
    between("of a row", 0, 64, cudaMemcpyDeviceToDevice);
    between("of kind 1", 0, 64, to_device);
    between("past the end", 4, 64, cudaMemcpyDeviceToDevice);

    const auto linear = [&](const char *what, std::size_t x, std::size_t y, std::size_t count,
                            bool known_kind) {
        const std::string of = what;
        const auto in = known_kind ? to_device : garbage_kind;
        const auto out = known_kind ? to_host : garbage_kind;
        ask(("cudaMemcpyToArray " + of).c_str(), r.cudaMemcpyToArray(a, x, y, h, count, in));
        ask(("cudaMemcpyFromArray " + of).c_str(), r.cudaMemcpyFromArray(h, a, x, y, count, out));
        ask(("cudaMemcpyToArrayAsync " + of).c_str(),
            r.cudaMemcpyToArrayAsync(a, x, y, h, count, in, s));
        ask(("cudaMemcpyFromArrayAsync " + of).c_str(),
            r.cudaMemcpyFromArrayAsync(h, a, x, y, count, out, s));
    };
    linear("of a row and a half", 0, 0, 96, true);
    linear("from within a row", 8, 0, 100, true);
    linear("past the last row", 0, 7, 65, true);
    linear("of kind 99", 0, 0, 96, false);

    cudaMemcpy3DParms block{};
    block.srcPtr = {h, 64, 16, 8};
    block.dstArray = a;
    block.extent = {16, 8, 1};
    block.kind = to_device;
    ask("cudaMemcpy3D into an array", r.cudaMemcpy3D(&block));
    block.extent.width = 17;
    ask("cudaMemcpy3D past the row's end", r.cudaMemcpy3D(&block));
    block.extent.width = 16;
    block.dstPtr = block.srcPtr;
    ask("cudaMemcpy3D into an array and memory", r.cudaMemcpy3D(&block));
    ask("cudaStreamSynchronize", r.cudaStreamSynchronize(s));
    r.cudaStreamDestroy(s);
    r.cudaFreeHost(h);
    r.cudaFreeArray(b);
    r.cudaFreeArray(a);
}

namespace {

void linear_texture() {
    void *p = nullptr;
    r.cudaMalloc(&p, 4096);
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = p;
    resource.res.linear.desc = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    resource.res.linear.sizeInBytes = 4096;
    cudaTextureDesc as{};
    cudaTextureObject_t texture = 0;
    ask("cudaCreateTextureObject of memory",
        r.cudaCreateTextureObject(&texture, &resource, &as, nullptr));
    cudaResourceDesc seen{};
    ask("cudaGetTextureObjectResourceDesc", r.cudaGetTextureObjectResourceDesc(&seen, texture));
    note("type", seen.resType);
    note("size", static_cast<long long>(seen.res.linear.sizeInBytes));
    cudaResourceViewDesc view{};
    ask("cudaGetTextureObjectResourceViewDesc without a view",
        r.cudaGetTextureObjectResourceViewDesc(&view, texture));
    ask("cudaDestroyTextureObject", r.cudaDestroyTextureObject(texture));
    resource.res.linear.devPtr = static_cast<char *>(p) + 4;
    ask("cudaCreateTextureObject of memory that is not aligned",
        r.cudaCreateTextureObject(&texture, &resource, &as, nullptr));
    resource.resType = static_cast<cudaResourceType>(77);
    ask("cudaCreateTextureObject of type 77",
        r.cudaCreateTextureObject(&texture, &resource, &as, nullptr));
    r.cudaFree(p);
}

void texture_of_array(cudaArray_t array) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc as{};
    as.addressMode[0] = cudaAddressModeClamp;
    as.filterMode = cudaFilterModePoint;
    as.readMode = cudaReadModeElementType;
    cudaResourceViewDesc view{};
    view.format = cudaResViewFormatUnsignedChar4;
    view.width = 16;
    view.height = 8;
    cudaTextureObject_t texture = 0;
    ask("cudaCreateTextureObject of an array, with a view",
        r.cudaCreateTextureObject(&texture, &resource, &as, &view));
    cudaTextureDesc seen{};
    ask("cudaGetTextureObjectTextureDesc", r.cudaGetTextureObjectTextureDesc(&seen, texture));
    note("address mode", seen.addressMode[0]);
    note("read mode", seen.readMode);
    cudaResourceViewDesc through{};
    ask("cudaGetTextureObjectResourceViewDesc",
        r.cudaGetTextureObjectResourceViewDesc(&through, texture));
    note("format", through.format);
    note("width", static_cast<long long>(through.width));
    ask("cudaDestroyTextureObject", r.cudaDestroyTextureObject(texture));
}

} // namespace

void textures() {
    if (!begin()) {
        return;
    }
    linear_texture();
    cudaArray_t plain = nullptr, writable = nullptr;
    r.cudaMallocArray(&plain, &four_bytes, 16, 8, 0);
    r.cudaMallocArray(&writable, &four_bytes, 16, 8, cudaArraySurfaceLoadStore);
    texture_of_array(plain);
    cudaResourceDesc resource{}, seen{};
    cudaSurfaceObject_t surface = 0;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = plain;
    ask("cudaCreateSurfaceObject of a plain array", r.cudaCreateSurfaceObject(&surface, &resource));
    resource.res.array.array = writable;
    ask("cudaCreateSurfaceObject", r.cudaCreateSurfaceObject(&surface, &resource));
    ask("cudaGetSurfaceObjectResourceDesc", r.cudaGetSurfaceObjectResourceDesc(&seen, surface));
    note("type", seen.resType);
    note("the same array", seen.res.array.array == writable);
    ask("cudaDestroySurfaceObject", r.cudaDestroySurfaceObject(surface));
    resource.resType = static_cast<cudaResourceType>(77);
    ask("cudaCreateSurfaceObject of type 77", r.cudaCreateSurfaceObject(&surface, &resource));
    r.cudaFreeArray(writable);
    r.cudaFreeArray(plain);
}

} // namespace record::QUESTIONS::runtime
