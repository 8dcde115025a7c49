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
    ok(runtime().cudaFreeArray(array));
}

constexpr cudaChannelFormatDesc bytes_4{8, 8, 8, 8, cudaChannelFormatKindUnsigned};

} // namespace

TEST_CASE("channel formats correspond to driver formats in both directions") {
    for (const Pair &pair : pairs) {
        const cudaArray_t array = made(pair.runtime, 16, 8);
        const auto found = got<CUDA_ARRAY3D_DESCRIPTOR>(&Driver::cuArray3DGetDescriptor, out,
                                                        reinterpret_cast<CUarray>(array));
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
             cudaChannelFormatDesc{8, 16, 0, 0, cudaChannelFormatKindUnsigned},
             cudaChannelFormatDesc{8, 0, 8, 0, cudaChannelFormatKindUnsigned},
             cudaChannelFormatDesc{7, 0, 0, 0, cudaChannelFormatKindSigned},
             cudaChannelFormatDesc{8, 0, 0, 0, cudaChannelFormatKindFloat},
             cudaChannelFormatDesc{32, 0, 0, 0, cudaChannelFormatKindNone},
         }) {
        CHECK(runtime().cudaMallocArray(&array, &bad, 4, 4, 0) ==
              cudaErrorInvalidChannelDescriptor);
    }
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
    auto object = got<cudaTextureObject_t>(&Runtime::cudaCreateTextureObject, out, &resource,
                                           &texture, nullptr);

    const auto drivers = got<CUDA_TEXTURE_DESC>(&Driver::cuTexObjectGetTextureDesc, out, object);
    CHECK(numbers(drivers.addressMode[0], drivers.addressMode[1], drivers.addressMode[2]) ==
          numbers(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_MIRROR, CU_TR_ADDRESS_MODE_BORDER));
    CHECK(drivers.filterMode == CU_TR_FILTER_MODE_POINT);
    CHECK(drivers.flags == (CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES));
    CHECK(drivers.maxAnisotropy == 4);
    CHECK(drivers.borderColor[2] == 0.5f);
    CHECK(drivers.mipmapLevelBias == 1.5f);

    const auto back = got<cudaTextureDesc>(&Runtime::cudaGetTextureObjectTextureDesc, out, object);
    CHECK(back.addressMode[1] == cudaAddressModeMirror);
    CHECK(back.readMode == cudaReadModeElementType);
    CHECK(numbers(back.normalizedCoords, back.sRGB, back.maxAnisotropy) == numbers(1, 0, 4));
    CHECK(back.borderColor[2] == 0.5f);
    ok(runtime().cudaDestroyTextureObject(object));
    CHECK(runtime().cudaCreateTextureObject(&object, nullptr, &texture, nullptr) ==
          cudaErrorInvalidValue);
    CHECK(runtime().cudaCreateTextureObject(&object, &resource, nullptr, nullptr) ==
          cudaErrorInvalidResourceHandle);
    release(array);
}

TEST_CASE("textures can use linear and pitched memory") {
    const RuntimeMemory memory(4096);
    cudaTextureDesc texture{};
    texture.readMode = cudaReadModeElementType;
    cudaResourceDesc resource{}, back{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear = {memory, {32, 0, 0, 0, cudaChannelFormatKindFloat}, 1024};
    auto object = got<cudaTextureObject_t>(&Runtime::cudaCreateTextureObject, out, &resource,
                                           &texture, nullptr);
    const auto drivers = got<CUDA_RESOURCE_DESC>(&Driver::cuTexObjectGetResourceDesc, out, object);
    const auto &linear = drivers.res.linear;
    CHECK(drivers.resType == CU_RESOURCE_TYPE_LINEAR);
    CHECK(linear.devPtr == reinterpret_cast<CUdeviceptr>(memory.get()));
    CHECK(linear.format == CU_AD_FORMAT_FLOAT);
    CHECK(numbers(linear.numChannels, linear.sizeInBytes) == numbers(1, 1024));
    ok(runtime().cudaGetTextureObjectResourceDesc(&back, object));
    CHECK(equal(back.res.linear.desc, resource.res.linear.desc));
    ok(runtime().cudaDestroyTextureObject(object));

    resource = {.resType = cudaResourceTypePitch2D};
    resource.res.pitch2D = {memory, bytes_4, 16, 8, 512};
    require_ok(runtime().cudaCreateTextureObject(&object, &resource, &texture, nullptr));
    ok(runtime().cudaGetTextureObjectResourceDesc(&back, object));
    const auto &pitched = back.res.pitch2D;
    CHECK(back.resType == cudaResourceTypePitch2D);
    CHECK(pitched.devPtr == memory.get());
    CHECK(numbers(pitched.width, pitched.height, pitched.pitchInBytes) == numbers(16, 8, 512));
    CHECK(equal(pitched.desc, bytes_4));
    ok(runtime().cudaDestroyTextureObject(object));
}
