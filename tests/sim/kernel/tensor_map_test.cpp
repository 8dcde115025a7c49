// Tensor maps: the documented rules.
#include "handles.hpp"

#if CUDA_VERSION >= 12000

using namespace sim_test;

namespace {

struct Tiled {
    CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    cuuint32_t rank = 2;
    std::uintptr_t address = 0x10000;
    cuuint64_t sizes[5] = {64, 64, 8, 4, 2};
    cuuint64_t strides[4] = {256, 16384, 131072, 524288};
    cuuint32_t box[5] = {8, 8, 1, 1, 1};
    cuuint32_t steps[5] = {1, 1, 1, 1, 1};
    CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
    CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
    CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
    CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
    CUtensorMap map{};

    CUresult encode() {
        return driver().cuTensorMapEncodeTiled(&map, type, rank, reinterpret_cast<void *>(address),
                                               sizes, strides, box, steps, interleave, swizzle,
                                               promotion, fill);
    }
};

CUresult encoded(const Tiled &tiled) {
    return Tiled(tiled).encode();
}

} // namespace

TEST_CASE("a tiled tensor map must follow the documented rules") {
    start("cc=9.0");
    const Tiled tiled;
    ok(encoded(tiled));
    constexpr auto fill_with_nan = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    check_changes(
        tiled, encoded,
        {{"null address", [](Tiled &t) { t.address = 0; }},
         {"size 0", [](Tiled &t) { t.sizes[1] = 0; }},
         {"size", [](Tiled &t) { t.sizes[1] = (cuuint64_t(1) << 32) + 1; }},
         {"large stride", [](Tiled &t) { t.strides[0] = cuuint64_t(1) << 40; }},
         {"box 0", [](Tiled &t) { t.box[1] = 0; }},
         {"box", [](Tiled &t) { t.box[1] = 257; }},
         {"box of 12 bytes", [](Tiled &t) { t.box[0] = 3; }},
         {"step 0", [](Tiled &t) { t.steps[1] = 0; }},
         {"step", [](Tiled &t) { t.steps[1] = 9; }},
         {"two dimensions", [](Tiled &t) { t.interleave = CU_TENSOR_MAP_INTERLEAVE_16B; }},
         {"not its own swizzle",
          [](Tiled &t) { t.rank = 3, t.interleave = CU_TENSOR_MAP_INTERLEAVE_32B; }},
         {"64 bytes", [](Tiled &t) { t.swizzle = CU_TENSOR_MAP_SWIZZLE_32B, t.box[0] = 16; }},
         {"swizzle", [](Tiled &t) { t.swizzle = static_cast<CUtensorMapSwizzle>(99); }},
         {"promotion", [](Tiled &t) { t.promotion = static_cast<CUtensorMapL2promotion>(-1); }},
         {"fill of integers",
          [](Tiled &t) { t.type = CU_TENSOR_MAP_DATA_TYPE_INT32, t.fill = fill_with_nan; }},
         {"32 bytes", [](Tiled &t) { t.swizzle = CU_TENSOR_MAP_SWIZZLE_32B, t.box[0] = 8; },
          CUDA_SUCCESS},
         {"rank 5", [](Tiled &t) { t.rank = 5, t.fill = fill_with_nan; }, CUDA_SUCCESS},
         {"rank 1", [](Tiled &t) { t.rank = 1; }, CUDA_SUCCESS}});
}

TEST_CASE("the address of a tensor map can be replaced") {
    start("cc=9.0");
    Tiled one, other;
    other.address = 0x20000;
    require_ok(one.encode());
    require_ok(other.encode());
    CHECK(std::memcmp(&one.map, &other.map, sizeof one.map) != 0);
    const auto replace = [&](std::uintptr_t address) {
        return driver().cuTensorMapReplaceAddress(&one.map, reinterpret_cast<void *>(address));
    };
    CHECK(replace(0) == invalid);
    ok(replace(0x20000));
    CHECK(std::memcmp(&one.map, &other.map, sizeof one.map) == 0);
    std::memset(&one.map, 0, sizeof one.map);
    CHECK(replace(0x20000) == invalid);
}

TEST_CASE("the corners of an im2col tensor map must be in range") {
    start("cc=9.0");
    Tiled tiled;
    tiled.rank = 4;
    int lower[3] = {-1, -1, 0}, upper[3] = {1, 1, 0};
    cuuint32_t channels = 8, pixels = 64;
    const auto encode = [&] {
        return driver().cuTensorMapEncodeIm2col(
            &tiled.map, tiled.type, tiled.rank, reinterpret_cast<void *>(tiled.address),
            tiled.sizes, tiled.strides, lower, upper, channels, pixels, tiled.steps,
            tiled.interleave, tiled.swizzle, tiled.promotion, tiled.fill);
    };
    ok(encode());
    lower[0] = -129;
    CHECK(encode() == invalid);
    lower[0] = -128;
    ok(encode());
    channels = 257;
    CHECK(encode() == invalid);
    channels = 8;
    pixels = 1025;
    CHECK(encode() == invalid);
}

TEST_CASE("tensor maps need compute capability 9.0") {
    start("cc=8.0");
    CHECK(encoded({}) == CUDA_ERROR_NOT_SUPPORTED);
}

#endif
