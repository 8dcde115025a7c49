// Runtime arrays: descriptions, copies, textures and surfaces.
#include "../../runtime_questions.hpp"

namespace record::QUESTIONS::runtime {
namespace {

constexpr cudaChannelFormatDesc four_bytes{8, 8, 8, 8, cudaChannelFormatKindUnsigned};
constexpr auto garbage_kind = static_cast<cudaMemcpyKind>(99);

} // namespace

SECTION_ONCE("arrays", begin) {
    cudaArray_t a = nullptr, sparse = nullptr, deferred = nullptr, plane = nullptr;
    const cudaChannelFormatDesc three{8, 8, 8, 0, cudaChannelFormatKindUnsigned};
    const cudaChannelFormatDesc none{};
    ASK(cudaMallocArray, "(null)", nullptr, &four_bytes, 16, 8, 0);
    ASK(cudaMallocArray, " without a format", &a, nullptr, 16, 8, 0);
    ASK(cudaMallocArray, " of three channels", &a, &three, 16, 8, 0);
    ASK(cudaMallocArray, " of no channel", &a, &none, 16, 8, 0);
    ASK(cudaMallocArray, " 0 x 8", &a, &four_bytes, 0, 8, 0);
    ASK(cudaMallocArray, "(flags 0x1000)", &a, &four_bytes, 16, 8, 0x1000);
    ASK(cudaMallocArray, " 16 x 8", &a, &four_bytes, 16, 8, 0);
    cudaChannelFormatDesc format{};
    cudaExtent extent{};
    unsigned int flags = 77;
    ASK(cudaArrayGetInfo, "", &format, &extent, &flags, a).note("bits of x", format.x);
    note("bits of w", format.w);
    note("width", extent.width);
    note("height", extent.height);
    note("depth", extent.depth);
    note("flags", flags);
    ASK(cudaArrayGetInfo, " of null", &format, &extent, &flags, nullptr);
    ASK(cudaGetChannelDesc, "", &format, a);
    ASK(cudaGetChannelDesc, " of null", &format, nullptr);
    ASK(cudaArrayGetPlane, " of one that has none", &plane, a, 0);
    format = r.cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindFloat);
    note("cudaCreateChannelDesc: bits of y", format.y);
    cudaArrayMemoryRequirements needs{};
    ASK(cudaArrayGetMemoryRequirements, " of an array with memory", &needs, a, 0);
    cudaArraySparseProperties properties{};
    ASK(cudaArrayGetSparseProperties, " of a plain array", &properties, a);
    ASK(cudaMalloc3DArray, ", sparse", &sparse, &four_bytes, {512, 512, 0}, cudaArraySparse);
    ASK(cudaArrayGetSparseProperties, "", &properties, sparse);
    note("tile width", properties.tileExtent.width);
    note("tile height", properties.tileExtent.height);
    ASK(cudaMalloc3DArray, ", deferred", &deferred, &four_bytes, {64, 64, 0},
        cudaArrayDeferredMapping);
    ASK(cudaArrayGetMemoryRequirements, "", &needs, deferred, 0).note("size", needs.size);
    note("alignment", needs.alignment);
    ASK(cudaArrayGetMemoryRequirements, "(device 1000)", &needs, deferred, 1000);
    ASK(cudaFreeArray, " of the deferred", deferred);
    ASK(cudaFreeArray, " of the sparse", sparse);
    ASK(cudaFreeArray, "", a);
    ASK(cudaFreeArray, "(null)", nullptr);
    ASK(cudaMalloc3DArray, " 16 x 8 x 4", &a, &four_bytes, {16, 8, 4}, 0);
    ASK(cudaFreeArray, "", a);
    ASK(cudaMalloc3DArray, ", 3 layers of a cubemap", &a, &four_bytes, {16, 16, 3},
        cudaArrayCubemap);
    ASK(cudaMalloc3DArray, ", 4 layers", &a, &four_bytes, {16, 16, 4}, cudaArrayLayered);
    ASK(cudaFreeArray, "", a);
}

SECTION_ONCE("mipmapped_arrays", begin) {
    cudaMipmappedArray_t m = nullptr, sparse = nullptr, deferred = nullptr;
    cudaArray_t level = nullptr;
    ASK(cudaMallocMipmappedArray, "(null)", nullptr, &four_bytes, {64, 32, 0}, 3, 0);
    ASK(cudaMallocMipmappedArray, "(flags 0x1000)", &m, &four_bytes, {64, 32, 0}, 3, 0x1000);
    ASK(cudaMallocMipmappedArray, " of 3 levels", &m, &four_bytes, {64, 32, 0}, 3, 0);
    ASK(cudaGetMipmappedArrayLevel, "(1)", &level, m, 1);
    cudaExtent extent{};
    ASK(cudaArrayGetInfo, " of it", nullptr, &extent, nullptr, level).note("width", extent.width);
    ASK(cudaGetMipmappedArrayLevel, "(3)", &level, m, 3);
    cudaArraySparseProperties properties{};
    ASK(cudaMipmappedArrayGetSparseProperties, " of a plain one", &properties, m);
    cudaArrayMemoryRequirements needs{};
    ASK(cudaMipmappedArrayGetMemoryRequirements, " of one with memory", &needs, m, 0);
    ASK(cudaMallocMipmappedArray, ", sparse", &sparse, &four_bytes, {512, 512, 0}, 2,
        cudaArraySparse);
    ASK(cudaMipmappedArrayGetSparseProperties, "", &properties, sparse);
    note("tile width", properties.tileExtent.width);
    ASK(cudaMallocMipmappedArray, ", deferred", &deferred, &four_bytes, {64, 64, 0}, 2,
        cudaArrayDeferredMapping);
    ASK(cudaMipmappedArrayGetMemoryRequirements, "", &needs, deferred, 0);
    ASK(cudaFreeMipmappedArray, " of the deferred", deferred);
    ASK(cudaFreeMipmappedArray, " of the sparse", sparse);
    ASK(cudaFreeMipmappedArray, "", m);
    ASK(cudaFreeMipmappedArray, "(null)", nullptr);
}

// Two arrays of 16 x 8 elements of 4 bytes, and memory of 1024 bytes.
SECTION("array_copies", begin) {
    cudaArray_t a = MAKE(cudaMallocArray, &four_bytes, 16, 8, 0);
    cudaArray_t b = MAKE(cudaMallocArray, &four_bytes, 16, 8, 0);
    void *h = MAKE(cudaMallocHost, 1024);
    cudaStream_t s = MAKE(cudaStreamCreate);
    const auto to_device = cudaMemcpyHostToDevice, to_host = cudaMemcpyDeviceToHost;

    const auto rows = [&](const char *what, cudaArray_t array, std::size_t x, std::size_t width,
                          std::size_t pitch, bool known_kind) {
        const std::string of = what;
        const auto in = known_kind ? to_device : garbage_kind;
        const auto out = known_kind ? to_host : garbage_kind;
        ask("cudaMemcpy2DToArray " + of,
            r.cudaMemcpy2DToArray(array, x, 0, h, pitch, width, 2, in));
        ask("cudaMemcpy2DFromArray " + of,
            r.cudaMemcpy2DFromArray(h, pitch, array, x, 0, width, 2, out));
        ask("cudaMemcpy2DToArrayAsync " + of,
            r.cudaMemcpy2DToArrayAsync(array, x, 0, h, pitch, width, 2, in, s));
        ask("cudaMemcpy2DFromArrayAsync " + of,
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
        ask("cudaMemcpy2DArrayToArray " + of,
            r.cudaMemcpy2DArrayToArray(a, x, 0, b, 0, 0, width, 2, kind));
        ask("cudaMemcpyArrayToArray " + of,
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
        ask("cudaMemcpyToArray " + of, r.cudaMemcpyToArray(a, x, y, h, count, in));
        ask("cudaMemcpyFromArray " + of, r.cudaMemcpyFromArray(h, a, x, y, count, out));
        ask("cudaMemcpyToArrayAsync " + of, r.cudaMemcpyToArrayAsync(a, x, y, h, count, in, s));
        ask("cudaMemcpyFromArrayAsync " + of,
            r.cudaMemcpyFromArrayAsync(h, a, x, y, count, out, s));
    };
    linear("of a row and a half", 0, 0, 96, true);
    linear("from within a row", 8, 0, 100, true);
    linear("past the last row", 0, 7, 65, true);
    linear("of kind 99", 0, 0, 96, false);

    cudaMemcpy3DParms block{
        .srcPtr = {h, 64, 16, 8}, .dstArray = a, .extent = {16, 8, 1}, .kind = to_device};
    ASK(cudaMemcpy3D, " into an array", &block);
    block.extent.width = 17;
    ASK(cudaMemcpy3D, " past the row's end", &block);
    block.extent.width = 16;
    block.dstPtr = block.srcPtr;
    ASK(cudaMemcpy3D, " into an array and memory", &block);
    ASK(cudaStreamSynchronize, "", s);
    r.cudaStreamDestroy(s);
    r.cudaFreeHost(h);
    r.cudaFreeArray(b);
    r.cudaFreeArray(a);
}

namespace {

void linear_texture() {
    void *p = MAKE(cudaMalloc, 4096);
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = p;
    resource.res.linear.desc = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    resource.res.linear.sizeInBytes = 4096;
    cudaTextureDesc as{};
    cudaTextureObject_t texture = 0;
    ASK(cudaCreateTextureObject, " of memory", &texture, &resource, &as, nullptr);
    cudaResourceDesc seen{};
    ASK(cudaGetTextureObjectResourceDesc, "", &seen, texture).note("type", seen.resType);
    note("size", seen.res.linear.sizeInBytes);
    cudaResourceViewDesc view{};
    ASK(cudaGetTextureObjectResourceViewDesc, " without a view", &view, texture);
    ASK(cudaDestroyTextureObject, "", texture);
    resource.res.linear.devPtr = static_cast<char *>(p) + 4;
    ASK(cudaCreateTextureObject, " of memory that is not aligned", &texture, &resource, &as,
        nullptr);
    resource.resType = static_cast<cudaResourceType>(77);
    ASK(cudaCreateTextureObject, " of type 77", &texture, &resource, &as, nullptr);
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
    cudaResourceViewDesc view{.format = cudaResViewFormatUnsignedChar4, .width = 16, .height = 8};
    cudaTextureObject_t texture = 0;
    ASK(cudaCreateTextureObject, " of an array, with a view", &texture, &resource, &as, &view);
    cudaTextureDesc seen{};
    ASK(cudaGetTextureObjectTextureDesc, "", &seen, texture);
    note("address mode", seen.addressMode[0]);
    note("read mode", seen.readMode);
    cudaResourceViewDesc through{};
    ASK(cudaGetTextureObjectResourceViewDesc, "", &through, texture).note("format", through.format);
    note("width", through.width);
    ASK(cudaDestroyTextureObject, "", texture);
}

} // namespace

SECTION_ONCE("textures", begin) {
    linear_texture();
    cudaArray_t plain = MAKE(cudaMallocArray, &four_bytes, 16, 8, 0);
    cudaArray_t writable = MAKE(cudaMallocArray, &four_bytes, 16, 8, cudaArraySurfaceLoadStore);
    texture_of_array(plain);
    cudaResourceDesc resource{}, seen{};
    cudaSurfaceObject_t surface = 0;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = plain;
    ASK(cudaCreateSurfaceObject, " of a plain array", &surface, &resource);
    resource.res.array.array = writable;
    ASK(cudaCreateSurfaceObject, "", &surface, &resource);
    ASK(cudaGetSurfaceObjectResourceDesc, "", &seen, surface).note("type", seen.resType);
    note("the same array", seen.res.array.array == writable);
    ASK(cudaDestroySurfaceObject, "", surface);
    resource.resType = static_cast<cudaResourceType>(77);
    ASK(cudaCreateSurfaceObject, " of type 77", &surface, &resource);
    r.cudaFreeArray(writable);
    r.cudaFreeArray(plain);
}

} // namespace record::QUESTIONS::runtime
