// Device memory: allocation, limits, freeing, addresses.
#include "capture_tools.hpp"
#include "memory_tools.hpp"

#include <map>
#include <random>

using namespace sim_test;

TEST_CASE("memory is freed once, by its own function and its first address") {
    const DeviceMemory device(64);
    const ManagedMemory managed(64);
    auto *pinned = static_cast<char *>(allocate_pinned(4096));
    std::vector<char> own(4096);
    require_ok(driver().cuMemHostRegister(own.data(), own.size(), 0));
    const std::string inside = "of an address inside ", freed = "of memory that was freed: ";
    const Calls free([](CUdeviceptr address, const std::string &misuse) {
        return reported(driver().cuMemFree(address), "cuMemFree " + misuse);
    });
    const Calls free_host([](void *address, const std::string &misuse) {
        return reported(driver().cuMemFreeHost(address), "cuMemFreeHost " + misuse);
    });
    const Calls unregister([](void *address, const std::string &misuse) {
        return reported(driver().cuMemHostUnregister(address), "cuMemHostUnregister " + misuse);
    });
    free[invalid] = {{device + 16, inside + "device memory"},
                     {managed + 16, inside + "managed memory"},
                     {as_device(pinned), "of pinned host memory"},
                     {as_device(own.data()), "of registered host memory"}};
    free_host[invalid] = {{pinned + 16, inside + "pinned host memory"},
                          {own.data(), "of registered host memory"},
                          {as_host(device), "of device memory"},
                          {as_host(managed), "of managed memory"}};
    unregister[invalid] = {{own.data() + 10, inside + "registered host memory"},
                           {pinned, "of pinned host memory"}, // not 713
                           {pinned + 16, inside + "pinned host memory"},
                           {as_host(device), "of device memory"},
                           {as_host(managed), "of managed memory"}};
    CHECK(driver().cuMemFreeAsync(device + 8, nullptr) == invalid);
    expect_misuse("free of an address inside device memory");
    CHECK(driver().cuMemFreeAsync(as_device(pinned), nullptr) == invalid);
    expect_misuse("stream-ordered free of pinned host memory");
    ok(driver().cuMemHostUnregister(own.data()));
    release(pinned);
    free_host[invalid] = {{pinned, freed + "pinned host memory"}};
    const CUdeviceptr twice = allocate(64), managed_twice = allocate_managed(64);
    release(twice);
    release(managed_twice);
    free[invalid] = {{twice, freed + "device memory"}, {managed_twice, freed + "managed memory"}};
    CHECK(reported(driver().cuMemFree(twice + 16), "at offset 16") == invalid);
}

TEST_CASE("resetting a context frees its memory") {
    const CUdeviceptr address = allocate(4096);
    void *pinned = allocate_pinned(64);
    require_ok(driver().cuDevicePrimaryCtxReset(0));
    CHECK(driver().cuMemFreeHost(pinned) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(sim_control().view(address, 1) == nullptr);
    expect_ended({"device memory", "pinned host memory"});
    CHECK(leaks().empty());
}

TEST_CASE("pitched allocations align rows to 512 bytes") {
    CUdeviceptr address = 0;
    std::size_t pitch = 0, size = 0;
    for (const auto &[width, expected] :
         std::map<std::size_t, std::size_t>{{1, 512}, {511, 512}, {512, 512}, {513, 1024}}) {
        CHECK(got(driver().cuMemAllocPitch(&address, &pitch, width, 3, 8), pitch) == expected);
        CHECK(got(driver().cuMemGetAddressRange(nullptr, &size, address), size) == 3 * pitch);
        release(address);
    }
    constexpr std::size_t most = ~std::size_t(0);
    CHECK(driver().cuMemAllocPitch(&address, &pitch, most, 1, 4) == invalid);
    CHECK(driver().cuMemAllocPitch(&address, &pitch, most / 2, 4, 4) == CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_CASE("a device allocates at most its memory or budget") {
    start("devices=2;memory=64MiB");
    std::size_t available = 0;
    CHECK(got<std::size_t>(&Driver::cuMemGetInfo, &available, out) == 64 * MiB);
    CHECK(available == 64 * MiB);
    CUdeviceptr more = 0;
    {
        const DeviceMemory most(60 * MiB);
        CHECK(free_memory() == 4 * MiB);
        CHECK(driver().cuMemAlloc(&more, 4 * MiB + 1) == CUDA_ERROR_OUT_OF_MEMORY);
        const DeviceMemory rest(4 * MiB);
        CHECK(free_memory() == 0);
        CHECK(driver().cuMemAlloc(&more, 1) == CUDA_ERROR_OUT_OF_MEMORY);
        const OnDevice other(1); // the other device has its own budget
        CHECK(free_memory() == 64 * MiB);
        release(allocate(64 * MiB));
    }
    CHECK(free_memory() == 64 * MiB);
    start("memory=1GiB;budget=1MiB"); // the budget may be below the memory
    CHECK(driver().cuMemAlloc(&more, MiB + 1) == CUDA_ERROR_OUT_OF_MEMORY);
    release(allocate(MiB));
    configure("budget=64KiB");
    CHECK(driver().cuMemAlloc(&more, 64 * KiB + 1) == CUDA_ERROR_OUT_OF_MEMORY);
    release(allocate(64 * KiB));
}

TEST_CASE("new memory contains neither zeros nor freed contents") {
    for (const std::size_t size :
         {std::size_t(1), std::size_t(600), 8 * KiB, 100 * KiB, 40 * MiB}) {
        const CUdeviceptr first = allocate(size);
        CHECK(view(first, size)[0] != 0);
        CHECK(view(first, size)[size - 1] != 0);
        std::memset(view(first, size), 0x77, size);
        release(first);
        const DeviceMemory second(size);
        const Bytes bytes = contents(second, size);
        CHECK((std::find(bytes.begin(), bytes.end(), 0x77) == bytes.end()));
    }
}

TEST_CASE("addresses are never reused and are at least 64 KiB apart") {
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
        if (round == 1500) { // also across a reset
            allow_leaks();
            start();
            living.clear();
        }
    }
    for (const CUdeviceptr address : living) {
        release(address);
    }
}

TEST_CASE("one allocation may use all memory of a device") {
    start("memory=140GiB");
    CHECK(DeviceMemory(2 * MiB) % (2 * MiB) == 0); // alignment of large allocations
    const DeviceMemory address(140 * GiB);
    CHECK(address % (2 * MiB) == 0);
    const unsigned char byte = 42;
    ok(driver().cuMemcpyHtoD(address + 140 * GiB - 1, &byte, 1));
    CHECK(*view(address + 140 * GiB - 1, 1) == 42);
}

TEST_CASE("a write past the end of host or pool memory is reported when it is freed") {
    for (const std::size_t past : {100, 4095}) { // in the same page
        auto *pinned = static_cast<char *>(allocate_pinned(100));
        pinned[past] ^= 1;
        release(pinned);
        expect_misuse("past the end of pinned host memory");
    }
    const CUdeviceptr managed = allocate_managed(100);
    static_cast<char *>(as_host(managed))[100] = 1;
    release(managed);
    expect_misuse("bytes were written past the end of managed memory");
    const auto pool = got<CUdeviceptr>(&Driver::cuMemAllocAsync, out, 100, nullptr);
    view(pool, 100)[100] = 1;
    require_ok(driver().cuMemFreeAsync(pool, nullptr));
    synchronize();
    expect_misuse("bytes were written past the end of pool memory");
}

TEST_CASE("view returns live memory only") {
    const CUdeviceptr address = allocate(1234);
    const auto *whole = static_cast<const char *>(sim_control().view(address, 1234));
    CHECK(whole != nullptr);
    CHECK(sim_control().view(address + 50, 1184) == whole + 50);
    CHECK(sim_control().view(address, 1235) == nullptr);
    CHECK(sim_control().view(address + 50, ~std::size_t(0)) == nullptr);
    CHECK(sim_control().view(address - 1, 1) == nullptr);
    const auto lines = leaks();
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].find("device memory") != std::string::npos);
    CHECK(lines[0].find("1234 bytes, made by cuMemAlloc_v2") != std::string::npos);
    release(address);
    CHECK(sim_control().view(address, 1) == nullptr);
    CHECK(misuses().empty());
    CHECK(leaks().empty());
}

TEST_CASE("unsafe memory calls invalidate captures that are not relaxed, others do not") {
    const auto mode = GENERATE(global, thread_local_, relaxed);
    const Stream stream(non_blocking);
    const CUdeviceptr second = allocate(64);
    const DeviceMemory address(4096);
    const PinnedMemory pinned(64);
    const auto safe = [&](auto call) {
        require_ok(begin_capture(stream, mode));
        ok(call());
        CHECK(is_active(stream));
        destroy(end_capture(stream));
    };
    const auto unsafe = [&](auto call) {
        if (mode == relaxed) {
            safe(call);
        } else {
            check_breaks(stream, unsupported, call, mode);
        }
    };
    CUdeviceptr made = 0, pitched = 0;
    std::size_t size = 0;
    void *host = nullptr;
    unsafe([&] { return driver().cuMemAlloc(&made, 64); });
    unsafe([&] { return driver().cuMemFree(mode == relaxed ? made : second); });
    unsafe([&] { return driver().cuMemAllocPitch(&pitched, &size, 64, 2, 4); });
    unsafe([&] { return driver().cuMemHostAlloc(&host, 64, 0); });
    safe([&] { return driver().cuMemGetInfo(&size, &size); });
    safe([&] { return driver().cuMemGetAddressRange(nullptr, &size, address); });
    safe([&] { return driver().cuMemcpyHtoD(address, pinned, 16); });
    safe([&] { return driver().cuMemcpyDtoD(address, address + 64, 16); });
    safe([&] { return driver().cuMemsetD8(address, 1, 16); });
    if (mode == relaxed) {
        release(pitched);
        release(host);
    }
    release(second);
}

TEST_CASE("synchronous copies and memsets invalidate the capture of a blocking stream") {
    const Stream stream;
    const DeviceMemory address(4096);
    const PinnedMemory pinned(64);
    check_breaks(stream, implicit, [&] { return driver().cuMemcpyHtoD(address, pinned, 16); });
    check_breaks(stream, implicit, [&] { return driver().cuMemsetD8(address, 1, 16); });
    check_breaks(stream, implicit,
                 [&] { return driver().cuMemcpyHtoDAsync(address, pinned, 16, nullptr); });
}

#ifndef _WIN32
TEST_CASE("a host access to a device address faults") {
    for (const std::size_t size : {std::size_t(1), std::size_t(5000), 40 * MiB}) {
        const CUdeviceptr address = allocate(size);
        CHECK(is_deadly(as_host(address)));
        CHECK(is_deadly(as_host(address), true));
        CHECK(is_deadly(as_host(address + size - 1)));
        CHECK_FALSE(is_deadly(view(address, size)));
        release(address);
        CHECK(is_deadly(as_host(address)));
    }
    auto *pinned =
        static_cast<char *>(allocate_pinned(4096)); // accessible to the host until it is freed
    CHECK_FALSE(is_deadly(pinned));
    CHECK(is_deadly(pinned + 4096)); // the next page
    release(pinned);
    CHECK(is_deadly(pinned));
}
#endif
