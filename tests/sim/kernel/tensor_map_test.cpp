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

    CUresult encode(CUtensorMap *to) const {
        return driver().cuTensorMapEncodeTiled(to, type, rank, reinterpret_cast<void *>(address),
                                               sizes, strides, box, steps, interleave, swizzle,
                                               promotion, fill);
    }
    CUresult encode() { return encode(&map); }
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
        {{"null address", [](Tiled &t) { t.address = 0; }, CUDA_SUCCESS},
         {"large address", [](Tiled &t) { t.address = std::uintptr_t(1) << 57; }},
         {"large box", [](Tiled &t) { t.rank = 3, t.box[1] = t.box[2] = 256; }},
         {"type of 10.0", [](Tiled &t) { t.type = static_cast<CUtensorMapDataType>(13); }},
         {"swizzle of 10.0", [](Tiled &t) { t.swizzle = static_cast<CUtensorMapSwizzle>(4); }},
         {"size 0", [](Tiled &t) { t.sizes[1] = 0; }},
         {"size", [](Tiled &t) { t.sizes[1] = (cuuint64_t(1) << 32) + 1; }},
         {"large stride", [](Tiled &t) { t.strides[0] = cuuint64_t(1) << 40; }},
         {"box 0", [](Tiled &t) { t.box[1] = 0; }},
         {"box", [](Tiled &t) { t.box[1] = 257; }},
         {"box of 12 bytes", [](Tiled &t) { t.box[0] = 3; }},
         {"step 0", [](Tiled &t) { t.steps[1] = 0; }},
         {"step", [](Tiled &t) { t.steps[1] = 9; }},
         {"two dimensions", [](Tiled &t) { t.interleave = CU_TENSOR_MAP_INTERLEAVE_16B; }},
         {"any swizzle", [](Tiled &t) { t.rank = 3, t.interleave = CU_TENSOR_MAP_INTERLEAVE_32B; },
          CUDA_SUCCESS},
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
    CHECK(replace(0x20008) == invalid);
    CHECK(replace(std::uintptr_t(1) << 57) == invalid);
    check_misuse(driver().cuTensorMapReplaceAddress(nullptr, reinterpret_cast<void *>(0x20000)),
                 invalid, "without a map");
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
    lower[0] = 65; // no pixels: the image has 64, and one more by the upper corner
    CHECK(encode() == invalid);
    lower[0] = 64;
    ok(encode());
    lower[0] = 0;
    channels = 257;
    CHECK(encode() == invalid);
    channels = 8;
    pixels = 1025;
    CHECK(encode() == invalid);
}

TEST_CASE("a tensor map that is not aligned is noted") {
    start("cc=9.0");
    Tiled tiled;
    require_ok(tiled.encode());
    CHECK(notes().empty());
    alignas(64) char bytes[3 * sizeof(CUtensorMap)] = "";
    for (const std::size_t offset : {1u, 16u, 32u}) {
        INFO(offset);
        auto *map = reinterpret_cast<CUtensorMap *>(bytes + offset);
        ok(tiled.encode(map));
        CHECK(std::memcmp(bytes + offset, &tiled.map, sizeof tiled.map) == 0);
        ok(driver().cuTensorMapReplaceAddress(map, reinterpret_cast<void *>(0x20000)));
        REQUIRE(notes().size() == 1);
        CHECK(notes().front().find("not aligned to 64 bytes") != std::string::npos);
    }
    CHECK(tiled.encode(nullptr) == invalid);
}

#if CUDA_VERSION >= 12080
TEST_CASE("a wide im2col tensor map must have pixels") {
    struct Wide : Tiled {
        int lower = -3, upper = 3;
        cuuint32_t channels = 8, pixels = 64;
        CUtensorMapIm2ColWideMode mode = CU_TENSOR_MAP_IM2COL_WIDE_MODE_W;
    };
    const auto encode = [](const Wide &w) {
        CUtensorMap map{};
        return driver().cuTensorMapEncodeIm2colWide(
            &map, w.type, w.rank, reinterpret_cast<void *>(w.address), w.sizes, w.strides, w.lower,
            w.upper, w.channels, w.pixels, w.steps, w.interleave, w.mode, w.swizzle, w.promotion,
            w.fill);
    };
    start("cc=9.0");
    Wide wide;
    wide.rank = 4;
    ok(encode(wide));
    check_changes(wide, encode,
                  {{"rank 2", [](Wide &w) { w.rank = 2; }},
                   {"mode", [](Wide &w) { w.mode = static_cast<CUtensorMapIm2ColWideMode>(2); }},
                   {"lower corner", [](Wide &w) { w.lower = -129; }},
                   {"upper corner", [](Wide &w) { w.upper = 128; }},
                   {"no pixel", [](Wide &w) { w.lower = 67; }},
                   {"channels", [](Wide &w) { w.channels = 257; }},
                   {"pixels 0", [](Wide &w) { w.pixels = 0; }},
                   {"pixels", [](Wide &w) { w.pixels = 1025; }},
                   {"one pixel", [](Wide &w) { w.lower = 66; }, CUDA_SUCCESS},
                   {"far corners of rank 3",
                    [](Wide &w) { w.rank = 3, w.lower = -32768, w.upper = 32767; }, CUDA_SUCCESS}});
}
#endif

TEST_CASE("tensor maps need a context and compute capability 9.0") {
    start("cc=9.0");
    require_ok(driver().cuCtxSetCurrent(nullptr));
    CHECK(encoded({}) == CUDA_ERROR_INVALID_CONTEXT);
    start("cc=8.0");
    CHECK(encoded({}) == CUDA_ERROR_NOT_SUPPORTED);
}

#endif
