// Tensor maps: the documented rules are checked; the result stores the parameters in the
// simulator's own format.
#include "base/notes.hpp"
#include "call/misuse.hpp"
#include "driver_functions.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "kernel/module.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#if CUDA_VERSION >= 12000

namespace sim {
namespace {

constexpr std::uint64_t magic = 0x70616d726f736e74; // "tnsormap"
constexpr unsigned int most_dimensions = 5;
constexpr std::uintptr_t alignment = 64;
using Words = std::uint64_t[CU_TENSOR_MAP_NUM_QWORDS];

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

// Types and swizzles that need compute capability 10.0.
bool is_newer(const Tensor &t) {
    return t.type >= packed_4_bits_8 || t.swizzle > CU_TENSOR_MAP_SWIZZLE_128B;
}

// Recorded: maps of null are encoded.
bool is_address(std::uintptr_t address, std::uintptr_t unit) {
    return address % unit == 0 && address < std::uintptr_t(1) << 57;
}

void check_tensor(const Tensor &t) {
    const int capability = device_capability(current_context().device).major;
    require(t.map != nullptr);
    require(capability >= 9, CUDA_ERROR_NOT_SUPPORTED);
    require(t.type >= 0 && t.type <= packed_6_bits_16 && t.swizzle >= 0 && t.swizzle <= 6);
    require(capability >= 10 || !is_newer(t));
    require(t.interleave >= 0 && t.interleave <= CU_TENSOR_MAP_INTERLEAVE_32B);
    require(t.promotion >= 0 && t.promotion <= CU_TENSOR_MAP_L2_PROMOTION_L2_256B && t.fill >= 0 &&
            t.fill <= 1);
    require(t.rank >= (t.interleave == 0 ? 1U : 3U) && t.rank <= most_dimensions);
    require(t.sizes != nullptr && t.element_strides != nullptr && t.strides != nullptr);
    const std::uint64_t unit =
        t.interleave == CU_TENSOR_MAP_INTERLEAVE_32B || is_padded(t.type) ? 32 : 16;
    require(is_address(reinterpret_cast<std::uintptr_t>(t.address), unit));
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
    require(t.type != packed_6_bits_16 || t.interleave == 0);
}

Tensor checked_tensor(CUtensorMap *map, int type, unsigned int rank, void *address,
                      const cuuint64_t *sizes, const cuuint64_t *strides,
                      const cuuint32_t *element_strides, int interleave, int swizzle, int promotion,
                      int fill) {
    const Tensor tensor{map,        type,    rank,      address, sizes, strides, element_strides,
                        interleave, swizzle, promotion, fill};
    check_tensor(tensor);
    return tensor;
}

// Recorded: the driver writes a map that is not aligned. Kernels cannot use it there.
void write_words(CUtensorMap *map, const Words &words) {
    std::memcpy(static_cast<void *>(map), words, sizeof words);
    if (reinterpret_cast<std::uintptr_t>(map) % alignment != 0) {
        note_once("a tensor map was written to an address that is not aligned to " +
                  std::to_string(alignment) + " bytes, as CUDA requires");
    }
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

// Recorded: the copied box must fit into the shared memory of a multiprocessor.
void check_box(const Tensor &t, const cuuint32_t *box) {
    const auto most = static_cast<std::uint64_t>(attribute_or(
        current_device(), CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 228 << 10));
    std::uint64_t bytes = inner_bytes(t.type, box[0]);
    for (unsigned int i = 1; i < t.rank && bytes <= most; ++i) {
        bytes *= (box[i] + t.element_strides[i] - 1) / t.element_strides[i];
    }
    require(bytes <= most);
}

// Pixels that a map reads, relative to the corners of the image.
struct Pixels {
    const int *lower, *upper;
    unsigned int dimensions;
    cuuint32_t channels, count;
};

void check_pixels(const Tensor &t, const Pixels &pixels) {
    require(t.rank >= 3);
    require(pixels.channels != 0 && pixels.channels <= 256 && pixels.count != 0 &&
            pixels.count <= 1024);
    // More spatial dimensions leave fewer bits for each offset.
    const int bits = t.rank == 3 ? 15 : t.rank == 4 ? 7 : 4;
    const auto fits = [&](int offset) { return offset >= -(1 << bits) && offset < 1 << bits; };
    for (unsigned int i = 0; i < pixels.dimensions; ++i) {
        const int lower = pixels.lower[i], upper = pixels.upper[i];
        require(fits(lower) && fits(upper));
        // Recorded: the size counts as a signed number of 32 bits.
        require(std::int64_t(static_cast<std::int32_t>(t.sizes[i + 1])) + upper - lower > 0);
    }
    check_inner(t, pixels.channels);
}

void write(const Tensor &t, const void *box, std::size_t box_bytes) {
    Words words = {};
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
    write_words(t.map, words);
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
    const Tensor tensor =
        checked_tensor(tensorMap, tensorDataType, tensorRank, globalAddress, globalDim,
                       globalStrides, elementStrides, interleave, swizzle, l2Promotion, oobFill);
    require(boxDim != nullptr);
    for (unsigned int i = 0; i < tensorRank; ++i) {
        require(boxDim[i] != 0 && boxDim[i] <= 256);
    }
    check_inner(tensor, boxDim[0]);
    check_box(tensor, boxDim);
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
    const Tensor tensor =
        checked_tensor(tensorMap, tensorDataType, tensorRank, globalAddress, globalDim,
                       globalStrides, elementStrides, interleave, swizzle, l2Promotion, oobFill);
    if (pixelBoxLowerCorner == nullptr || pixelBoxUpperCorner == nullptr) {
        misuse("cuTensorMapEncodeIm2col without corners");
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    require(tensorRank >= 3);
    check_pixels(tensor, {pixelBoxLowerCorner, pixelBoxUpperCorner, tensorRank - 2,
                          channelsPerPixel, pixelsPerColumn});
    std::int16_t box[8] = {static_cast<std::int16_t>(channelsPerPixel),
                           static_cast<std::int16_t>(pixelsPerColumn)};
    for (unsigned int i = 0; i + 2 < tensorRank; ++i) {
        box[2 + i] = static_cast<std::int16_t>(pixelBoxLowerCorner[i]);
        box[5 + i] = static_cast<std::int16_t>(pixelBoxUpperCorner[i]);
    }
    write(tensor, box, sizeof box);
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12080
EXPORT CUresult cuTensorMapEncodeIm2colWide(
    CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
    void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
    int pixelBoxLowerCornerWidth, int pixelBoxUpperCornerWidth, cuuint32_t channelsPerPixel,
    cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
    CUtensorMapFloatOOBfill oobFill) {
    const Tensor tensor =
        checked_tensor(tensorMap, tensorDataType, tensorRank, globalAddress, globalDim,
                       globalStrides, elementStrides, interleave, swizzle, l2Promotion, oobFill);
    require(mode >= CU_TENSOR_MAP_IM2COL_WIDE_MODE_W &&
            mode <= CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128);
    check_pixels(tensor, {&pixelBoxLowerCornerWidth, &pixelBoxUpperCornerWidth, 1, channelsPerPixel,
                          pixelsPerColumn});
    const std::int16_t box[] = {
        static_cast<std::int16_t>(channelsPerPixel), static_cast<std::int16_t>(pixelsPerColumn),
        static_cast<std::int16_t>(pixelBoxLowerCornerWidth),
        static_cast<std::int16_t>(pixelBoxUpperCornerWidth), static_cast<std::int16_t>(mode + 1)};
    write(tensor, box, sizeof box);
    return CUDA_SUCCESS;
}
#endif

// Recorded: neither the map nor what it was encoded for is checked.
EXPORT CUresult cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress) {
    current_context();
    const auto address = reinterpret_cast<std::uintptr_t>(globalAddress);
    if (tensorMap == nullptr) {
        misuse("cuTensorMapReplaceAddress without a map");
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    require(address != 0 && is_address(address, 16));
    Words words;
    std::memcpy(words, static_cast<const void *>(tensorMap), sizeof words);
    words[1] = address;
    write_words(tensorMap, words);
    return CUDA_SUCCESS;
}

} // namespace sim::driver

#endif
