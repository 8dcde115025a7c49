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
    ok(driver().cuMemcpy2D(&copy));
    for (std::size_t row = 0; row < 3; ++row) {
        CHECK(std::memcmp(view(device, 64) + 8 * row, a.data() + 4 * row, 4) == 0);
        CHECK(view(device, 64)[8 * row + 4] == 0xee);
    }
    copy.srcXInBytes = 2;
    copy.srcY = 1;
    ok(driver().cuMemcpy2D(&copy));
    for (std::size_t row = 0; row < 3; ++row) {
        CHECK(std::memcmp(view(device, 64) + 8 * row, a.data() + 6 * (row + 1) + 2, 4) == 0);
    }
}

TEST_CASE("rows and layers of a copy must fit into their pitch, height and memory") {
    const DeviceMemory device(MiB);
    const Bytes host(64 * KiB);
    CUDA_MEMCPY3D base{.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host.data()};
    base.srcPitch = base.dstPitch = 64;
    base.srcHeight = base.dstHeight = 8;
    base.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    base.dstDevice = device;
    base.WidthInBytes = 16;
    base.Height = base.Depth = 2;
    constexpr std::size_t most = ~std::size_t(0), G32 = std::size_t(1) << 32;
    using C = CUDA_MEMCPY3D;
    check_changes(
        base, [](const C &copy) { return driver().cuMemcpy3D(&copy); },
        {{"no height of the source", [](C &c) { c.srcHeight = 0; }, CUDA_SUCCESS},
         {"a pitch between", [](C &c) { c.srcPitch = 17, c.dstPitch = 19; }, CUDA_SUCCESS},
         {"one row, wide", [](C &c) { c.Height = c.Depth = 1, c.dstPitch = G32; }, CUDA_SUCCESS},
         {"one row, wide source", [](C &c) { c.Height = c.Depth = 1, c.srcPitch = G32; },
          CUDA_SUCCESS},
         {"whole",
          [](C &c) { c.Depth = 1, c.dstPitch = 65536, c.Height = c.srcHeight = c.dstHeight = 16; },
          CUDA_SUCCESS},
         {"to the end",
          [](C &c) {
              c.Depth = 1, c.Height = c.srcHeight = c.dstHeight = 16;
              c.dstPitch = 65536, c.dstDevice += 65520;
          },
          CUDA_SUCCESS},
         {"past the end",
          [](C &c) {
              c.Depth = 1, c.Height = c.srcHeight = c.dstHeight = 16;
              c.dstPitch = 65536, c.dstDevice += 65521;
          }},
         {"past the row of the source", [](C &c) { c.srcXInBytes = 60; }},
         {"past the row of the target", [](C &c) { c.dstXInBytes = 60; }},
         {"past the row, one row", [](C &c) { c.Height = 1, c.srcXInBytes = 60; }},
         {"past the height", [](C &c) { c.srcY = 7; }},
         {"a short target", [](C &c) { c.dstHeight = 1; }},
         {"a null address", [](C &c) { c.srcMemoryType = CU_MEMORYTYPE_UNIFIED; }},
         // These overflow in a real driver.
         {"an x beyond", [](C &c) { c.dstXInBytes = most; }},
         {"a row beyond", [](C &c) { c.dstY = most; }},
         {"a row far beyond", [](C &c) { c.dstY = std::size_t(1) << 60; }},
         {"a layer beyond", [](C &c) { c.dstZ = most / 2; }},
         {"too wide", [](C &c) { c.WidthInBytes = most; }},
         {"too high", [](C &c) { c.Height = most; }},
         {"too deep", [](C &c) { c.Depth = most; }},
         {"a pitch beyond", [](C &c) { c.dstPitch = G32; }},
         {"a height beyond", [](C &c) { c.dstHeight = std::size_t(1) << 40; }},
         {"a height far beyond", [](C &c) { c.dstHeight = std::size_t(1) << 60; }}});
    CHECK(reported(driver().cuMemcpy3DPeer(nullptr), "cuMemcpy3DPeer of null parameters") ==
          invalid);
    CHECK(reported(driver().cuMemcpy3DPeerAsync(nullptr, nullptr),
                   "cuMemcpy3DPeerAsync of null parameters") == invalid);
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
        require_ok(
            (below(2) == 0 ? driver().cuMemcpy3D(&c) : driver().cuMemcpy3DAsync(&c, stream)));
        synchronize();
        CHECK((target.bytes() == expected));
    }
}
