// Memsets.
#include "memory_kinds.hpp"

using namespace sim_test;

TEST_CASE("memsets write elements of each size in one and several rows") {
    start(GENERATE_COPY(from_range(all_modes())));
    const DeviceMemory device(64);
    const Stream stream(non_blocking);
    // Expects `bytes` in each row of 16 bytes, starting at byte 8.
    const auto sets = [&](std::size_t rows, const Bytes &bytes, auto call) {
        std::memset(view(device, 64), 0xee, 64);
        ok(call());
        synchronize();
        Bytes expected(64, 0xee);
        for (std::size_t row = 0; row < rows; ++row) {
            std::memcpy(expected.data() + 8 + row * 16, bytes.data(), bytes.size());
        }
        CHECK(contents(device, 64) == expected);
    };
    const CUdeviceptr at = device + 8;
    sets(1, {0x12, 0x12, 0x12}, [&] { return driver().cuMemsetD8(at, 0x12, 3); });
    sets(1, {0x34, 0x12, 0x34, 0x12}, [&] { return driver().cuMemsetD16(at, 0x1234, 2); });
    sets(1, {0x78, 0x56, 0x34, 0x12}, [&] { return driver().cuMemsetD32(at, 0x12345678, 1); });
    sets(1, {0x12, 0x12, 0x12}, [&] { return driver().cuMemsetD8Async(at, 0x12, 3, stream); });
    sets(1, {0x34, 0x12}, [&] { return driver().cuMemsetD16Async(at, 0x1234, 1, stream); });
    sets(1, {0x78, 0x56, 0x34, 0x12},
         [&] { return driver().cuMemsetD32Async(at, 0x12345678, 1, stream); });
    sets(3, Bytes(5, 1), [&] { return driver().cuMemsetD2D8(at, 16, 1, 5, 3); });
    sets(3, Bytes(6, 2), [&] { return driver().cuMemsetD2D16(at, 16, 0x0202, 3, 3); });
    sets(3, Bytes(8, 3), [&] { return driver().cuMemsetD2D32(at, 16, 0x03030303, 2, 3); });
    sets(3, Bytes(5, 4), [&] { return driver().cuMemsetD2D8Async(at, 16, 4, 5, 3, stream); });
    sets(3, Bytes(6, 5), [&] { return driver().cuMemsetD2D16Async(at, 16, 0x0505, 3, 3, stream); });
    sets(3, Bytes(8, 6),
         [&] { return driver().cuMemsetD2D32Async(at, 16, 0x06060606, 2, 3, stream); });
}

TEST_CASE("a memset must lie within memory that is known to CUDA") {
    constexpr std::size_t size = MiB, huge = ~std::size_t(0);
    const CUdeviceptr device = allocate(size);
    std::vector<char> own(64);
    const RegisteredMemory registered(own.data(), own.size());
    const Stream stream(non_blocking);
    const Calls d8(&Driver::cuMemsetD8);
    const Calls d16(&Driver::cuMemsetD16);
    const Calls d32(&Driver::cuMemsetD32);
    d8[CUDA_SUCCESS] = {{device, 1, size}, {as_device(registered), 1, 16}};
    d8[invalid] = {{device, 1, size + 1}, {device + size - 1, 1, 2}};
    d32[CUDA_SUCCESS] = {{device, 1, size / 4}};
    d32[invalid] = {{device, 1, size / 4 + 1}};
    d32[CUDA_SUCCESS] = {{device, 1, std::size_t(1) << 62}}; // the size in bytes wraps to 0
    expect_misuse("exceeds the address space");
    d16[invalid] = {
        {device, 1, (std::size_t(1) << 63) + size}}; // the size in bytes wraps to twice the memory
    expect_misuse("exceeds the address space");
    const Calls rows(&Driver::cuMemsetD2D8);
    rows[CUDA_SUCCESS] = {{device, 8, 1, 16, 1},
                          {device, 64, 1, 4, 0},
                          {device, 65536, 1, 16, 16},
                          {device + 65520, 65536, 1, 16, 16}};
    rows[invalid] = {{device, 65536, 1, 16, 17},
                     {device + 65521, 65536, 1, 16, 16},
                     {device, huge, 1, 16, 16} /* overflows in a real driver */,
                     {device, 64, 1, huge, huge}};
    CHECK(driver().cuMemsetD8Async(device, 1, size + 1, stream) == invalid);
    release(device);
    CHECK(reported(driver().cuMemsetD8(device, 1, 16), "use of memory that was freed") == invalid);
}

TEST_CASE("a memset of memory that its device cannot access is reported") {
    start("devices=2");
    const MemoryElsewhere there(64);
    constexpr char text[] = " on device 0 of memory that it cannot access";
    CHECK(reported(driver().cuMemsetD8(there, 1, 16), "cuMemsetD8" + std::string(text)) == invalid);
    CHECK(reported(driver().cuMemsetD8Async(there, 1, 16, nullptr),
                   "cuMemsetD8Async" + std::string(text)) == invalid);
}

TEST_CASE("a memset fails if its device loses access before it runs") {
    start("devices=2;mode=adversarial;stall=0");
    const MemoryElsewhere there(64);
    const CUstream stream = make_stream(non_blocking);
    require_ok(driver().cuCtxEnablePeerAccess(there.context(), 0));
    ok(driver().cuMemsetD8Async(there, 1, 16, stream));
    require_ok(driver().cuCtxDisablePeerAccess(there.context()));
    CHECK(driver().cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuse("cuMemsetD8Async on device 0 of memory that it cannot access");
    require_ok(driver().cuDevicePrimaryCtxReset(0));
}

TEST_CASE("a synchronous memset waits for host memory only") {
    start("mode=adversarial");
    const DeviceMemory device(64);
    std::memset(view(device, 64), 0, 64);
    auto *pinned = static_cast<unsigned char *>(allocate_pinned(64));
    ok(driver().cuMemsetD8(device, 5, 64));
    CHECK(view(device, 64)[0] == 0);
    ok(driver().cuMemsetD8(as_device(pinned), 5, 64));
    CHECK(pinned[63] == 5);
    synchronize();
    CHECK(view(device, 64)[0] == 5);
    release(pinned);
}
