// Tensor maps: the documented rules are checked; the result stores the parameters in the
// simulator's own format.
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if CUDA_VERSION >= 12000

namespace sim {
namespace {

constexpr std::uint64_t magic = 0x70616d726f736e74; // "tnsormap"
constexpr unsigned int most_dimensions = 5;

// Types that older headers lack.
enum : int { packed_4_bits_8 = 13, packed_4_bits_16 = 14, packed_6_bits_16 = 15 };

bool is_padded(int type) {
    return type == packed_4_bits_16 || type == packed_6_bits_16;
}

bool is_floating(int type) {
    return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

// Bytes of that many elements in shared memory.
std::uint64_t inner_bytes(int type, std::uint64_t elements) {
    static constexpr unsigned int sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return type == packed_4_bits_8 ? elements / 2
           : is_padded(type)       ? elements
                                   : elements * sizes[type];
}

struct Tensor {
    CUtensorMap *map;
    int type;
    unsigned int rank;
    void *address;
    const cuuint64_t *sizes, *strides;
    const cuuint32_t *element_strides;
    int interleave, swizzle, promotion, fill;
};

void check_tensor(const Tensor &t) {
    require(t.map != nullptr && reinterpret_cast<std::uintptr_t>(t.map) % 64 == 0);
    require(device_capability(current_device()).major >= 9, CUDA_ERROR_NOT_SUPPORTED);
    require(t.type >= 0 && t.type <= packed_6_bits_16);
    require(t.interleave >= 0 && t.interleave <= CU_TENSOR_MAP_INTERLEAVE_32B);
    require(t.swizzle >= 0 && t.swizzle <= 6 && t.promotion >= 0 &&
            t.promotion <= CU_TENSOR_MAP_L2_PROMOTION_L2_256B && t.fill >= 0 && t.fill <= 1);
    require(t.rank >= (t.interleave == 0 ? 1U : 3U) && t.rank <= most_dimensions);
    require(t.sizes != nullptr && t.element_strides != nullptr &&
            (t.rank == 1 || t.strides != nullptr));
    const std::uint64_t unit =
        t.interleave == CU_TENSOR_MAP_INTERLEAVE_32B || is_padded(t.type) ? 32 : 16;
    require(t.address != nullptr && reinterpret_cast<std::uintptr_t>(t.address) % unit == 0);
    for (unsigned int i = 0; i < t.rank; ++i) {
        require(t.sizes[i] != 0 && t.sizes[i] <= (std::uint64_t(1) << 32));
        require(t.element_strides[i] != 0 && t.element_strides[i] <= 8);
    }
    for (unsigned int i = 0; i + 1 < t.rank; ++i) {
        require(t.strides[i] % unit == 0 && t.strides[i] < (std::uint64_t(1) << 40));
    }
    require(!is_padded(t.type) || t.sizes[0] % 128 == 0);
    require(t.type != packed_4_bits_8 || t.sizes[0] % 2 == 0);
    require(t.fill == 0 || is_floating(t.type));
    require(t.interleave != CU_TENSOR_MAP_INTERLEAVE_32B || t.swizzle == CU_TENSOR_MAP_SWIZZLE_32B);
    require(t.type != packed_6_bits_16 || t.interleave == 0);
}

// Checks the innermost dimension of the copied box.
void check_inner(const Tensor &t, std::uint64_t elements) {
    require(!is_padded(t.type) || elements == 128);
    if (t.interleave == 0) {
        static constexpr std::uint64_t spans[] = {~std::uint64_t(0), 32, 64, 128, 128, 128, 128};
        const std::uint64_t bytes = inner_bytes(t.type, elements);
        require(bytes % 16 == 0 && bytes <= spans[t.swizzle]);
    }
}

void write(const Tensor &t, const void *box, std::size_t box_bytes) {
    std::uint64_t words[CU_TENSOR_MAP_NUM_QWORDS] = {};
    words[0] = magic;
    words[1] = reinterpret_cast<std::uintptr_t>(t.address);
    words[2] = static_cast<std::uint64_t>(t.type) | static_cast<std::uint64_t>(t.rank) << 8 |
               static_cast<std::uint64_t>(t.interleave) << 16 |
               static_cast<std::uint64_t>(t.swizzle) << 24 |
               static_cast<std::uint64_t>(t.promotion) << 32 |
               static_cast<std::uint64_t>(t.fill) << 40;
    std::copy_n(t.sizes, t.rank, words + 3);
    std::copy_n(t.strides, std::max(t.rank, 1u) - 1, words + 8);
    for (unsigned int i = 0; i < t.rank; ++i) {
        words[12] |= static_cast<std::uint64_t>(t.element_strides[i]) << (8 * i);
    }
    std::memcpy(words + 13, box, std::min(box_bytes, sizeof(std::uint64_t) * 3));
    std::memcpy(t.map->opaque, words, sizeof words);
}

} // namespace
} // namespace sim

namespace sim::driver {

EXPORT CUresult cuTensorMapEncodeTiled(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
                                       cuuint32_t tensorRank, void *globalAddress,
                                       const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
                                       const cuuint32_t *boxDim, const cuuint32_t *elementStrides,
                                       CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                       CUtensorMapL2promotion l2Promotion,
                                       CUtensorMapFloatOOBfill oobFill) {
    const Tensor tensor{tensorMap,      static_cast<int>(tensorDataType),
                        tensorRank,     globalAddress,
                        globalDim,      globalStrides,
                        elementStrides, interleave,
                        swizzle,        l2Promotion,
                        oobFill};
    check_tensor(tensor);
    require(boxDim != nullptr);
    for (unsigned int i = 0; i < tensorRank; ++i) {
        require(boxDim[i] != 0 && boxDim[i] <= 256);
    }
    check_inner(tensor, boxDim[0]);
    write(tensor, boxDim, tensorRank * sizeof *boxDim);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTensorMapEncodeIm2col(
    CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
    void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
    const int *pixelBoxLowerCorner, const int *pixelBoxUpperCorner, cuuint32_t channelsPerPixel,
    cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
    CUtensorMapFloatOOBfill oobFill) {
    const Tensor tensor{tensorMap,      static_cast<int>(tensorDataType),
                        tensorRank,     globalAddress,
                        globalDim,      globalStrides,
                        elementStrides, interleave,
                        swizzle,        l2Promotion,
                        oobFill};
    check_tensor(tensor);
    require(tensorRank >= 3 && pixelBoxLowerCorner != nullptr && pixelBoxUpperCorner != nullptr);
    require(channelsPerPixel != 0 && channelsPerPixel <= 256 && pixelsPerColumn != 0 &&
            pixelsPerColumn <= 1024);
    // More spatial dimensions leave fewer bits for each offset.
    const int bits = tensorRank == 3 ? 15 : tensorRank == 4 ? 7 : 4;
    const int most = (1 << bits) - 1, least = -(1 << bits);
    for (unsigned int i = 0; i + 2 < tensorRank; ++i) {
        require(pixelBoxLowerCorner[i] >= least && pixelBoxLowerCorner[i] <= most &&
                pixelBoxUpperCorner[i] >= least && pixelBoxUpperCorner[i] <= most);
    }
    check_inner(tensor, channelsPerPixel);
    std::int16_t box[8] = {static_cast<std::int16_t>(channelsPerPixel),
                           static_cast<std::int16_t>(pixelsPerColumn)};
    for (unsigned int i = 0; i + 2 < tensorRank; ++i) {
        box[2 + i] = static_cast<std::int16_t>(pixelBoxLowerCorner[i]);
        box[5 + i] = static_cast<std::int16_t>(pixelBoxUpperCorner[i]);
    }
    write(tensor, box, sizeof box);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress) {
    require(tensorMap != nullptr && reinterpret_cast<std::uintptr_t>(tensorMap) % 64 == 0);
    require(tensorMap->opaque[0] == magic); // made by one of the calls above
    const int type = static_cast<int>(tensorMap->opaque[2] & 0xff);
    const int interleave = static_cast<int>(tensorMap->opaque[2] >> 16 & 0xff);
    const std::uintptr_t unit =
        interleave == CU_TENSOR_MAP_INTERLEAVE_32B || is_padded(type) ? 32 : 16;
    const auto address = reinterpret_cast<std::uintptr_t>(globalAddress);
    require(address != 0 && address % unit == 0);
    tensorMap->opaque[1] = address;
    return CUDA_SUCCESS;
}

} // namespace sim::driver

#endif
