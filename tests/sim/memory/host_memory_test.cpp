// Pinned host memory, allocated and registered.
#include "memory_tools.hpp"

#include <catch2/generators/catch_generators.hpp>

using namespace sim_test;

TEST_CASE("pinned allocations as the measured driver makes them", "[host_memory]") {
    start();
    void *memory = &memory;
    CHECK(cu.cuMemHostAlloc(&memory, 0, 0) == good);
    CHECK(memory == nullptr);
    memory = &memory;
    CHECK(cu.cuMemAllocHost(&memory, 0) == good);
    CHECK(memory == nullptr);
    CHECK(cu.cuMemFreeHost(nullptr) == good);
    CHECK(cu.cuMemHostAlloc(&memory, 16, 0x100) == invalid);
    CHECK(cu.cuMemHostAlloc(nullptr, 16, 0) == invalid);
    CHECK(cu.cuMemAllocHost(nullptr, 16) == invalid);
    CHECK(cu.cuMemHostAlloc(&memory, std::size_t(1) << 50, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(cu.cuMemAllocHost(&memory, ~std::size_t(0)) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(memory != nullptr);
}

TEST_CASE("pinned memory is the host's, and a device's at the same address", "[host_memory]") {
    start();
    for (const std::size_t size : {std::size_t(1), std::size_t(5000), 3 * MiB}) {
        auto *memory = static_cast<unsigned char *>(allocate_pinned(size));
        std::memset(memory, 7, size);
        CUdeviceptr device = 0;
        CHECK(cu.cuMemHostGetDevicePointer(&device, memory, 0) == good);
        CHECK(device == as_device(memory));
        CHECK(cu.cuMemHostGetDevicePointer(&device, memory + size - 1, 0) == good);
        CHECK(device == as_device(memory) + size - 1);
        CHECK(cu.cuMemsetD8(as_device(memory), 9, size) == good);
        CHECK(memory[size - 1] == 9);
        CHECK(contents(as_device(memory), size) == Bytes(size, 9));
        release(memory);
    }
}

TEST_CASE("flags of host memory", "[host_memory]") {
    start();
    unsigned int flags = 0;
    std::vector<char> own(8192);
    const auto flags_of = [&](const void *memory) {
        REQUIRE(cu.cuMemHostGetFlags(&flags, const_cast<void *>(memory)) == good);
        return flags;
    };
    void *plain = allocate_pinned(100), *all = allocate_pinned(100, 7);
    CHECK(flags_of(plain) == CU_MEMHOSTALLOC_DEVICEMAP);
    CHECK(flags_of(all) == 7);
    CHECK(flags_of(static_cast<char *>(all) + 5) == 7);
    REQUIRE(cu.cuMemHostRegister(own.data(), 4096, 0) == good);
    CHECK(flags_of(own.data()) == 2);
    REQUIRE(cu.cuMemHostRegister(own.data() + 4096, 4096, 3) == good);
    CHECK(flags_of(own.data() + 4096) == 3);
    CHECK(cu.cuMemHostUnregister(own.data() + 4096) == good);
    REQUIRE(cu.cuMemHostRegister(own.data() + 4096, 4096, 8) == good); // READ_ONLY does not show
    CHECK(flags_of(own.data() + 4096) == 2);
    const CUdeviceptr device = allocate(64), managed = allocate_managed(64);
    CHECK(cu.cuMemHostGetFlags(&flags, &own) == invalid);
    CHECK(cu.cuMemHostGetFlags(&flags, as_host(device)) == invalid);
    CHECK(cu.cuMemHostGetFlags(&flags, as_host(managed)) == good);
    CHECK(cu.cuMemHostGetFlags(&flags, nullptr) == invalid);
    CHECK(cu.cuMemHostGetFlags(nullptr, plain) == invalid);
    CHECK(cu.cuMemHostUnregister(own.data()) == good);
    CHECK(cu.cuMemHostUnregister(own.data() + 4096) == good);
    release(device);
    release(managed);
    release(plain);
    release(all);
}

TEST_CASE("device pointers of what is no host memory", "[host_memory]") {
    start();
    CUdeviceptr device = 0;
    const CUdeviceptr memory = allocate(64), managed = allocate_managed(64);
    void *pinned = allocate_pinned(64);
    CHECK(cu.cuMemHostGetDevicePointer(&device, &device, 0) == invalid);
    CHECK(cu.cuMemHostGetDevicePointer(&device, nullptr, 0) == invalid);
    CHECK(cu.cuMemHostGetDevicePointer(nullptr, pinned, 0) == invalid);
    CHECK(cu.cuMemHostGetDevicePointer(&device, pinned, 1) == invalid);
    CHECK(cu.cuMemHostGetDevicePointer(&device, as_host(memory), 0) == invalid);
    CHECK(cu.cuMemHostGetDevicePointer(&device, as_host(managed), 0) == invalid);
    release(memory);
    release(managed);
    release(pinned);
}

TEST_CASE("cuMemFreeHost frees what was allocated, once", "[host_memory]") {
    start();
    auto *pinned = static_cast<char *>(allocate_pinned(4096));
    std::vector<char> own(4096);
    REQUIRE(cu.cuMemHostRegister(own.data(), own.size(), 0) == good);
    const CUdeviceptr device = allocate(64), managed = allocate_managed(64);
    CHECK(cu.cuMemFreeHost(pinned + 16) == invalid);
    expect_misuse("cuMemFreeHost of an address inside of pinned host memory");
    CHECK(cu.cuMemFreeHost(own.data()) == invalid);
    expect_misuse("cuMemFreeHost of registered host memory");
    CHECK(cu.cuMemFreeHost(as_host(device)) == invalid);
    expect_misuse("cuMemFreeHost of device memory");
    CHECK(cu.cuMemFreeHost(as_host(managed)) == invalid);
    expect_misuse("cuMemFreeHost of managed memory");
    CHECK(cu.cuMemFreeHost(&own) == invalid);
    CHECK(cu.cuMemFreeHost(pinned) == good);
    CHECK(cu.cuMemFreeHost(pinned) == invalid);
    expect_misuse("cuMemFreeHost of memory that was freed: pinned host memory");
    CHECK(cu.cuMemHostUnregister(own.data()) == good);
    release(device);
    release(managed);
}

TEST_CASE("registration: exact byte ranges that do not overlap", "[host_memory]") {
    start();
    std::vector<char> own(64 * KiB);
    char *at = own.data();
    CHECK(cu.cuMemHostRegister(at + 3, 1001, 0) == good); // unaligned
    CHECK(cu.cuMemHostRegister(at + 3, 1001, 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CHECK(cu.cuMemHostRegister(at + 100, 16, 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CHECK(cu.cuMemHostRegister(at, 4096, 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CHECK(cu.cuMemHostRegister(at + 1003, 100, 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CHECK(cu.cuMemHostRegister(at + 1004, 100, 0) == good); // disjoint, in the same page
    CHECK(cu.cuMemHostRegister(at, 3, 0) == good);
    CHECK(cu.cuMemHostRegister(at + 4096, 0, 0) == invalid);
    CHECK(cu.cuMemHostRegister(nullptr, 16, 0) == invalid);
    CHECK(cu.cuMemHostRegister(at + 4096, 16, 0x100) == invalid);
    CHECK(cu.cuMemHostRegister(at + 4096, 16, CU_MEMHOSTREGISTER_IOMEMORY) == invalid);
    CHECK(cu.cuMemHostRegister(at + 4096, ~std::size_t(0), 0) == invalid);
    CHECK(cu.cuMemHostUnregister(at + 10) == invalid);
    expect_misuse("cuMemHostUnregister of an address inside of registered host memory");
    CHECK(cu.cuMemHostUnregister(at + 3) == good);
    CHECK(cu.cuMemHostUnregister(at + 3) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    CHECK(cu.cuMemHostUnregister(&own) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    CHECK(cu.cuMemHostUnregister(nullptr) == invalid);
    CHECK(cu.cuMemHostUnregister(at) == good);
    CHECK(cu.cuMemHostUnregister(at + 1004) == good);
}

TEST_CASE("only the client's own memory can be registered", "[host_memory]") {
    start();
    const CUdeviceptr device = allocate(64), managed = allocate_managed(64);
    auto *pinned = static_cast<char *>(allocate_pinned(64));
    CHECK(cu.cuMemHostRegister(pinned, 16, 0) == invalid);
    CHECK(cu.cuMemHostRegister(as_host(managed), 16, 0) == invalid);
    CHECK(cu.cuMemHostRegister(as_host(device), 16, 0) == invalid);
    CHECK(cu.cuMemHostRegister(as_host(device + 4096), 16, 0) == invalid); // nobody's
    CHECK(cu.cuMemHostRegister(reinterpret_cast<void *>(0x10000), 4096, 0) == invalid);
    CHECK(cu.cuMemHostUnregister(pinned) == invalid); // not 713
    expect_misuse("cuMemHostUnregister of pinned host memory");
    CHECK(cu.cuMemHostUnregister(pinned + 16) == invalid);
    expect_misuse("cuMemHostUnregister of an address inside of pinned host memory");
    CHECK(cu.cuMemHostUnregister(as_host(device)) == invalid);
    expect_misuse("cuMemHostUnregister of device memory");
    CHECK(cu.cuMemHostUnregister(as_host(managed)) == invalid);
    expect_misuse("cuMemHostUnregister of managed memory");
    release(device);
    release(managed);
    release(pinned);
}

TEST_CASE("memory of the client is his again after it was unregistered", "[host_memory]") {
    start();
    std::vector<char> own(4096);
    REQUIRE(cu.cuMemHostRegister(own.data(), own.size(), 0) == good);
    REQUIRE(cu.cuMemHostUnregister(own.data()) == good);
    const CUdeviceptr device = allocate(4096);
    CHECK(cu.cuMemcpyHtoD(device, own.data(), own.size()) == good); // no use after free
    CHECK(cu.cuMemHostRegister(own.data(), own.size(), 0) == good);
    CHECK(cu.cuMemHostUnregister(own.data()) == good);
    release(device);
}

TEST_CASE("a context for host memory", "[host_memory]") {
    start();
    std::vector<char> own(4096);
    REQUIRE(cu.cuMemHostRegister(own.data(), 64, 0) == good);
    void *pinned = allocate_pinned(64), *memory = nullptr;
    const WithoutContext none;
    CUdeviceptr device = 0;
    unsigned int flags = 0;
    constexpr auto no_context = CUDA_ERROR_INVALID_CONTEXT;
    CHECK(cu.cuMemHostAlloc(&memory, 64, 0) == no_context);
    CHECK(cu.cuMemHostAlloc(&memory, 0, 0) == no_context);
    CHECK(cu.cuMemAllocHost(&memory, 64) == no_context);
    CHECK(cu.cuMemHostRegister(own.data() + 64, 64, 0) == no_context);
    CHECK(cu.cuMemHostGetDevicePointer(&device, pinned, 0) == no_context);
    CHECK(cu.cuMemHostGetFlags(&flags, pinned) == no_context);
    CHECK(cu.cuMemFreeHost(nullptr) == good);
    CHECK(cu.cuMemFreeHost(pinned) == good);
    CHECK(cu.cuMemHostUnregister(own.data()) == good);
    CHECK(cu.cuMemHostUnregister(own.data()) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_CASE("unregistering memory that queued work needs", "[host_memory]") {
    start("mode=adversarial");
    std::vector<char> own(4096);
    const CUdeviceptr device = allocate(4096);
    const CUstream stream = new_stream();
    REQUIRE(cu.cuMemHostRegister(own.data(), own.size(), 0) == good);
    REQUIRE(cu.cuMemcpyHtoDAsync(device, own.data(), own.size(), stream) == good);
    CHECK(cu.cuMemHostUnregister(own.data()) == good);
    expect_misuse("registered host memory");
    CHECK(cu.cuStreamSynchronize(stream) == good);
    release(stream);
    release(device);
}

TEST_CASE("bytes written past pinned memory are reported", "[host_memory]") {
    start();
    auto *memory = static_cast<char *>(allocate_pinned(100));
    memory[100] = 1;
    release(memory);
    expect_misuse("bytes were written past the end of pinned host memory");
}

#ifndef _WIN32
TEST_CASE("pinned memory that was freed is out of reach", "[host_memory]") {
    start();
    auto *memory = static_cast<char *>(allocate_pinned(4096));
    CHECK_FALSE(is_deadly(memory));
    CHECK(is_deadly(memory + 4096)); // the page behind it
    release(memory);
    CHECK(is_deadly(memory));
}
#endif
