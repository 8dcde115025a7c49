// Pinned host memory, allocated and registered.
#include "memory_tools.hpp"

using namespace sim_test;

TEST_CASE("pinned allocations as the measured driver makes them") {
    start();
    void *memory = &memory;
    CHECK(got(d.cuMemHostAlloc(&memory, 0, 0), memory) == nullptr);
    memory = &memory;
    CHECK(got(d.cuMemAllocHost(&memory, 0), memory) == nullptr);
    CHECK(d.cuMemFreeHost(nullptr) == good);
    CHECK(d.cuMemHostAlloc(&memory, 16, 0x100) == invalid);
    CHECK(d.cuMemHostAlloc(nullptr, 16, 0) == invalid);
    CHECK(d.cuMemAllocHost(nullptr, 16) == invalid);
    CHECK(d.cuMemHostAlloc(&memory, std::size_t(1) << 50, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(d.cuMemAllocHost(&memory, ~std::size_t(0)) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(memory != nullptr);
}

TEST_CASE("pinned memory is the host's, and a device's at the same address") {
    start();
    for (const std::size_t size : {std::size_t(1), std::size_t(5000), 3 * MiB}) {
        auto *memory = static_cast<unsigned char *>(allocate_pinned(size));
        std::memset(memory, 7, size);
        CHECK(got<CUdeviceptr>(&Driver::cuMemHostGetDevicePointer, out, memory, 0) ==
              as_device(memory));
        CHECK(got<CUdeviceptr>(&Driver::cuMemHostGetDevicePointer, out, memory + size - 1, 0) ==
              as_device(memory) + size - 1);
        CHECK(d.cuMemsetD8(as_device(memory), 9, size) == good);
        CHECK(memory[size - 1] == 9);
        CHECK(contents(as_device(memory), size) == Bytes(size, 9));
        release(memory);
    }
}

TEST_CASE("flags of host memory") {
    start();
    unsigned int flags = 0;
    std::vector<char> own(8192);
    const auto flags_of = [&](const void *memory) {
        REQUIRE(d.cuMemHostGetFlags(&flags, const_cast<void *>(memory)) == good);
        return flags;
    };
    const PinnedMemory all(100, 7);
    const PinnedMemory plain(100);
    CHECK(flags_of(plain) == CU_MEMHOSTALLOC_DEVICEMAP);
    CHECK(flags_of(all) == 7);
    CHECK(flags_of(static_cast<char *>(all.get()) + 5) == 7);
    REQUIRE(d.cuMemHostRegister(own.data(), 4096, 0) == good);
    CHECK(flags_of(own.data()) == 2);
    REQUIRE(d.cuMemHostRegister(own.data() + 4096, 4096, 3) == good);
    CHECK(flags_of(own.data() + 4096) == 3);
    CHECK(d.cuMemHostUnregister(own.data() + 4096) == good);
    REQUIRE(d.cuMemHostRegister(own.data() + 4096, 4096, 8) == good); // READ_ONLY does not show
    CHECK(flags_of(own.data() + 4096) == 2);
    const DeviceMemory device(64);
    const ManagedMemory managed(64);
    CHECK(d.cuMemHostGetFlags(&flags, &own) == invalid);
    CHECK(d.cuMemHostGetFlags(&flags, as_host(device)) == invalid);
    CHECK(d.cuMemHostGetFlags(&flags, as_host(managed)) == good);
    CHECK(d.cuMemHostGetFlags(&flags, nullptr) == invalid);
    CHECK(d.cuMemHostGetFlags(nullptr, plain) == invalid);
    CHECK(d.cuMemHostUnregister(own.data()) == good);
    CHECK(d.cuMemHostUnregister(own.data() + 4096) == good);
}

TEST_CASE("device pointers of what is no host memory") {
    start();
    CUdeviceptr device = 0;
    const DeviceMemory memory(64);
    const ManagedMemory managed(64);
    const PinnedMemory pinned(64);
    CHECK(d.cuMemHostGetDevicePointer(&device, &device, 0) == invalid);
    CHECK(d.cuMemHostGetDevicePointer(&device, nullptr, 0) == invalid);
    CHECK(d.cuMemHostGetDevicePointer(nullptr, pinned, 0) == invalid);
    CHECK(d.cuMemHostGetDevicePointer(&device, pinned, 1) == invalid);
    CHECK(d.cuMemHostGetDevicePointer(&device, as_host(memory), 0) == invalid);
    CHECK(d.cuMemHostGetDevicePointer(&device, as_host(managed), 0) == invalid);
}

TEST_CASE("cuMemFreeHost frees what was allocated, once") {
    start();
    auto *pinned = static_cast<char *>(allocate_pinned(4096));
    std::vector<char> own(4096);
    REQUIRE(d.cuMemHostRegister(own.data(), own.size(), 0) == good);
    const DeviceMemory device(64);
    const ManagedMemory managed(64);
    CHECK(d.cuMemFreeHost(pinned + 16) == invalid);
    expect_misuse("cuMemFreeHost of an address inside pinned host memory");
    CHECK(d.cuMemFreeHost(own.data()) == invalid);
    expect_misuse("cuMemFreeHost of registered host memory");
    CHECK(d.cuMemFreeHost(as_host(device)) == invalid);
    expect_misuse("cuMemFreeHost of device memory");
    CHECK(d.cuMemFreeHost(as_host(managed)) == invalid);
    expect_misuse("cuMemFreeHost of managed memory");
    CHECK(d.cuMemFreeHost(&own) == invalid);
    CHECK(d.cuMemFreeHost(pinned) == good);
    CHECK(d.cuMemFreeHost(pinned) == invalid);
    expect_misuse("cuMemFreeHost of memory that was freed: pinned host memory");
    CHECK(d.cuMemHostUnregister(own.data()) == good);
}

TEST_CASE("registration: exact byte ranges that do not overlap") {
    start();
    std::vector<char> own(64 * KiB);
    char *at = own.data();
    CHECK(d.cuMemHostRegister(at + 3, 1001, 0) == good); // unaligned
    CHECK(d.cuMemHostRegister(at + 3, 1001, 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CHECK(d.cuMemHostRegister(at + 100, 16, 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CHECK(d.cuMemHostRegister(at, 4096, 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CHECK(d.cuMemHostRegister(at + 1003, 100, 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CHECK(d.cuMemHostRegister(at + 1004, 100, 0) == good); // disjoint, in the same page
    CHECK(d.cuMemHostRegister(at, 3, 0) == good);
    CHECK(d.cuMemHostRegister(at + 4096, 0, 0) == invalid);
    CHECK(d.cuMemHostRegister(nullptr, 16, 0) == invalid);
    CHECK(d.cuMemHostRegister(at + 4096, 16, 0x100) == invalid);
    CHECK(d.cuMemHostRegister(at + 4096, 16, CU_MEMHOSTREGISTER_IOMEMORY) == invalid);
    CHECK(d.cuMemHostRegister(at + 4096, ~std::size_t(0), 0) == invalid);
    CHECK(d.cuMemHostUnregister(at + 10) == invalid);
    expect_misuse("cuMemHostUnregister of an address inside registered host memory");
    CHECK(d.cuMemHostUnregister(at + 3) == good);
    CHECK(d.cuMemHostUnregister(at + 3) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    CHECK(d.cuMemHostUnregister(&own) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    CHECK(d.cuMemHostUnregister(nullptr) == invalid);
    CHECK(d.cuMemHostUnregister(at) == good);
    CHECK(d.cuMemHostUnregister(at + 1004) == good);
}

TEST_CASE("only the client's own memory can be registered") {
    start();
    const DeviceMemory device(64);
    const ManagedMemory managed(64);
    auto *pinned = static_cast<char *>(allocate_pinned(64));
    CHECK(d.cuMemHostRegister(pinned, 16, 0) == invalid);
    CHECK(d.cuMemHostRegister(as_host(managed), 16, 0) == invalid);
    CHECK(d.cuMemHostRegister(as_host(device), 16, 0) == invalid);
    CHECK(d.cuMemHostRegister(as_host(device + 4096), 16, 0) == invalid); // nobody's
    CHECK(d.cuMemHostRegister(reinterpret_cast<void *>(0x10000), 4096, 0) == invalid);
    CHECK(d.cuMemHostUnregister(pinned) == invalid); // not 713
    expect_misuse("cuMemHostUnregister of pinned host memory");
    CHECK(d.cuMemHostUnregister(pinned + 16) == invalid);
    expect_misuse("cuMemHostUnregister of an address inside pinned host memory");
    CHECK(d.cuMemHostUnregister(as_host(device)) == invalid);
    expect_misuse("cuMemHostUnregister of device memory");
    CHECK(d.cuMemHostUnregister(as_host(managed)) == invalid);
    expect_misuse("cuMemHostUnregister of managed memory");
    release(pinned);
}

TEST_CASE("memory of the client is his again after it was unregistered") {
    start();
    std::vector<char> own(4096);
    REQUIRE(d.cuMemHostRegister(own.data(), own.size(), 0) == good);
    REQUIRE(d.cuMemHostUnregister(own.data()) == good);
    const DeviceMemory device(4096);
    CHECK(d.cuMemcpyHtoD(device, own.data(), own.size()) == good); // no use after free
    CHECK(d.cuMemHostRegister(own.data(), own.size(), 0) == good);
    CHECK(d.cuMemHostUnregister(own.data()) == good);
}

TEST_CASE("a context for host memory") {
    start();
    std::vector<char> own(4096);
    REQUIRE(d.cuMemHostRegister(own.data(), 64, 0) == good);
    void *pinned = allocate_pinned(64), *memory = nullptr;
    const WithoutContext none;
    CUdeviceptr device = 0;
    unsigned int flags = 0;
    constexpr auto no_context = CUDA_ERROR_INVALID_CONTEXT;
    CHECK(d.cuMemHostAlloc(&memory, 64, 0) == no_context);
    CHECK(d.cuMemHostAlloc(&memory, 0, 0) == no_context);
    CHECK(d.cuMemAllocHost(&memory, 64) == no_context);
    CHECK(d.cuMemHostRegister(own.data() + 64, 64, 0) == no_context);
    CHECK(d.cuMemHostGetDevicePointer(&device, pinned, 0) == no_context);
    CHECK(d.cuMemHostGetFlags(&flags, pinned) == no_context);
    CHECK(d.cuMemFreeHost(nullptr) == good);
    CHECK(d.cuMemFreeHost(pinned) == good);
    CHECK(d.cuMemHostUnregister(own.data()) == good);
    CHECK(d.cuMemHostUnregister(own.data()) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_CASE("unregistering memory that queued work needs") {
    start("mode=adversarial");
    std::vector<char> own(4096);
    const DeviceMemory device(4096);
    const Stream stream(non_blocking);
    REQUIRE(d.cuMemHostRegister(own.data(), own.size(), 0) == good);
    REQUIRE(d.cuMemcpyHtoDAsync(device, own.data(), own.size(), stream) == good);
    CHECK(d.cuMemHostUnregister(own.data()) == good);
    expect_misuse("registered host memory");
    CHECK(d.cuStreamSynchronize(stream) == good);
}

TEST_CASE("bytes written past pinned memory are reported") {
    start();
    auto *memory = static_cast<char *>(allocate_pinned(100));
    memory[100] = 1;
    release(memory);
    expect_misuse("bytes were written past the end of pinned host memory");
}

#ifndef _WIN32
TEST_CASE("pinned memory that was freed is out of reach") {
    start();
    auto *memory = static_cast<char *>(allocate_pinned(4096));
    CHECK_FALSE(is_deadly(memory));
    CHECK(is_deadly(memory + 4096)); // the page behind it
    release(memory);
    CHECK(is_deadly(memory));
}
#endif
