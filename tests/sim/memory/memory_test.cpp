// Device memory: allocation, its limits and its end, addresses.
#include "memory_tools.hpp"

#include <map>
#include <random>
#include <set>

using namespace sim_test;

TEST_CASE("allocations are refused as the measured driver refuses them") {
    start();
    CUdeviceptr address = 0;
    CHECK(d.cuMemAlloc(&address, 0) == invalid);
    CHECK(d.cuMemAlloc(nullptr, 16) == invalid);
    CHECK(d.cuMemAlloc(&address, std::size_t(1) << 50) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d.cuMemAlloc(&address, ~std::size_t(0)) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d.cuMemFree(0) == good);
    CHECK(d.cuMemFree(0x1234) == invalid);
    int local = 0;
    CHECK(d.cuMemFree(as_device(&local)) == invalid);
}

TEST_CASE("an output of a failed allocation is no address") {
    start();
    CUdeviceptr address = 0;
    CHECK(d.cuMemAlloc(&address, 0) == invalid);
    CHECK(address == static_cast<CUdeviceptr>(0xbdbdbdbdbdbdbdbd));
}

TEST_CASE("memory is freed once, by its first address") {
    start();
    const CUdeviceptr address = allocate(4096);
    CHECK(d.cuMemFree(address + 16) == invalid);
    expect_misuse("cuMemFree of an address inside device memory");
    CHECK(d.cuMemFree(address) == good);
    CHECK(d.cuMemFree(address) == invalid);
    expect_misuse("cuMemFree of memory that was freed: device memory");
    CHECK(d.cuMemFree(address + 16) == invalid);
    expect_misuse("at offset 16");
}

TEST_CASE("only device memory is freed by cuMemFree") {
    start();
    const PinnedMemory pinned(4096);
    std::vector<char> own(4096);
    REQUIRE(d.cuMemHostRegister(own.data(), own.size(), 0) == good);
    CHECK(d.cuMemFree(as_device(pinned)) == invalid);
    expect_misuse("cuMemFree of pinned host memory");
    CHECK(d.cuMemFree(as_device(own.data())) == invalid);
    expect_misuse("cuMemFree of registered host memory");
    const ManagedMemory managed(64);
    REQUIRE(d.cuMemHostUnregister(own.data()) == good);
}

TEST_CASE("what needs a context and what does not") {
    start();
    const CUdeviceptr address = allocate(4096);
    {
        const WithoutContext none;
        CUdeviceptr other = 0;
        std::size_t size = 0;
        constexpr auto no_context = CUDA_ERROR_INVALID_CONTEXT;
        CHECK(d.cuMemAlloc(&other, 64) == no_context);
        CHECK(d.cuMemAlloc(&other, 0) == no_context);
        CHECK(d.cuMemAlloc(nullptr, 0) == no_context);
        CHECK(d.cuMemAllocPitch(&other, &size, 64, 4, 4) == no_context);
        CHECK(d.cuMemGetInfo(&size, &size) == no_context);
        CHECK(d.cuMemGetInfo(nullptr, nullptr) == no_context);
        CHECK(d.cuMemGetAddressRange(&other, &size, address) == no_context);
        CHECK(d.cuMemFree(0x1234) == invalid);
        CHECK(d.cuMemFree(0) == good);
        CHECK(d.cuMemFree(address) == good);
    }
}

TEST_CASE("nothing is allocated before cuInit") {
    sim_control().reset();
    CUdeviceptr address = 0;
    CHECK(d.cuMemAlloc(&address, 64) == CUDA_ERROR_NOT_INITIALIZED);
}

TEST_CASE("the memory of a context that was reset is gone") {
    start();
    const CUdeviceptr address = allocate(4096);
    void *pinned = allocate_pinned(64);
    REQUIRE(d.cuDevicePrimaryCtxReset(0) == good);
    CHECK(d.cuMemFree(address) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(d.cuMemFreeHost(pinned) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CUdeviceptr other = 0;
    CHECK(d.cuMemAlloc(&other, 64) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(sim_control().view(address, 1) == nullptr);
    CHECK(leaks().empty());
}

TEST_CASE("address ranges") {
    start();
    const DeviceMemory address(1000);
    const PinnedMemory pinned(100);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    for (const CUdeviceptr inside : {address + 0, address + 1, address + 999}) {
        CHECK(got(d.cuMemGetAddressRange(&base, &size, inside), base) == address);
        CHECK(size == 1000);
    }
    CHECK(d.cuMemGetAddressRange(nullptr, &size, address) == good);
    CHECK(d.cuMemGetAddressRange(&base, nullptr, address) == good);
    CHECK(d.cuMemGetAddressRange(nullptr, nullptr, address) == good);
    CHECK(got(d.cuMemGetAddressRange(&base, &size, as_device(pinned) + 99), size) == 100);
    CHECK(d.cuMemGetAddressRange(&base, &size, address + 1000) == CUDA_ERROR_NOT_FOUND);
    CHECK(d.cuMemGetAddressRange(&base, &size, as_device(&base)) == CUDA_ERROR_NOT_FOUND);
    CHECK(d.cuMemGetAddressRange(&base, &size, 0) == CUDA_ERROR_NOT_FOUND);
}

TEST_CASE("pitched allocations") {
    start();
    CUdeviceptr address = 0;
    std::size_t pitch = 0;
    for (const unsigned int element : {0U, 3U, 32U}) {
        CHECK(d.cuMemAllocPitch(&address, &pitch, 100, 3, element) == invalid);
    }
    const std::map<std::size_t, std::size_t> pitches{{1, 512},   {100, 512},  {511, 512},
                                                     {512, 512}, {513, 1024}, {4096, 4096}};
    for (const auto &[width, expected] : pitches) {
        for (const unsigned int element : {4U, 8U, 16U}) {
            CHECK(got(d.cuMemAllocPitch(&address, &pitch, width, 3, element), pitch) == expected);
            std::size_t size = 0;
            CHECK(got(d.cuMemGetAddressRange(nullptr, &size, address), size) == 3 * pitch);
            release(address);
        }
    }
    CHECK(d.cuMemAllocPitch(&address, &pitch, 0, 3, 4) == invalid);
    CHECK(d.cuMemAllocPitch(&address, &pitch, 3, 0, 4) == invalid);
    CHECK(d.cuMemAllocPitch(nullptr, &pitch, 3, 1, 4) == invalid);
    CHECK(d.cuMemAllocPitch(&address, nullptr, 3, 1, 4) == invalid);
    CHECK(d.cuMemAllocPitch(&address, &pitch, ~std::size_t(0), 1, 4) == invalid);
    CHECK(d.cuMemAllocPitch(&address, &pitch, ~std::size_t(0) / 2, 4, 4) == invalid);
}

TEST_CASE("the budget of a device") {
    start("devices=2;memory=64MiB");
    std::size_t available = 0;
    CHECK(got<std::size_t>(&Driver::cuMemGetInfo, &available, out) == 64 * MiB);
    CHECK(available == 64 * MiB);
    CHECK(d.cuMemGetInfo(nullptr, nullptr) == good);
    const CUdeviceptr most = allocate(60 * MiB);
    CHECK(free_memory() == 4 * MiB);
    CUdeviceptr more = 0;
    CHECK(d.cuMemAlloc(&more, 4 * MiB + 1) == CUDA_ERROR_OUT_OF_MEMORY);
    const CUdeviceptr rest = allocate(4 * MiB);
    CHECK(free_memory() == 0);
    CHECK(d.cuMemAlloc(&more, 1) == CUDA_ERROR_OUT_OF_MEMORY);
    {
        const OnDevice other(1); // has a budget of its own
        CHECK(free_memory() == 64 * MiB);
        release(allocate(64 * MiB));
    }
    release(most);
    CHECK(free_memory() == 60 * MiB);
    release(rest);
    CHECK(free_memory() == 64 * MiB);
}

TEST_CASE("a budget below the memory") {
    start("memory=1GiB;budget=1MiB");
    CUdeviceptr address = 0;
    CHECK(d.cuMemAlloc(&address, MiB + 1) == CUDA_ERROR_OUT_OF_MEMORY);
    release(allocate(MiB));
    configure("budget=64KiB");
    CHECK(d.cuMemAlloc(&address, 64 * KiB + 1) == CUDA_ERROR_OUT_OF_MEMORY);
    release(allocate(64 * KiB));
}

TEST_CASE("fresh memory holds no zeros by luck") {
    start();
    for (const std::size_t size : {std::size_t(1), std::size_t(100), 64 * KiB, 40 * MiB}) {
        const DeviceMemory address(size);
        CHECK(view(address, size)[0] != 0);
        CHECK(view(address, size)[size - 1] != 0);
    }
}

TEST_CASE("what was freed does not show in later memory") {
    start();
    for (const std::size_t size : {std::size_t(600), 8 * KiB, 100 * KiB, 20 * MiB}) {
        const CUdeviceptr first = allocate(size);
        std::memset(view(first, size), 0x77, size);
        release(first);
        const DeviceMemory second(size);
        for (const unsigned char byte : contents(second, size)) {
            if (byte == 0x77) {
                FAIL_CHECK("a byte of freed memory of " << size << " bytes is there again");
                break;
            }
        }
    }
}

TEST_CASE("addresses are never used again and keep a distance") {
    start();
    std::map<CUdeviceptr, std::size_t> seen;
    std::mt19937 random(1);
    std::vector<CUdeviceptr> living;
    for (int round = 0; round < 3000; ++round) {
        const std::size_t size = 1 + random() % (random() % 100 == 0 ? 4 * MiB : 4 * KiB);
        const CUdeviceptr address = allocate(size);
        CHECK(address % 512 == 0);
        const auto after = seen.lower_bound(address);
        REQUIRE((after == seen.end() || after->first >= address + size + 64 * KiB));
        if (after != seen.begin()) {
            const auto before = std::prev(after);
            REQUIRE(address >= before->first + before->second + 64 * KiB);
        }
        seen[address] = size;
        living.push_back(address);
        if (living.size() > 40) {
            const std::size_t victim = random() % living.size();
            release(living[victim]);
            living.erase(living.begin() + static_cast<std::ptrdiff_t>(victim));
        }
        if (round == 1500) { // not even after a reset
            allow_leaks();
            start();
            living.clear();
        }
    }
    for (const CUdeviceptr address : living) {
        release(address);
    }
}

TEST_CASE("big allocations are aligned to 2 MiB") {
    start();
    const DeviceMemory address(2 * MiB);
    CHECK(address % (2 * MiB) == 0);
}

TEST_CASE("all of a device's memory in one piece") {
    start("memory=140GiB");
    const DeviceMemory address(140 * GiB);
    const unsigned char byte = 42;
    CHECK(d.cuMemcpyHtoD(address + 140 * GiB - 1, &byte, 1) == good);
    CHECK(*view(address + 140 * GiB - 1, 1) == 42);
}

TEST_CASE("bytes that a kernel writes past an allocation are reported") {
    start();
    for (const std::size_t size : {std::size_t(100), std::size_t(4096), 100 * KiB, 20 * MiB}) {
        const CUdeviceptr address = allocate(size);
        view(address, size)[size] ^= 1; // as a kernel with a wrong bound does
        release(address);
        expect_misuse("bytes were written past the end of device memory");
    }
}

TEST_CASE("views are of living memory only") {
    start();
    const CUdeviceptr address = allocate(100);
    CHECK(sim_control().view(address, 100) != nullptr);
    CHECK(sim_control().view(address + 50, 50) == view(address, 100) + 50);
    CHECK(sim_control().view(address, 101) == nullptr);
    CHECK(sim_control().view(address + 50, ~std::size_t(0)) == nullptr);
    CHECK(sim_control().view(address - 1, 1) == nullptr);
    release(address);
    CHECK(sim_control().view(address, 1) == nullptr);
    CHECK(misuses().empty());
}

TEST_CASE("leaked memory is named") {
    start();
    const CUdeviceptr address = allocate(1234);
    const auto lines = leaks();
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].find("device memory") != std::string::npos);
    CHECK(lines[0].find("1234 bytes, made by cuMemAlloc_v2") != std::string::npos);
    release(address);
    CHECK(leaks().empty());
}

TEST_CASE("capture forbids what the real driver lists as unsafe") {
    start();
    const auto mode = GENERATE(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                               CU_STREAM_CAPTURE_MODE_RELAXED);
    const bool allowed = mode == CU_STREAM_CAPTURE_MODE_RELAXED;
    const Stream stream(non_blocking);
    const CUdeviceptr second = allocate(64);
    const DeviceMemory address(4096);
    const PinnedMemory pinned(64);
    const auto during = [&](auto call, bool unsafe) {
        CUgraph graph = nullptr;
        REQUIRE(d.cuStreamBeginCapture(stream, mode) == good);
        const bool works = allowed || !unsafe;
        CHECK(call() == (works ? good : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
        CHECK(got<CUstreamCaptureStatus>(&Driver::cuStreamIsCapturing, stream, out) ==
              (works ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED));
        CHECK(d.cuStreamEndCapture(stream, &graph) ==
              (works ? good : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
        if (graph != nullptr) {
            CHECK(d.cuGraphDestroy(graph) == good);
        }
    };
    CUdeviceptr made = 0;
    std::size_t size = 0;
    void *host = nullptr;
    during([&] { return d.cuMemAlloc(&made, 64); }, true);
    if (allowed) {
        during([&] { return d.cuMemFree(made); }, true);
    } else {
        during([&] { return d.cuMemFree(second); }, true);
    }
    during([&] { return d.cuMemAllocPitch(&made, &size, 64, 2, 4); }, true);
    during([&] { return d.cuMemHostAlloc(&host, 64, 0); }, true);
    during([&] { return d.cuMemGetInfo(&size, &size); }, false);
    during([&] { return d.cuMemGetAddressRange(nullptr, &size, address); }, false);
    during([&] { return d.cuMemcpyHtoD(address, pinned, 16); }, false);
    during([&] { return d.cuMemcpyDtoD(address, address + 64, 16); }, false);
    during([&] { return d.cuMemsetD8(address, 1, 16); }, false);
    if (allowed) {
        release(made);
        release(host);
    }
    release(second);
}

TEST_CASE("synchronous copies and memsets break the capture of a blocking stream") {
    start();
    const Stream stream;
    const DeviceMemory address(4096);
    const PinnedMemory pinned(64);
    const auto breaks = [&](auto call) {
        CUgraph graph = nullptr;
        REQUIRE(d.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == good);
        CHECK(call() == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        CHECK(d.cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    };
    breaks([&] { return d.cuMemcpyHtoD(address, pinned, 16); });
    breaks([&] { return d.cuMemsetD8(address, 1, 16); });
    breaks([&] { return d.cuMemcpyHtoDAsync(address, pinned, 16, nullptr); });
}

TEST_CASE("freeing memory that queued work needs") {
    start("mode=adversarial");
    const CUdeviceptr address = allocate(64);
    void *pinned = allocate_pinned(64);
    const CUstream stream = make_stream(non_blocking);
    REQUIRE(d.cuMemcpyHtoDAsync(address, pinned, 64, stream) == good);
    CHECK(d.cuMemFree(address) == good);
    expect_misuse("is freed while 1 enqueued operation needs it");
    CHECK(d.cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuse("use of memory that was freed");
    CHECK(d.cuMemAllocHost(&pinned, 64) == CUDA_ERROR_ILLEGAL_ADDRESS); // sticky
    REQUIRE(d.cuDevicePrimaryCtxReset(0) == good);
}

TEST_CASE("freeing waits for queued work, but in the adversarial mode") {
    start(GENERATE("mode=immediate", "mode=threaded"));
    const PinnedMemory pinned(MiB);
    const Stream stream(non_blocking);
    for (int i = 0; i < 50; ++i) {
        const DeviceMemory address(MiB);
        for (int j = 0; j < 4; ++j) {
            REQUIRE(d.cuMemcpyHtoDAsync(address, pinned, MiB, stream) == good);
        }
    }
}

#ifndef _WIN32
TEST_CASE("a host access to a device address faults") {
    start();
    for (const std::size_t size : {std::size_t(1), std::size_t(5000), 40 * MiB}) {
        const CUdeviceptr address = allocate(size);
        CHECK(is_deadly(as_host(address)));
        CHECK(is_deadly(as_host(address), true));
        CHECK(is_deadly(as_host(address + size - 1)));
        CHECK_FALSE(is_deadly(view(address, size)));
        release(address);
        CHECK(is_deadly(as_host(address)));
    }
}
#endif
