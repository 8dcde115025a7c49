// Arrays and mipmapped arrays, and copies of them.
#include "base/checks.hpp"
#include "memory_tools.hpp"

#include <random>

using namespace sim_test;

namespace {

constexpr auto no_handle = CUDA_ERROR_INVALID_HANDLE;
constexpr int u8 = CU_AD_FORMAT_UNSIGNED_INT8, f32 = CU_AD_FORMAT_FLOAT;
constexpr unsigned int layered = CUDA_ARRAY3D_LAYERED, cubemap = CUDA_ARRAY3D_CUBEMAP;

CUDA_ARRAY3D_DESCRIPTOR describe(std::size_t width, std::size_t height, std::size_t depth,
                                 int format = u8, unsigned int channels = 1,
                                 unsigned int flags = 0) {
    return {width, height, depth, static_cast<CUarray_format>(format), channels, flags};
}

CUarray create(const CUDA_ARRAY3D_DESCRIPTOR &description) {
    return got<CUarray>(&Driver::cuArray3DCreate, out, &description);
}

CUresult try_create(std::size_t width, std::size_t height, std::size_t depth, int format,
                    unsigned int channels, unsigned int flags) {
    const auto description = describe(width, height, depth, format, channels, flags);
    CUarray array = nullptr;
    const CUresult created = driver().cuArray3DCreate(&array, &description);
    if (created == CUDA_SUCCESS) {
        destroy(array);
    }
    return created;
}

} // namespace

TEST_CASE("the limits of an array depend on its kind, its channels on its format") {
    start("memory=140GiB");
    constexpr unsigned int gather = CUDA_ARRAY3D_TEXTURE_GATHER;
    constexpr int unorm_x4 = 0xc2;
    const Calls create(try_create);
    create[CUDA_SUCCESS] = {{131072, 65536, 0, u8, 1, 0},
                            {16, 0, 6, u8, 1, layered},
                            {16, 16, 12, u8, 1, cubemap | layered},
                            {16, 16, 0, f32, 1, gather},
                            {16, 0, 0, unorm_x4, 4, 0}};
    create[invalid] = {{131073, 1, 0, u8, 1, 0},
                       {64, 65537, 0, u8, 1, 0},
                       {20000, 16, 16, u8, 1, 0},
                       {16, 16, 4000, u8, 1, layered},
                       {16, 16, 7, u8, 1, cubemap | layered},
                       {16, 16, 16, f32, 1, gather},
                       {16, 0, 0, unorm_x4, 2, 0}};
}

TEST_CASE("an array uses device memory and is one leak") {
    start("memory=1MiB");
    {
        const Array array(describe(512, 512, 0, u8, 2));
        CHECK(free_memory() == 512 * KiB);
        CHECK(try_create(1024, 1024, 0, u8, 1, 0) == CUDA_ERROR_OUT_OF_MEMORY);
        const auto lines = leaks();
        REQUIRE(lines.size() == 1); // its memory is not listed separately
        CHECK(lines[0].find("array") == 0);
    }
    CHECK(free_memory() == MiB);
}

TEST_CASE("an array reports its description also without a context") {
    const CUDA_ARRAY_DESCRIPTOR given{64, 32, CU_AD_FORMAT_FLOAT, 4};
    const auto array = got<CUarray>(&Driver::cuArrayCreate, out, &given);
    const WithoutContext none;
    const auto read = got<CUDA_ARRAY_DESCRIPTOR>(&Driver::cuArrayGetDescriptor, out, array);
    CHECK(std::memcmp(&read, &given, sizeof read) == 0);
    destroy(array);
}

TEST_CASE("an invalid array handle fails and is reported") {
    const CUarray array = create(describe(16, 16, 0));
    const Stream stream(non_blocking);
    char local[16];
    CUDA_ARRAY3D_DESCRIPTOR wide{};
    destroy(array);
    // A real driver crashes here.
    CHECK(reported(driver().cuArrayDestroy(array), "use of a destroyed array") == no_handle);
    CHECK(reported(driver().cuMemcpyAtoH(local, array, 0, 16), "use of a destroyed array") ==
          invalid);
    CHECK(driver().cuArray3DGetDescriptor(&wide, reinterpret_cast<CUarray>(stream.get())) ==
          no_handle);
    expect_misuse("an array handle was expected, but this is stream");
}

TEST_CASE("copies of bytes of an array stay within one row") {
    const Array line(describe(64, 0, 0, f32, 4)), plane(describe(64, 32, 0, f32, 4));
    const DeviceMemory device(1024);
    const Stream stream(non_blocking);
    const Bytes bytes = pattern(2048, 1);
    Bytes read(2048);
    const void *host = bytes.data();
    ok(driver().cuMemcpyHtoA(line, 0, host, 1024));
    ok(driver().cuMemcpyAtoH(read.data(), line, 0, 1024));
    CHECK(std::memcmp(read.data(), host, 1024) == 0);
    ok(driver().cuMemcpyHtoA(line, 1, host, 16)); // less than an element
    ok(driver().cuMemcpyAtoH(read.data(), line, 0, 17));
    CHECK(std::memcmp(read.data() + 1, host, 16) == 0);
    ok(driver().cuMemcpyHtoA(line, 0, host, 1024));
    ok(driver().cuMemcpyAtoD(device, line, 512, 16));
    CHECK(std::memcmp(view(device, 16), bytes.data() + 512, 16) == 0);
    ok(driver().cuMemcpyDtoA(line, 32, device, 16));
    ok(driver().cuMemcpyAtoA(plane, 64, line, 32, 16));
    ok(driver().cuMemcpyAtoHAsync(read.data(), plane, 64, 16, stream));
    CHECK(std::memcmp(read.data(), bytes.data() + 512, 16) == 0);
    ok(driver().cuMemcpyHtoAAsync(line, 0, host, 16, stream));
    ok(driver().cuMemcpyHtoA(plane, 0, host, 1024)); // at most one row
    CHECK(driver().cuMemcpyHtoA(line, ~std::size_t(0), host, 32) == invalid);
    {
        const WithoutContext none;
        CHECK(driver().cuMemcpyHtoA(line, 0, host, 16) == CUDA_ERROR_INVALID_CONTEXT);
        ok(driver().cuMemcpyHtoAAsync(line, 0, host, 16, stream));
    }
    synchronize();
}

TEST_CASE("block copies must lie within an array") {
    const Array plane(describe(64, 32, 0, f32, 4)), line(describe(64, 0, 0, f32, 4));
    const Bytes bytes(64 * KiB);
    CUDA_MEMCPY2D base{.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = bytes.data(),
                       .srcPitch = 2048,
                       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                       .dstArray = plane,
                       .WidthInBytes = 1024,
                       .Height = 32};
    const auto with = [&](auto change) {
        CUDA_MEMCPY2D copy = base;
        change(copy);
        return driver().cuMemcpy2D(&copy);
    };
    using C = CUDA_MEMCPY2D;
    ok(with([](C &) {}));
    CHECK(with([](C &c) { c.Height = 33; }) == invalid);
    CHECK(with([](C &c) { c.WidthInBytes = 1040; }) == invalid);
    ok(with([](C &c) { c.WidthInBytes = 8; }));
    ok(with([](C &c) { c.WidthInBytes = 16, c.dstXInBytes = 8; }));
    CHECK(with([](C &c) { c.WidthInBytes = 16, c.dstY = 1; }) == invalid);
    ok(with([](C &c) { c.WidthInBytes = 16, c.dstY = 1, c.Height = 31; }));
    ok(with([&](C &c) { c.WidthInBytes = 16, c.dstArray = line, c.Height = 1; }));
}

TEST_CASE("random block copies between arrays give the same bytes as a reference") {
    start(GENERATE_COPY(from_range(all_modes())));
    std::mt19937 random(3);
    const auto below = [&](std::size_t limit) { return std::size_t(random() % limit); };
    const std::size_t width = 37, height = 11, depth = 5, bytes = width * height * depth;
    const Stream stream(non_blocking);
    const auto whole = [&](CUarray array, Bytes &host, bool read) {
        CUDA_MEMCPY3D c{};
        c.srcMemoryType = read ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
        c.dstMemoryType = read ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
        c.srcArray = c.dstArray = array;
        c.srcHost = c.dstHost = host.data();
        c.WidthInBytes = width;
        c.Height = height;
        c.Depth = depth;
        require_ok(driver().cuMemcpy3DAsync(&c, stream));
    };
    for (int round = 0; round < 30; ++round) {
        const unsigned int flags = below(2) != 0 ? CUDA_ARRAY3D_LAYERED : 0;
        const Array source(describe(width, height, depth, u8, 1, flags));
        const Array target(describe(width, height, depth));
        Bytes from = pattern(bytes, random()), to = pattern(bytes, random()), result(bytes);
        whole(source, from, false);
        whole(target, to, false);
        CUDA_MEMCPY3D c{};
        c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        c.srcArray = source;
        c.dstArray = target;
        c.WidthInBytes = 1 + below(width);
        c.Height = 1 + below(height);
        c.Depth = 1 + below(depth);
        c.srcXInBytes = below(width - c.WidthInBytes + 1);
        c.dstXInBytes = below(width - c.WidthInBytes + 1);
        c.srcY = below(height - c.Height + 1);
        c.dstY = below(height - c.Height + 1);
        c.srcZ = below(depth - c.Depth + 1);
        c.dstZ = below(depth - c.Depth + 1);
        require_ok(driver().cuMemcpy3DAsync(&c, stream));
        whole(target, result, true);
        Bytes expected = to;
        for (std::size_t z = 0; z < c.Depth; ++z) {
            for (std::size_t y = 0; y < c.Height; ++y) {
                for (std::size_t x = 0; x < c.WidthInBytes; ++x) {
                    expected[((c.dstZ + z) * height + c.dstY + y) * width + c.dstXInBytes + x] =
                        from[((c.srcZ + z) * height + c.srcY + y) * width + c.srcXInBytes + x];
                }
            }
        }
        CHECK((result == expected));
    }
}

TEST_CASE("destroying an array that enqueued work needs is a misuse") {
    start("mode=adversarial");
    const CUarray array = create(describe(64, 0, 0));
    void *pinned = allocate_pinned(64);
    const CUstream stream = make_stream(non_blocking);
    require_ok(driver().cuMemcpyHtoAAsync(array, 0, pinned, 64, stream));
    ok(reported(driver().cuArrayDestroy(array), "memory of an array"));
    CHECK(driver().cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuse("use of a destroyed array");
    require_ok(driver().cuDevicePrimaryCtxReset(0));
}

TEST_CASE("levels of a mipmapped array are separate arrays owned by it") {
    const auto description = describe(64, 32, 0, f32, 1);
    const auto whole = got<CUmipmappedArray>(&Driver::cuMipmappedArrayCreate, out, &description, 3);
    CUarray level = nullptr;
    const auto level_of = [&](unsigned int number) {
        return got<CUarray>(&Driver::cuMipmappedArrayGetLevel, out, whole, number);
    };
    for (const unsigned int number : {0U, 1U, 2U}) {
        level = level_of(number);
        CHECK(level == level_of(number));
        CUDA_ARRAY3D_DESCRIPTOR part{};
        CHECK(got(driver().cuArray3DGetDescriptor(&part, level), part).Width ==
              std::size_t(64) >> number);
        CHECK(part.Height == std::size_t(32) >> number);
        CHECK(part.Depth == 0);
        const Bytes bytes = pattern(part.Width * 4, number);
        ok(driver().cuMemcpyHtoA(level, 0, bytes.data(), bytes.size()));
    }
    for (const unsigned int number : {0U, 1U, 2U}) { // levels do not overlap
        Bytes read((std::size_t(64) >> number) * 4);
        ok(driver().cuMemcpyAtoH(read.data(), level_of(number), 0, read.size()));
        CHECK((read == pattern(read.size(), number)));
    }
    ok(driver().cuArrayDestroy(level_of(2))); // as measured
    expect_misuse("cuArrayDestroy of a level of mipmapped array");
    CHECK(leaks().size() == 1);
    {
        const WithoutContext none;
        level = level_of(1);
        ok(driver().cuMipmappedArrayDestroy(whole));
    }
    char local[16];
    CHECK(reported(driver().cuMemcpyAtoH(local, level, 0, 16), "use of a destroyed array") ==
          invalid);
}

TEST_CASE("the number of levels is limited to 1 and above and by the size") {
    const auto description = describe(64, 32, 0, f32, 1);
    for (const auto &[wanted, made] : {std::pair{0U, 1U}, {20U, 7U}}) { // as measured
        const auto whole =
            got<CUmipmappedArray>(&Driver::cuMipmappedArrayCreate, out, &description, wanted);
        auto level = got<CUarray>(&Driver::cuMipmappedArrayGetLevel, out, whole, made - 1);
        CHECK(driver().cuMipmappedArrayGetLevel(&level, whole, made) == invalid);
        require_ok(driver().cuMipmappedArrayDestroy(whole));
    }
}

#if CUDA_VERSION >= 11060
TEST_CASE("copying to an array without memory fails the context") {
    const CUarray deferred = create(describe(64, 64, 0, u8, 1, CUDA_ARRAY3D_DEFERRED_MAPPING));
    const CUarray sparse = create(describe(1024, 1024, 0, u8, 1, CUDA_ARRAY3D_SPARSE));
    const CUarray plain = create(describe(64, 64, 0));
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
    CHECK(got(driver().cuArrayGetMemoryRequirements(&needs, deferred, 0), needs).size == 65536);
    CHECK(needs.alignment == 65536);
    const auto tiles =
        got<CUDA_ARRAY_SPARSE_PROPERTIES>(&Driver::cuArrayGetSparseProperties, out, sparse);
    CHECK(numbers(tiles.tileExtent.depth, tiles.miptailFirstLevel, tiles.miptailSize,
                  tiles.flags) == numbers(1, 0, 0, 0));
    CHECK(free_memory() == 8 * GiB - 64 * 64);
    // The call returns after reading the source. The failure is reported by later calls, including
    // all that take an array.
    constexpr auto failed = CUDA_ERROR_LAUNCH_FAILED;
    char local[16] = {};
    ok(driver().cuMemcpyHtoA(deferred, 0, local, 16));
    CHECK(reported(driver().cuCtxSynchronize(), "copy of an array without memory") == failed);
    CUDA_ARRAY_DESCRIPTOR flat{};
    CUDA_ARRAY3D_DESCRIPTOR wide{};
    CUarray plane = nullptr;
    CHECK(driver().cuArrayDestroy(deferred) == failed); // it is destroyed all the same
    CHECK(leaks().empty());
    CHECK(lines_of(&cushim_sim::lost).size() == 3); // the other arrays and the context
    CHECK(driver().cuArrayGetDescriptor(&flat, plain) == failed);
    CHECK(driver().cuArrayGetDescriptor(nullptr, plain) == failed);
    CHECK(driver().cuArrayGetDescriptor(&flat, nullptr) == no_handle);
    CHECK(driver().cuArray3DGetDescriptor(&wide, plain) == failed);
    CHECK(driver().cuArrayGetDescriptor(&flat, deferred) == failed);
    CHECK(driver().cuArrayGetPlane(&plane, plain, 0) == failed);
    CHECK(driver().cuMemcpyHtoA(plain, 0, local, 16) == failed);
    CHECK(driver().cuMemcpyHtoA(nullptr, 0, local, 16) == failed);
    CHECK(driver().cuMipmappedArrayCreate(nullptr, &wide, 1) == failed);
    require_ok(driver().cuDevicePrimaryCtxReset(0));
    CHECK(leaks().empty());
}
#endif
