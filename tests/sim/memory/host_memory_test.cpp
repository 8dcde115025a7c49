// Pinned host memory, allocated and registered.
#include "memory_kinds.hpp"
#include "protected_pages.hpp"

using namespace sim_test;

namespace {

// Registers a part of the pages, and unregisters it if that succeeds.
CUresult enter(const ProtectedPages &pages, std::size_t offset, std::size_t bytes,
               unsigned int flags) {
    char *start = pages.start() + offset;
    const CUresult status = driver().cuMemHostRegister(start, bytes, flags);
    if (status == CUDA_SUCCESS) {
        ok(driver().cuMemHostUnregister(start));
    }
    return status;
}
CUresult enter(const ProtectedPages &pages, unsigned int flags) {
    return enter(pages, 0, pages.bytes(), flags);
}

constexpr unsigned int read_only = 8; // CU_MEMHOSTREGISTER_READ_ONLY

} // namespace

TEST_CASE("pinned memory has the same address on host and device") {
    const auto device_pointer = [](void *memory) {
        return got<CUdeviceptr>(&Driver::cuMemHostGetDevicePointer, out, memory, 0);
    };
    for (const std::size_t size : {std::size_t(1), std::size_t(5000), 3 * MiB}) {
        const PinnedMemory pinned(size);
        auto *memory = static_cast<unsigned char *>(pinned.get());
        std::memset(memory, 7, size);
        CHECK(device_pointer(memory) == as_device(memory));
        CHECK(device_pointer(memory + size - 1) == as_device(memory) + size - 1);
        ok(driver().cuMemsetD8(as_device(memory), 9, size));
        CHECK(memory[size - 1] == 9);
        CHECK(contents(as_device(memory), size) == Bytes(size, 9));
    }
}

TEST_CASE("flags of host memory are reported") {
    std::vector<char> own(8192);
    char *half = own.data() + 4096;
    const auto flags_of = [](void *memory) {
        return got<unsigned int>(&Driver::cuMemHostGetFlags, out, memory);
    };
    const PinnedMemory all(100, 7), plain(100);
    CHECK(flags_of(plain) == CU_MEMHOSTALLOC_DEVICEMAP);
    CHECK(flags_of(all) == 7);
    CHECK(flags_of(static_cast<char *>(all.get()) + 5) == 7);
    const RegisteredMemory whole(own.data(), 4096);
    CHECK(flags_of(whole) == 2);
    CHECK(flags_of(RegisteredMemory(half, 4096, 3)) == 3);
    CHECK(flags_of(RegisteredMemory(half, 4096, 8)) == 2); // READ_ONLY is not reported
}

TEST_CASE("only host memory has flags and a device pointer, managed memory only flags") {
    const DeviceMemory device(64);
    const ManagedMemory managed(64);
    CUdeviceptr at = 0;
    unsigned int flags = 0;
    ok(driver().cuMemHostGetFlags(&flags, as_host(managed)));
    Calls{&Driver::cuMemHostGetFlags}[invalid] = {{&flags, &at}, {&flags, as_host(device)}};
    Calls{&Driver::cuMemHostGetDevicePointer}[invalid] = {
        {&at, &at, 0}, {&at, as_host(device), 0}, {&at, as_host(managed), 0}};
}

TEST_CASE("registered ranges of pageable memory must not overlap") {
    std::vector<char> own(64 * KiB);
    char *at = own.data();
    const DeviceMemory device(64);
    const ManagedMemory managed(64);
    const Calls enter(&Driver::cuMemHostRegister);
    enter[CUDA_SUCCESS] = {{at + 3, 1001, 0}, {at + 1004, 100, 0}, {at, 3, 0}}; // in the same page
    enter[invalid] = {{at + 4096, 16, CU_MEMHOSTREGISTER_IOMEMORY},
                      {at + 4096, ~std::size_t(0), 0},
                      {as_host(managed), 16, 0},
                      {as_host(device), 16, 0},
                      {as_host(device + 4096), 16, 0}}; // an unused device address
    ok(driver().cuMemHostUnregister(at + 3));
    ok(driver().cuMemHostUnregister(at));
    ok(driver().cuMemHostUnregister(at + 1004));
    // Unregistered memory is plain memory again and can be registered again.
    ok(driver().cuMemcpyHtoD(device, at, 64));
    const RegisteredMemory again(at, 64);
}

TEST_CASE("memory that cannot be written is registered with the read-only flag only") {
    const ProtectedPages pages({Protection::read, Protection::read});
    CHECK(enter(pages, 0) == invalid);
    CHECK(enter(pages, CU_MEMHOSTREGISTER_PORTABLE) == invalid);
    CHECK(enter(pages, 100, 8, 0) == invalid);
    ok(enter(pages, read_only));
    ok(enter(pages, read_only | CU_MEMHOSTREGISTER_PORTABLE));
    pages.protect(0, Protection::write);
    pages.protect(1, Protection::write);
    ok(enter(pages, 0));
    ok(enter(pages, read_only));
}

TEST_CASE("devices only read memory that is registered as read-only") {
    const ProtectedPages pages({Protection::read});
    const RegisteredMemory memory(pages.start(), pages.bytes(), read_only);
    CHECK(got<unsigned int>(&Driver::cuPointerGetAttribute, out, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS,
                            as_device(pages.start())) == CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ);
}

TEST_CASE("memory that a process or a machine cannot have is not registered") {
    std::vector<char> own(4096);
    void *const of_the_kernel = reinterpret_cast<void *>(~std::uintptr_t(0) << 15);
    const Calls enter(&Driver::cuMemHostRegister);
    enter[CUDA_ERROR_NOT_SUPPORTED] = {
        {of_the_kernel, 4096, 0}, {reinterpret_cast<void *>(std::uintptr_t(1) << 60), 4096, 0}};
    enter[CUDA_ERROR_OUT_OF_MEMORY] = {{own.data(), std::size_t(1) << 47, 0}};
}

TEST_CASE("every page of registered memory must be accessible") {
    const ProtectedPages pages(
        {Protection::write, Protection::read, Protection::none, Protection::write});
    constexpr std::size_t page = ProtectedPages::size;
    ok(enter(pages, 0, page, 0));
    CHECK(enter(pages, 0, 2 * page, 0) == invalid);
    CHECK(enter(pages, page - 1, 2, 0) == invalid);
    ok(enter(pages, page - 1, 2, read_only));
    ok(enter(pages, 0, 2 * page, read_only));
    CHECK(enter(pages, 0, 2 * page + 1, read_only) == invalid);
    CHECK(enter(pages, 2 * page, page, read_only) == invalid);
    CHECK(enter(pages, 0, 4 * page, read_only) == invalid);
    ok(enter(pages, 3 * page + 5, 100, 0));
}

TEST_CASE("pinned memory is limited by the memory of the host") {
    void *memory = nullptr;
    Calls{&Driver::cuMemHostAlloc}[CUDA_ERROR_OUT_OF_MEMORY] = {{&memory, std::size_t(1) << 50, 0},
                                                                {&memory, ~std::size_t(0), 0}};
}

TEST_CASE("unregistering memory that enqueued work needs is a misuse") {
    start("mode=adversarial");
    std::vector<char> own(4096);
    const DeviceMemory device(4096);
    const Stream stream(non_blocking);
    require_ok(driver().cuMemHostRegister(own.data(), own.size(), 0));
    require_ok(driver().cuMemcpyHtoDAsync(device, own.data(), own.size(), stream));
    ok(reported(driver().cuMemHostUnregister(own.data()), "registered host memory"));
    ok(driver().cuStreamSynchronize(stream));
}
