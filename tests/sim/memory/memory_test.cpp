// Device memory: allocation, its limits and its end, addresses.
#include "memory_tools.hpp"

#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <map>
#include <random>
#include <set>

using namespace sim_test;

TEST_CASE("allocations are refused as the measured driver refuses them", "[memory]") {
    start();
    CUdeviceptr address = 0;
    CHECK(cu.cuMemAlloc(&address, 0) == invalid);
    CHECK(cu.cuMemAlloc(nullptr, 16) == invalid);
    CHECK(cu.cuMemAlloc(&address, std::size_t(1) << 50) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(cu.cuMemAlloc(&address, ~std::size_t(0)) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(cu.cuMemFree(0) == good);
    CHECK(cu.cuMemFree(0x1234) == invalid);
    int local = 0;
    CHECK(cu.cuMemFree(as_device(&local)) == invalid);
}

TEST_CASE("an output of a failed allocation is no address", "[memory]") {
    start();
    CUdeviceptr address = 0;
    CHECK(cu.cuMemAlloc(&address, 0) == invalid);
    CHECK(address == static_cast<CUdeviceptr>(0xbdbdbdbdbdbdbdbd));
}

TEST_CASE("memory is freed once, by its first address", "[memory]") {
    start();
    const CUdeviceptr address = allocate(4096);
    CHECK(cu.cuMemFree(address + 16) == invalid);
    expect_misuse("cuMemFree of an address inside of device memory");
    CHECK(cu.cuMemFree(address) == good);
    CHECK(cu.cuMemFree(address) == invalid);
    expect_misuse("cuMemFree of memory that was freed: device memory");
    CHECK(cu.cuMemFree(address + 16) == invalid);
    expect_misuse("at offset 16");
}

TEST_CASE("only device memory is freed by cuMemFree", "[memory]") {
    start();
    void *pinned = allocate_pinned(4096);
    std::vector<char> own(4096);
    REQUIRE(cu.cuMemHostRegister(own.data(), own.size(), 0) == good);
    CHECK(cu.cuMemFree(as_device(pinned)) == invalid);
    expect_misuse("cuMemFree of pinned host memory");
    CHECK(cu.cuMemFree(as_device(own.data())) == invalid);
    expect_misuse("cuMemFree of registered host memory");
    const CUdeviceptr managed = allocate_managed(64);
    CHECK(cu.cuMemFree(managed) == good);
    REQUIRE(cu.cuMemHostUnregister(own.data()) == good);
    release(pinned);
}

TEST_CASE("what needs a context and what does not", "[memory]") {
    start();
    const CUdeviceptr address = allocate(4096);
    {
        const WithoutContext none;
        CUdeviceptr other = 0;
        std::size_t size = 0;
        constexpr auto no_context = CUDA_ERROR_INVALID_CONTEXT;
        CHECK(cu.cuMemAlloc(&other, 64) == no_context);
        CHECK(cu.cuMemAlloc(&other, 0) == no_context);
        CHECK(cu.cuMemAlloc(nullptr, 0) == no_context);
        CHECK(cu.cuMemAllocPitch(&other, &size, 64, 4, 4) == no_context);
        CHECK(cu.cuMemGetInfo(&size, &size) == no_context);
        CHECK(cu.cuMemGetInfo(nullptr, nullptr) == no_context);
        CHECK(cu.cuMemGetAddressRange(&other, &size, address) == no_context);
        CHECK(cu.cuMemFree(0x1234) == invalid);
        CHECK(cu.cuMemFree(0) == good);
        CHECK(cu.cuMemFree(address) == good);
    }
}

TEST_CASE("nothing is allocated before cuInit", "[memory]") {
    sim_control().reset();
    CUdeviceptr address = 0;
    CHECK(cu.cuMemAlloc(&address, 64) == CUDA_ERROR_NOT_INITIALIZED);
}

TEST_CASE("the memory of a context that was reset is gone", "[memory]") {
    start();
    const CUdeviceptr address = allocate(4096);
    void *pinned = allocate_pinned(64);
    REQUIRE(cu.cuDevicePrimaryCtxReset(0) == good);
    CHECK(cu.cuMemFree(address) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(cu.cuMemFreeHost(pinned) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CUdeviceptr other = 0;
    CHECK(cu.cuMemAlloc(&other, 64) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(sim_control().view(address, 1) == nullptr);
    CHECK(leaks().empty());
}

TEST_CASE("address ranges", "[memory]") {
    start();
    const CUdeviceptr address = allocate(1000);
    void *pinned = allocate_pinned(100);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    for (const CUdeviceptr inside : {address, address + 1, address + 999}) {
        CHECK(cu.cuMemGetAddressRange(&base, &size, inside) == good);
        CHECK(base == address);
        CHECK(size == 1000);
    }
    CHECK(cu.cuMemGetAddressRange(nullptr, &size, address) == good);
    CHECK(cu.cuMemGetAddressRange(&base, nullptr, address) == good);
    CHECK(cu.cuMemGetAddressRange(nullptr, nullptr, address) == good);
    CHECK(cu.cuMemGetAddressRange(&base, &size, as_device(pinned) + 99) == good);
    CHECK(size == 100);
    CHECK(cu.cuMemGetAddressRange(&base, &size, address + 1000) == CUDA_ERROR_NOT_FOUND);
    CHECK(cu.cuMemGetAddressRange(&base, &size, as_device(&base)) == CUDA_ERROR_NOT_FOUND);
    CHECK(cu.cuMemGetAddressRange(&base, &size, 0) == CUDA_ERROR_NOT_FOUND);
    release(pinned);
    release(address);
}

TEST_CASE("pitched allocations", "[memory]") {
    start();
    CUdeviceptr address = 0;
    std::size_t pitch = 0;
    for (const unsigned int element : {0U, 3U, 32U}) {
        CHECK(cu.cuMemAllocPitch(&address, &pitch, 100, 3, element) == invalid);
    }
    const std::map<std::size_t, std::size_t> pitches{{1, 512},   {100, 512},  {511, 512},
                                                     {512, 512}, {513, 1024}, {4096, 4096}};
    for (const auto &[width, expected] : pitches) {
        for (const unsigned int element : {4U, 8U, 16U}) {
            REQUIRE(cu.cuMemAllocPitch(&address, &pitch, width, 3, element) == good);
            CHECK(pitch == expected);
            std::size_t size = 0;
            CHECK(cu.cuMemGetAddressRange(nullptr, &size, address) == good);
            CHECK(size == 3 * pitch);
            release(address);
        }
    }
    CHECK(cu.cuMemAllocPitch(&address, &pitch, 0, 3, 4) == invalid);
    CHECK(cu.cuMemAllocPitch(&address, &pitch, 3, 0, 4) == invalid);
    CHECK(cu.cuMemAllocPitch(nullptr, &pitch, 3, 1, 4) == invalid);
    CHECK(cu.cuMemAllocPitch(&address, nullptr, 3, 1, 4) == invalid);
    CHECK(cu.cuMemAllocPitch(&address, &pitch, ~std::size_t(0), 1, 4) == invalid);
    CHECK(cu.cuMemAllocPitch(&address, &pitch, ~std::size_t(0) / 2, 4, 4) == invalid);
}

TEST_CASE("the budget of a device", "[memory]") {
    start("devices=2;memory=64MiB");
    std::size_t available = 0, total = 0;
    REQUIRE(cu.cuMemGetInfo(&available, &total) == good);
    CHECK(total == 64 * MiB);
    CHECK(available == 64 * MiB);
    CHECK(cu.cuMemGetInfo(nullptr, nullptr) == good);
    const CUdeviceptr most = allocate(60 * MiB);
    CHECK(free_memory() == 4 * MiB);
    CUdeviceptr more = 0;
    CHECK(cu.cuMemAlloc(&more, 4 * MiB + 1) == CUDA_ERROR_OUT_OF_MEMORY);
    const CUdeviceptr rest = allocate(4 * MiB);
    CHECK(free_memory() == 0);
    CHECK(cu.cuMemAlloc(&more, 1) == CUDA_ERROR_OUT_OF_MEMORY);
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

TEST_CASE("a budget below the memory", "[memory]") {
    start("memory=1GiB;budget=1MiB");
    CUdeviceptr address = 0;
    CHECK(cu.cuMemAlloc(&address, MiB + 1) == CUDA_ERROR_OUT_OF_MEMORY);
    release(allocate(MiB));
    configure("budget=64KiB");
    CHECK(cu.cuMemAlloc(&address, 64 * KiB + 1) == CUDA_ERROR_OUT_OF_MEMORY);
    release(allocate(64 * KiB));
}

TEST_CASE("fresh memory holds no zeros by luck", "[memory]") {
    start();
    for (const std::size_t size : {std::size_t(1), std::size_t(100), 64 * KiB, 40 * MiB}) {
        const CUdeviceptr address = allocate(size);
        CHECK(view(address, size)[0] != 0);
        CHECK(view(address, size)[size - 1] != 0);
        release(address);
    }
}

TEST_CASE("what was freed does not show in later memory", "[memory]") {
    start();
    for (const std::size_t size : {std::size_t(600), 8 * KiB, 100 * KiB, 20 * MiB}) {
        const CUdeviceptr first = allocate(size);
        std::memset(view(first, size), 0x77, size);
        release(first);
        const CUdeviceptr second = allocate(size);
        for (const unsigned char byte : contents(second, size)) {
            if (byte == 0x77) {
                FAIL_CHECK("a byte of freed memory of " << size << " bytes is there again");
                break;
            }
        }
        release(second);
    }
}

TEST_CASE("addresses are never used again and keep a distance", "[memory]") {
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

TEST_CASE("big allocations are aligned to 2 MiB", "[memory]") {
    start();
    const CUdeviceptr address = allocate(2 * MiB);
    CHECK(address % (2 * MiB) == 0);
    release(address);
}

TEST_CASE("all of a device's memory in one piece", "[memory]") {
    start("memory=140GiB");
    const CUdeviceptr address = allocate(140 * GiB);
    const unsigned char byte = 42;
    CHECK(cu.cuMemcpyHtoD(address + 140 * GiB - 1, &byte, 1) == good);
    CHECK(*view(address + 140 * GiB - 1, 1) == 42);
    release(address);
}

TEST_CASE("bytes that a kernel writes past an allocation are reported", "[memory]") {
    start();
    for (const std::size_t size : {std::size_t(100), std::size_t(4096), 100 * KiB, 20 * MiB}) {
        const CUdeviceptr address = allocate(size);
        view(address, size)[size] ^= 1; // as a kernel with a wrong bound does
        release(address);
        expect_misuse("bytes were written past the end of device memory");
    }
}

TEST_CASE("views are of living memory only", "[memory]") {
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

TEST_CASE("leaked memory is named", "[memory]") {
    start();
    const CUdeviceptr address = allocate(1234);
    const auto lines = leaks();
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].find("device memory") != std::string::npos);
    CHECK(lines[0].find("1234 bytes, made by cuMemAlloc_v2") != std::string::npos);
    release(address);
    CHECK(leaks().empty());
}

TEST_CASE("capture forbids what the real driver lists as unsafe", "[memory]") {
    start();
    const auto mode = GENERATE(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                               CU_STREAM_CAPTURE_MODE_RELAXED);
    const bool allowed = mode == CU_STREAM_CAPTURE_MODE_RELAXED;
    const CUstream stream = new_stream();
    const CUdeviceptr address = allocate(4096), second = allocate(64);
    void *pinned = allocate_pinned(64);
    const auto during = [&](auto call, bool unsafe) {
        CUgraph graph = nullptr;
        REQUIRE(cu.cuStreamBeginCapture(stream, mode) == good);
        const bool works = allowed || !unsafe;
        CHECK(call() == (works ? good : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        CHECK(cu.cuStreamIsCapturing(stream, &status) == good);
        CHECK(status ==
              (works ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED));
        CHECK(cu.cuStreamEndCapture(stream, &graph) ==
              (works ? good : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
        if (graph != nullptr) {
            CHECK(cu.cuGraphDestroy(graph) == good);
        }
    };
    CUdeviceptr made = 0;
    std::size_t size = 0;
    void *host = nullptr;
    during([&] { return cu.cuMemAlloc(&made, 64); }, true);
    if (allowed) {
        during([&] { return cu.cuMemFree(made); }, true);
    } else {
        during([&] { return cu.cuMemFree(second); }, true);
    }
    during([&] { return cu.cuMemAllocPitch(&made, &size, 64, 2, 4); }, true);
    during([&] { return cu.cuMemHostAlloc(&host, 64, 0); }, true);
    during([&] { return cu.cuMemGetInfo(&size, &size); }, false);
    during([&] { return cu.cuMemGetAddressRange(nullptr, &size, address); }, false);
    during([&] { return cu.cuMemcpyHtoD(address, pinned, 16); }, false);
    during([&] { return cu.cuMemcpyDtoD(address, address + 64, 16); }, false);
    during([&] { return cu.cuMemsetD8(address, 1, 16); }, false);
    if (allowed) {
        release(made);
        release(host);
    }
    release(pinned);
    release(second);
    release(address);
    release(stream);
}

TEST_CASE("synchronous copies and memsets break the capture of a blocking stream", "[memory]") {
    start();
    const CUstream stream = new_stream(CU_STREAM_DEFAULT);
    const CUdeviceptr address = allocate(4096);
    void *pinned = allocate_pinned(64);
    const auto breaks = [&](auto call) {
        CUgraph graph = nullptr;
        REQUIRE(cu.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == good);
        CHECK(call() == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        CHECK(cu.cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    };
    breaks([&] { return cu.cuMemcpyHtoD(address, pinned, 16); });
    breaks([&] { return cu.cuMemsetD8(address, 1, 16); });
    breaks([&] { return cu.cuMemcpyHtoDAsync(address, pinned, 16, nullptr); });
    release(pinned);
    release(address);
    release(stream);
}

TEST_CASE("freeing memory that queued work needs", "[memory]") {
    start("mode=adversarial");
    const CUdeviceptr address = allocate(64);
    void *pinned = allocate_pinned(64);
    const CUstream stream = new_stream();
    REQUIRE(cu.cuMemcpyHtoDAsync(address, pinned, 64, stream) == good);
    CHECK(cu.cuMemFree(address) == good);
    expect_misuse("ends while 1 queued operations need it");
    CHECK(cu.cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_misuse("use of memory that was freed");
    CHECK(cu.cuMemAllocHost(&pinned, 64) == CUDA_ERROR_ILLEGAL_ADDRESS); // sticky
    REQUIRE(cu.cuDevicePrimaryCtxReset(0) == good);
}

TEST_CASE("freeing waits for queued work, but in the adversarial mode", "[memory]") {
    start(GENERATE("mode=immediate", "mode=threaded"));
    void *pinned = allocate_pinned(MiB);
    const CUstream stream = new_stream();
    for (int i = 0; i < 50; ++i) {
        const CUdeviceptr address = allocate(MiB);
        for (int j = 0; j < 4; ++j) {
            REQUIRE(cu.cuMemcpyHtoDAsync(address, pinned, MiB, stream) == good);
        }
        CHECK(cu.cuMemFree(address) == good);
    }
    release(stream);
    release(pinned);
}

#ifndef _WIN32
TEST_CASE("a host access to a device address faults", "[memory]") {
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
