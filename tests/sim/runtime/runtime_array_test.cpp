// Arrays, channel formats, textures and surfaces of the runtime.
#include "handles.hpp"

using namespace sim_test;

namespace {

struct Pair {
    cudaChannelFormatDesc runtime;
    CUarray_format format;
    unsigned int channels;
};

constexpr Pair pairs[] = {
    {{8, 0, 0, 0, cudaChannelFormatKindUnsigned}, CU_AD_FORMAT_UNSIGNED_INT8, 1},
    {{8, 8, 8, 8, cudaChannelFormatKindSigned}, CU_AD_FORMAT_SIGNED_INT8, 4},
    {{16, 16, 0, 0, cudaChannelFormatKindUnsigned}, CU_AD_FORMAT_UNSIGNED_INT16, 2},
    {{16, 0, 0, 0, cudaChannelFormatKindSigned}, CU_AD_FORMAT_SIGNED_INT16, 1},
    {{32, 32, 32, 32, cudaChannelFormatKindUnsigned}, CU_AD_FORMAT_UNSIGNED_INT32, 4},
    {{32, 0, 0, 0, cudaChannelFormatKindSigned}, CU_AD_FORMAT_SIGNED_INT32, 1},
    {{32, 32, 0, 0, cudaChannelFormatKindFloat}, CU_AD_FORMAT_FLOAT, 2},
    {{16, 0, 0, 0, cudaChannelFormatKindFloat}, CU_AD_FORMAT_HALF, 1},
};

bool equal(const cudaChannelFormatDesc &a, const cudaChannelFormatDesc &b) {
    return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w && a.f == b.f;
}

cudaArray_t made(const cudaChannelFormatDesc &format, std::size_t width, std::size_t height,
                 unsigned int flags = 0) {
    return got<cudaArray_t>(&Runtime::cudaMallocArray, out, &format, width, height, flags);
}

void release(cudaArray_t array) {
    CHECK(r.cudaFreeArray(array) == cudaSuccess);
}

constexpr cudaChannelFormatDesc bytes_4{8, 8, 8, 8, cudaChannelFormatKindUnsigned};

} // namespace

TEST_CASE("cudaCreateChannelDesc stores its arguments") {
    const auto description = r.cudaCreateChannelDesc(1, 2, 3, 4, cudaChannelFormatKindFloat);
    CHECK(equal(description, {1, 2, 3, 4, cudaChannelFormatKindFloat}));
}

TEST_CASE("channel formats correspond to driver formats in both directions") {
    for (const Pair &pair : pairs) {
        const cudaArray_t array = made(pair.runtime, 16, 8);
        CUDA_ARRAY3D_DESCRIPTOR found{};
        CHECK(d.cuArray3DGetDescriptor(&found, reinterpret_cast<CUarray>(array)) == good);
        CHECK(found.Format == pair.format);
        CHECK(found.NumChannels == pair.channels);
        CHECK(numbers(found.Width, found.Height, found.Depth) == numbers(16, 8, 0));
        CHECK(equal(got<cudaChannelFormatDesc>(&Runtime::cudaGetChannelDesc, out, array),
                    pair.runtime));
        release(array);
    }
}

TEST_CASE("invalid channel formats are rejected") {
    cudaArray_t array = nullptr;
    for (const cudaChannelFormatDesc &bad : {
             cudaChannelFormatDesc{0, 0, 0, 0, cudaChannelFormatKindUnsigned},
             cudaChannelFormatDesc{8, 8, 8, 0, cudaChannelFormatKindUnsigned},
             cudaChannelFormatDesc{8, 16, 0, 0, cudaChannelFormatKindUnsigned},
             cudaChannelFormatDesc{8, 0, 8, 0, cudaChannelFormatKindUnsigned},
             cudaChannelFormatDesc{7, 0, 0, 0, cudaChannelFormatKindSigned},
             cudaChannelFormatDesc{8, 0, 0, 0, cudaChannelFormatKindFloat},
             cudaChannelFormatDesc{32, 0, 0, 0, cudaChannelFormatKindNone},
         }) {
        CHECK(r.cudaMallocArray(&array, &bad, 4, 4, 0) == cudaErrorInvalidChannelDescriptor);
    }
    check_all(cudaErrorInvalidValue, {r.cudaMallocArray(&array, nullptr, 4, 4, 0),
                                      r.cudaMallocArray(nullptr, &bytes_4, 4, 4, 0),
                                      r.cudaMallocArray(&array, &bytes_4, 0, 4, 0)});
    check_all(cudaSuccess, {r.cudaFreeArray(nullptr), r.cudaFreeMipmappedArray(nullptr)});
}

TEST_CASE("cudaArrayGetInfo reports format, extent and flags of an array") {
    cudaArray_t array = nullptr;
    REQUIRE(r.cudaMalloc3DArray(&array, &bytes_4, {16, 8, 4}, cudaArraySurfaceLoadStore) ==
            cudaSuccess);
    cudaExtent extent{};
    unsigned int flags = 0;
    CHECK(equal(got<cudaChannelFormatDesc>(&Runtime::cudaArrayGetInfo, out, &extent, &flags, array),
                bytes_4));
    CHECK(numbers(extent.width, extent.height, extent.depth) == numbers(16, 8, 4));
    CHECK(flags == cudaArraySurfaceLoadStore);
    CHECK(r.cudaArrayGetInfo(nullptr, nullptr, nullptr, array) == cudaSuccess);
    release(array);
    CHECK(r.cudaFreeArray(array) != cudaSuccess);
    expect_misuse("array");
}

TEST_CASE("a mipmapped array of the runtime has smaller levels") {
    cudaMipmappedArray_t mipmapped = nullptr;
    REQUIRE(r.cudaMallocMipmappedArray(&mipmapped, &bytes_4, {16, 16, 0}, 3, 0) == cudaSuccess);
    cudaArray_t level = nullptr;
    CHECK(r.cudaGetMipmappedArrayLevel(&level, mipmapped, 2) == cudaSuccess);
    cudaExtent extent{};
    CHECK(got(r.cudaArrayGetInfo(nullptr, &extent, nullptr, level), extent).width == 4);
    CHECK(extent.height == 4);
    CHECK(r.cudaGetMipmappedArrayLevel(&level, mipmapped, 3) == cudaErrorInvalidValue);
    CHECK(r.cudaFreeMipmappedArray(mipmapped) == cudaSuccess);
}

TEST_CASE("a texture object of the runtime reports its resource and description") {
    const cudaArray_t array = made(bytes_4, 16, 16);
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc texture{};
    texture.addressMode[0] = cudaAddressModeClamp;
    texture.addressMode[1] = cudaAddressModeMirror;
    texture.addressMode[2] = cudaAddressModeBorder;
    texture.filterMode = cudaFilterModePoint;
    texture.readMode = cudaReadModeElementType;
    texture.normalizedCoords = 1;
    texture.maxAnisotropy = 4;
    texture.borderColor[2] = 0.5f;
    texture.mipmapLevelBias = 1.5f;
    cudaTextureObject_t object = 0;
    REQUIRE(r.cudaCreateTextureObject(&object, &resource, &texture, nullptr) == cudaSuccess);

    CUDA_TEXTURE_DESC drivers{};
    CHECK(d.cuTexObjectGetTextureDesc(&drivers, object) == good);
    CHECK(drivers.addressMode[0] == CU_TR_ADDRESS_MODE_CLAMP);
    CHECK(drivers.addressMode[1] == CU_TR_ADDRESS_MODE_MIRROR);
    CHECK(drivers.addressMode[2] == CU_TR_ADDRESS_MODE_BORDER);
    CHECK(drivers.filterMode == CU_TR_FILTER_MODE_POINT);
    CHECK(drivers.flags == (CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES));
    CHECK(drivers.maxAnisotropy == 4);
    CHECK(drivers.borderColor[2] == 0.5f);
    CHECK(drivers.mipmapLevelBias == 1.5f);

    cudaTextureDesc back{};
    CHECK(r.cudaGetTextureObjectTextureDesc(&back, object) == cudaSuccess);
    CHECK(back.addressMode[1] == cudaAddressModeMirror);
    CHECK(back.readMode == cudaReadModeElementType);
    CHECK(numbers(back.normalizedCoords, back.sRGB, back.maxAnisotropy) == numbers(1, 0, 4));
    CHECK(back.borderColor[2] == 0.5f);
    cudaResourceDesc from{};
    CHECK(r.cudaGetTextureObjectResourceDesc(&from, object) == cudaSuccess);
    CHECK(from.resType == cudaResourceTypeArray);
    CHECK(from.res.array.array == array);
    CHECK(r.cudaDestroyTextureObject(object) == cudaSuccess);
    check_all(cudaErrorInvalidValue,
              {r.cudaGetTextureObjectTextureDesc(&back, 0),
               r.cudaGetSurfaceObjectResourceDesc(&from, 0),
               r.cudaCreateTextureObject(&object, nullptr, &texture, nullptr),
               r.cudaCreateTextureObject(&object, &resource, nullptr, nullptr)});
    CHECK(r.cudaGetTextureObjectTextureDesc(nullptr, 0) == cudaErrorInvalidResourceHandle);
    CHECK(r.cudaGetSurfaceObjectResourceDesc(nullptr, 0) == cudaErrorInvalidDevice);
    resource.resType = static_cast<cudaResourceType>(77);
    CHECK(r.cudaCreateTextureObject(&object, &resource, &texture, nullptr) ==
          cudaErrorInvalidValue);
    release(array);
}

TEST_CASE("textures can use linear and pitched memory") {
    const RuntimeMemory memory(4096);
    cudaTextureDesc texture{};
    texture.readMode = cudaReadModeElementType;
    cudaTextureObject_t object = 0;
    cudaResourceDesc resource{}, back{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    resource.res.linear.sizeInBytes = 1024;
    REQUIRE(r.cudaCreateTextureObject(&object, &resource, &texture, nullptr) == cudaSuccess);
    CUDA_RESOURCE_DESC drivers{};
    CHECK(d.cuTexObjectGetResourceDesc(&drivers, object) == good);
    const auto &linear = drivers.res.linear;
    CHECK(drivers.resType == CU_RESOURCE_TYPE_LINEAR);
    CHECK(linear.devPtr == reinterpret_cast<CUdeviceptr>(memory.get()));
    CHECK(linear.format == CU_AD_FORMAT_FLOAT);
    CHECK(numbers(linear.numChannels, linear.sizeInBytes) == numbers(1, 1024));
    CHECK(r.cudaGetTextureObjectResourceDesc(&back, object) == cudaSuccess);
    CHECK(equal(back.res.linear.desc, resource.res.linear.desc));
    CHECK(r.cudaDestroyTextureObject(object) == cudaSuccess);

    resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = memory;
    resource.res.pitch2D.desc = bytes_4;
    resource.res.pitch2D.width = 16;
    resource.res.pitch2D.height = 8;
    resource.res.pitch2D.pitchInBytes = 512;
    REQUIRE(r.cudaCreateTextureObject(&object, &resource, &texture, nullptr) == cudaSuccess);
    CHECK(r.cudaGetTextureObjectResourceDesc(&back, object) == cudaSuccess);
    const auto &pitched = back.res.pitch2D;
    CHECK(back.resType == cudaResourceTypePitch2D);
    CHECK(pitched.devPtr == memory.get());
    CHECK(numbers(pitched.width, pitched.height, pitched.pitchInBytes) == numbers(16, 8, 512));
    CHECK(equal(pitched.desc, bytes_4));
    CHECK(r.cudaDestroyTextureObject(object) == cudaSuccess);
}

TEST_CASE("a surface object reports its array") {
    const cudaArray_t array = made(bytes_4, 16, 16, cudaArraySurfaceLoadStore);
    cudaResourceDesc resource{}, back{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t object = 0;
    REQUIRE(r.cudaCreateSurfaceObject(&object, &resource) == cudaSuccess);
    CHECK(got(r.cudaGetSurfaceObjectResourceDesc(&back, object), back).res.array.array == array);
    CHECK(r.cudaDestroySurfaceObject(object) == cudaSuccess);
    CHECK(r.cudaCreateSurfaceObject(&object, nullptr) == cudaErrorInvalidValue);
    release(array);
}
