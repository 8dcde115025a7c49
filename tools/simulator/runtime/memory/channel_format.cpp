#include "runtime/memory/channel_format.hpp"
#include "runtime/base/driver_api.hpp"

namespace sim::runtime {
namespace {

// Kinds whose bits do not determine the format.
struct Special {
    cudaChannelFormatKind kind;
    CUarray_format format;
    int bits;
    unsigned int channels;
};
constexpr Special specials[] = {
    {cudaChannelFormatKindNV12, CU_AD_FORMAT_NV12, 8, 3},
    {cudaChannelFormatKindUnsignedNormalized8X1, CU_AD_FORMAT_UNORM_INT8X1, 8, 1},
    {cudaChannelFormatKindUnsignedNormalized8X2, CU_AD_FORMAT_UNORM_INT8X2, 8, 2},
    {cudaChannelFormatKindUnsignedNormalized8X4, CU_AD_FORMAT_UNORM_INT8X4, 8, 4},
    {cudaChannelFormatKindUnsignedNormalized16X1, CU_AD_FORMAT_UNORM_INT16X1, 16, 1},
    {cudaChannelFormatKindUnsignedNormalized16X2, CU_AD_FORMAT_UNORM_INT16X2, 16, 2},
    {cudaChannelFormatKindUnsignedNormalized16X4, CU_AD_FORMAT_UNORM_INT16X4, 16, 4},
    {cudaChannelFormatKindSignedNormalized8X1, CU_AD_FORMAT_SNORM_INT8X1, 8, 1},
    {cudaChannelFormatKindSignedNormalized8X2, CU_AD_FORMAT_SNORM_INT8X2, 8, 2},
    {cudaChannelFormatKindSignedNormalized8X4, CU_AD_FORMAT_SNORM_INT8X4, 8, 4},
    {cudaChannelFormatKindSignedNormalized16X1, CU_AD_FORMAT_SNORM_INT16X1, 16, 1},
    {cudaChannelFormatKindSignedNormalized16X2, CU_AD_FORMAT_SNORM_INT16X2, 16, 2},
    {cudaChannelFormatKindSignedNormalized16X4, CU_AD_FORMAT_SNORM_INT16X4, 16, 4},
    {cudaChannelFormatKindUnsignedBlockCompressed1, CU_AD_FORMAT_BC1_UNORM, 8, 4},
    {cudaChannelFormatKindUnsignedBlockCompressed1SRGB, CU_AD_FORMAT_BC1_UNORM_SRGB, 8, 4},
    {cudaChannelFormatKindUnsignedBlockCompressed2, CU_AD_FORMAT_BC2_UNORM, 8, 4},
    {cudaChannelFormatKindUnsignedBlockCompressed2SRGB, CU_AD_FORMAT_BC2_UNORM_SRGB, 8, 4},
    {cudaChannelFormatKindUnsignedBlockCompressed3, CU_AD_FORMAT_BC3_UNORM, 8, 4},
    {cudaChannelFormatKindUnsignedBlockCompressed3SRGB, CU_AD_FORMAT_BC3_UNORM_SRGB, 8, 4},
    {cudaChannelFormatKindUnsignedBlockCompressed4, CU_AD_FORMAT_BC4_UNORM, 8, 1},
    {cudaChannelFormatKindSignedBlockCompressed4, CU_AD_FORMAT_BC4_SNORM, 8, 1},
    {cudaChannelFormatKindUnsignedBlockCompressed5, CU_AD_FORMAT_BC5_UNORM, 8, 2},
    {cudaChannelFormatKindSignedBlockCompressed5, CU_AD_FORMAT_BC5_SNORM, 8, 2},
    {cudaChannelFormatKindUnsignedBlockCompressed6H, CU_AD_FORMAT_BC6H_UF16, 16, 3},
    {cudaChannelFormatKindSignedBlockCompressed6H, CU_AD_FORMAT_BC6H_SF16, 16, 3},
    {cudaChannelFormatKindUnsignedBlockCompressed7, CU_AD_FORMAT_BC7_UNORM, 8, 4},
    {cudaChannelFormatKindUnsignedBlockCompressed7SRGB, CU_AD_FORMAT_BC7_UNORM_SRGB, 8, 4},
};

// All other formats: kind and bits per channel.
struct Plain {
    cudaChannelFormatKind kind;
    int bits;
    CUarray_format format;
};
constexpr Plain plains[] = {
    {cudaChannelFormatKindUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8},
    {cudaChannelFormatKindUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16},
    {cudaChannelFormatKindUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32},
    {cudaChannelFormatKindSigned, 8, CU_AD_FORMAT_SIGNED_INT8},
    {cudaChannelFormatKindSigned, 16, CU_AD_FORMAT_SIGNED_INT16},
    {cudaChannelFormatKindSigned, 32, CU_AD_FORMAT_SIGNED_INT32},
    {cudaChannelFormatKindFloat, 16, CU_AD_FORMAT_HALF},
    {cudaChannelFormatKindFloat, 32, CU_AD_FORMAT_FLOAT},
};

cudaChannelFormatDesc described(int bits, unsigned int channels, cudaChannelFormatKind kind) {
    return {bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, channels > 3 ? bits : 0, kind};
}

// The number of channels if all have the same bits and none is missing in between; otherwise 0.
unsigned int channels_of(const cudaChannelFormatDesc &given) {
    for (unsigned int channels = 1; channels <= 4; ++channels) {
        const cudaChannelFormatDesc same = described(given.x, channels, given.f);
        if (same.y == given.y && same.z == given.z && same.w == given.w && given.x > 0) {
            return channels;
        }
    }
    return 0;
}

} // namespace

Format format_of(const cudaChannelFormatDesc &description) {
    const unsigned int channels = channels_of(description);
    for (const Special &special : specials) {
        if (special.kind == description.f) {
            require(channels == special.channels && description.x == special.bits,
                    cudaErrorInvalidChannelDescriptor);
            return {special.format, channels};
        }
    }
    for (const Plain &plain : plains) {
        if (plain.kind == description.f && plain.bits == description.x &&
            (channels == 1 || channels == 2 || channels == 4)) {
            return {plain.format, channels};
        }
    }
    fail(cudaErrorInvalidChannelDescriptor);
}

cudaChannelFormatDesc channel_of(const Format &format) {
    for (const Special &special : specials) {
        if (special.format == format.format) {
            return described(special.bits, special.channels, special.kind);
        }
    }
    for (const Plain &plain : plains) {
        if (plain.format == format.format) {
            return described(plain.bits, format.channels, plain.kind);
        }
    }
    return {0, 0, 0, 0, cudaChannelFormatKindNone};
}

std::size_t element_size(const Format &format) {
    const cudaChannelFormatDesc channel = channel_of(format);
    return static_cast<std::size_t>(channel.x + channel.y + channel.z + channel.w) / 8;
}

CUDA_ARRAY3D_DESCRIPTOR descriptor_of(CUarray array) {
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};
    demand(CU(cuArray3DGetDescriptor_v2)(&descriptor, array));
    return descriptor;
}

std::size_t element_size(CUarray array) {
    const CUDA_ARRAY3D_DESCRIPTOR descriptor = descriptor_of(array);
    return element_size(Format{descriptor.Format, descriptor.NumChannels});
}

// --- entry points

EXPORT ANY_TIME cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                            cudaChannelFormatKind f) {
    return {x, y, z, w, f};
}

EXPORT cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(OUT size_t *maxWidthInElements,
                                                        const cudaChannelFormatDesc *fmtDesc,
                                                        int device) {
    require(maxWidthInElements != nullptr && fmtDesc != nullptr);
    const Format format = format_of(*fmtDesc);
    return CU_ANY(cuDeviceGetTexture1DLinearMaxWidth)(
        maxWidthInElements, format.format, format.channels, checked_device(device, "dev"));
}

} // namespace sim::runtime
