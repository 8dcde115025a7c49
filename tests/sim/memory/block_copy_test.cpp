// Copies of rows and layers against a byte-wise reference, in all modes.
#include "memory_kinds.hpp"

#include <random>

using namespace sim_test;

TEST_CASE("a copy of rows honors pitches and offsets") {
    const DeviceMemory device(64);
    const Bytes a = pattern(64, 4);
    std::memset(view(device, 64), 0xee, 64);
    CUDA_MEMCPY2D copy{.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = a.data(),
                       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                       .dstDevice = device,
                       .dstPitch = 8,
                       .WidthInBytes = 4,
                       .Height = 3};
    // A pitch of 0 means rows without gaps, counted from byte 0.
    CHECK(d.cuMemcpy2D(&copy) == good);
    for (std::size_t row = 0; row < 3; ++row) {
        CHECK(std::memcmp(view(device, 64) + 8 * row, a.data() + 4 * row, 4) == 0);
        CHECK(view(device, 64)[8 * row + 4] == 0xee);
    }
    copy.srcXInBytes = 2;
    copy.srcY = 1;
    CHECK(d.cuMemcpy2D(&copy) == good);
    for (std::size_t row = 0; row < 3; ++row) {
        CHECK(std::memcmp(view(device, 64) + 8 * row, a.data() + 6 * (row + 1) + 2, 4) == 0);
    }
}

TEST_CASE("arguments of row copies are checked") {
    const DeviceMemory device(MiB);
    const Bytes host(64 * KiB);
    const CUDA_MEMCPY2D base{.srcMemoryType = CU_MEMORYTYPE_HOST,
                             .srcHost = host.data(),
                             .srcPitch = 64,
                             .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                             .dstDevice = device,
                             .dstPitch = 64,
                             .WidthInBytes = 16,
                             .Height = 2};
    const auto with = [&](auto change) {
        CUDA_MEMCPY2D copy = base;
        change(copy);
        const CUresult status = d.cuMemcpy2D(&copy);
        CHECK(d.cuMemcpy2DUnaligned(&copy) == status);
        CHECK(d.cuMemcpy2DAsync(&copy, nullptr) == status);
        return status;
    };
    using C = CUDA_MEMCPY2D;
    CHECK(with([](C &) {}) == good);
    CHECK(with([](C &c) { c.WidthInBytes = 0; }) == good);
    CHECK(with([](C &c) { c.Height = 0; }) == good);
    CHECK(with([](C &c) { c.WidthInBytes = 0, c.srcHost = nullptr, c.dstDevice = 0; }) == good);
    CHECK(with([](C &c) { c.srcPitch = c.dstPitch = 0; }) == good);
    CHECK(with([](C &c) { c.Height = 1, c.srcPitch = c.dstPitch = 0; }) == good);
    CHECK(with([](C &c) { c.Height = 1, c.srcPitch = 8; }) == invalid);
    CHECK(with([](C &c) { c.srcPitch = 8; }) == invalid);
    CHECK(with([](C &c) { c.dstPitch = 15; }) == invalid);
    CHECK(with([](C &c) { c.srcPitch = 17, c.dstPitch = 19; }) == good);
    CHECK(with([](C &c) { c.dstPitch = std::size_t(1) << 31; }) == invalid);
    CHECK(with([](C &c) { c.Height = 1, c.dstPitch = std::size_t(1) << 32; }) == good);
    CHECK(with([](C &c) { c.Height = 1, c.srcPitch = std::size_t(1) << 32; }) == good);
    CHECK(with([](C &c) { c.Height = 16, c.dstPitch = 65536; }) == good);
    CHECK(with([](C &c) { c.Height = 17, c.dstPitch = 65536; }) == invalid);
    CHECK(with([](C &c) { c.Height = 16, c.dstPitch = 65536, c.dstDevice += 65520; }) == good);
    CHECK(with([](C &c) { c.Height = 16, c.dstPitch = 65536, c.dstDevice += 65521; }) == invalid);
    CHECK(with([](C &c) { c.srcMemoryType = static_cast<CUmemorytype>(0); }) == invalid);
    CHECK(with([](C &c) { c.srcMemoryType = static_cast<CUmemorytype>(9); }) == invalid);
    CHECK(with([](C &c) { c.srcHost = nullptr; }) == invalid);
    CHECK(with([](C &c) { c.dstDevice = 0; }) == invalid);
    CHECK(with([](C &c) { c.srcMemoryType = CU_MEMORYTYPE_UNIFIED; }) == invalid); // null address
    CHECK(with([&](C &c) {
              c.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
              c.srcDevice = as_device(host.data());
          }) == good);
    CHECK(with([](C &c) { c.srcMemoryType = CU_MEMORYTYPE_ARRAY; }) == invalid); // null array
    CHECK(with([](C &c) { c.srcXInBytes = 60; }) == invalid);
    CHECK(with([](C &c) { c.Height = 1, c.srcXInBytes = 60; }) == invalid);
    CHECK(with([](C &c) { c.dstXInBytes = 60; }) == invalid);
    CHECK(with([](C &c) { c.dstXInBytes = ~std::size_t(0); }) == invalid);
    CHECK(with([](C &c) { c.dstY = ~std::size_t(0); }) == invalid);
    CHECK(with([](C &c) { c.dstY = std::size_t(1) << 60; }) ==
          invalid); // the offset overflows in a real driver
    CHECK(with([](C &c) { c.WidthInBytes = ~std::size_t(0); }) == invalid);
    CHECK(with([](C &c) { c.Height = ~std::size_t(0); }) == invalid);
    CHECK(d.cuMemcpy2D(nullptr) == invalid);
    CHECK(d.cuMemcpy2DUnaligned(nullptr) == invalid);
    CHECK(d.cuMemcpy2DAsync(nullptr, nullptr) == invalid);
    synchronize();
}

TEST_CASE("arguments of layer copies are checked") {
    const DeviceMemory device(MiB);
    const Bytes host(64 * KiB);
    CUDA_MEMCPY3D base{.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host.data()};
    base.srcPitch = base.dstPitch = 64;
    base.srcHeight = base.dstHeight = 8;
    base.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    base.dstDevice = device;
    base.WidthInBytes = 16;
    base.Height = base.Depth = 2;
    const auto with = [&](auto change) {
        CUDA_MEMCPY3D copy = base;
        change(copy);
        const CUresult status = d.cuMemcpy3D(&copy);
        CHECK(d.cuMemcpy3DAsync(&copy, nullptr) == status);
        return status;
    };
    using C = CUDA_MEMCPY3D;
    CHECK(with([](C &) {}) == good);
    CHECK(with([](C &c) { c.Depth = 0; }) == good);
    CHECK(with([](C &c) { c.Height = 0; }) == good);
    CHECK(with([](C &c) { c.Depth = 1, c.srcHeight = 0; }) == good);
    CHECK(with([](C &c) { c.srcHeight = 0; }) == good);
    CHECK(with([](C &c) { c.srcHeight = 1; }) == invalid);
    CHECK(with([](C &c) { c.Depth = 1, c.srcHeight = 1; }) == invalid);
    CHECK(with([](C &c) { c.dstHeight = 1; }) == invalid);
    CHECK(with([](C &c) { c.srcY = 7; }) == invalid);
    CHECK(with([](C &c) { c.srcLOD = 1; }) == good);
    CHECK(with([](C &c) { c.reserved0 = &c; }) == good);
    CHECK(with([](C &c) { c.Height = 1, c.srcPitch = 0; }) == good);
    CHECK(with([](C &c) { c.Height = c.Depth = 1, c.srcPitch = c.srcHeight = 0; }) == good);
    CHECK(with([](C &c) { c.Height = c.Depth = 1, c.srcPitch = 8; }) == invalid);
    CHECK(with([](C &c) { c.dstPitch = std::size_t(1) << 32; }) == invalid);
    CHECK(with([](C &c) { c.dstHeight = std::size_t(1) << 40; }) == invalid);
    CHECK(with([](C &c) { c.dstHeight = std::size_t(1) << 60; }) == invalid);
    CHECK(with([](C &c) { c.Depth = ~std::size_t(0); }) == invalid);
    CHECK(with([](C &c) { c.dstZ = ~std::size_t(0) / 2; }) == invalid);
    CHECK(d.cuMemcpy3D(nullptr) == invalid);
    CHECK(d.cuMemcpy3DAsync(nullptr, nullptr) == invalid);
    CHECK(reported(d.cuMemcpy3DPeer(nullptr), "cuMemcpy3DPeer of null parameters") == invalid);
    CHECK(d.cuMemcpy3DPeerAsync(nullptr, nullptr) == invalid);
    expect_misuse("cuMemcpy3DPeerAsync of null parameters");
    synchronize();
}

TEST_CASE("random block copies give the same bytes as a reference") {
    start(GENERATE_COPY(from_range(all_modes())));
    std::mt19937 random(7);
    const auto below = [&](std::size_t limit) { return std::size_t(random() % limit); };
    constexpr std::size_t room = 64 * KiB;
    for (int round = 0; round < 60; ++round) {
        const auto source_kind = Memory::kinds[below(5)], target_kind = Memory::kinds[below(5)];
        const Bytes from = pattern(room, random()), to = pattern(room, random());
        Memory source(source_kind, from), target(target_kind, to);
        CUDA_MEMCPY3D c{};
        c.srcMemoryType = is_host(source_kind) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        c.dstMemoryType = is_host(target_kind) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        if (below(2) != 0) {
            c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
        }
        c.srcHost = as_host(source.address);
        c.srcDevice = source.address;
        c.dstHost = as_host(target.address);
        c.dstDevice = target.address;
        c.WidthInBytes = 1 + below(40);
        c.Height = 1 + below(8);
        c.Depth = 1 + below(6);
        c.srcXInBytes = below(20), c.srcY = below(4), c.srcZ = below(3);
        c.dstXInBytes = below(20), c.dstY = below(4), c.dstZ = below(3);
        c.srcPitch = below(4) == 0 ? 0 : c.srcXInBytes + c.WidthInBytes + below(30);
        c.dstPitch = below(4) == 0 ? 0 : c.dstXInBytes + c.WidthInBytes + below(30);
        c.srcHeight = below(4) == 0 ? 0 : c.srcY + c.Height + below(5);
        c.dstHeight = below(4) == 0 ? 0 : c.dstY + c.Height + below(5);
        const std::size_t source_pitch = c.srcPitch ? c.srcPitch : c.srcXInBytes + c.WidthInBytes;
        const std::size_t target_pitch = c.dstPitch ? c.dstPitch : c.dstXInBytes + c.WidthInBytes;
        const std::size_t source_rows = c.srcHeight ? c.srcHeight : c.srcY + c.Height;
        const std::size_t target_rows = c.dstHeight ? c.dstHeight : c.dstY + c.Height;
        Bytes expected = to;
        for (std::size_t z = 0; z < c.Depth; ++z) {
            for (std::size_t y = 0; y < c.Height; ++y) {
                for (std::size_t x = 0; x < c.WidthInBytes; ++x) {
                    expected[((c.dstZ + z) * target_rows + c.dstY + y) * target_pitch +
                             c.dstXInBytes + x] =
                        from[((c.srcZ + z) * source_rows + c.srcY + y) * source_pitch +
                             c.srcXInBytes + x];
                }
            }
        }
        const Stream stream(non_blocking);
        REQUIRE((below(2) == 0 ? d.cuMemcpy3D(&c) : d.cuMemcpy3DAsync(&c, stream)) == good);
        synchronize();
        CHECK((target.bytes() == expected));
    }
}
